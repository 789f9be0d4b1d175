"""The product's settings with the extractors of these tests."""

from __future__ import annotations

from memory_site.settings import *  # noqa: F403
from memory_site.settings import INSTALLED_APPS as PRODUCT_APPS

INSTALLED_APPS = [*PRODUCT_APPS, "tests.faults.extractor.FaultsConfig"]
