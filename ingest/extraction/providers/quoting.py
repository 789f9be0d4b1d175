"""Finding the words that a model quoted where it evened out typography or spacing."""

from __future__ import annotations

import re

from ingest.extraction.segments import evened


def locate(quote: str, text: str) -> str:
    """Return the passage of ``text`` that reads as ``quote`` but for quotation marks and white space, or ""."""
    if quote in text:
        return quote
    words = evened(quote).split()
    if not words:
        return ""
    found = re.search(r"\s+".join(map(re.escape, words)), evened(text))
    return text[found.start() : found.end()] if found else ""
