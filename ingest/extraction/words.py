"""Word lists, written as running text."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The blank-separated words of the text."""
    return frozenset(text.split())
