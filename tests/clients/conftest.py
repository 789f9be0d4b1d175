"""Clients that others published, called as they are against a real server."""

from __future__ import annotations

import pytest

from facts import embedding
from governance import keys
from memory_site.api import throttling


@pytest.fixture(autouse=True)
def _nothing_remembered_from_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what the process remembers of a database that was emptied: embedding spaces, keys, addresses."""
    monkeypatch.setattr(embedding, "_spaces", {})
    keys.forget_cached()
    throttling.forget_blocked()
