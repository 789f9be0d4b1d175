"""What the topic rules of both languages share: the names of things."""

from __future__ import annotations

import re

from ingest.extraction.rules import claims, values

_GENERIC = frozenset(
    {
        "it",
        "this",
        "that",
        "he",
        "she",
        "they",
        "there",
        "everyone",
        "someone",
        "who",
        "which",
        "what",
        "anyone",
        "nobody",
        "everything",
        "one",
        "people",
        "you",
        "we",
        "i",
    }
)


def topic_of(text: str) -> str:
    """The name of the thing, or "" when the words name nothing."""
    name = values.bare(text)
    return "" if name.casefold() in _GENERIC or claims.is_vague(name) else name


def handed_over(lead: str) -> bool:
    """Whether the lead-in says that something begins ("Starting Monday, "): an owner is then a new owner."""
    return bool(re.search(r"\b(?:starting|from|as of|effective|à partir|dès)\b", lead, re.IGNORECASE))
