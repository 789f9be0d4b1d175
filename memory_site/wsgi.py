"""WSGI entry point for gunicorn."""

from __future__ import annotations

import os
from importlib import import_module

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_site.settings")
os.environ.setdefault("MEMORY_CONNECTION_POOL", "1")

application = get_wsgi_application()

# Every view, before the processes fork: else the first calls of each wait for seconds until all that is loaded there.
import_module("memory_site.urls")
