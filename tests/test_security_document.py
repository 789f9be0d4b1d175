"""The threat model and the list of known faults name tests that exist; nothing is shown by a test that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pytest.mark.parametrize("document", ["docs/security.md", "docs/failures.md"])
def test_every_test_that_it_names_exists(document: str) -> None:
    named = _NAMED.findall((ROOT / document).read_text())
    assert len(named) > 30
    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in (ROOT / file).read_text()]
    assert not missing
