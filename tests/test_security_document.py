"""The threat model names tests that exist, and nothing in it is shown by a test that is gone."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_test_that_it_names_exists() -> None:
    named = _NAMED.findall((ROOT / "docs/security.md").read_text())
    assert len(named) > 30
    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in (ROOT / file).read_text()]
    assert not missing
