"""Finding the words that a model quoted where it evened out typography or spacing, or was not shown what is unseen."""

from __future__ import annotations

import re

from facts.unseen import UNSEEN
from ingest.extraction.segments import evened


def locate(quote: str, text: str) -> str:
    """Return the passage of ``text`` that reads as ``quote`` but for quotation marks, white space and what is unseen,
    or ""."""
    if quote in text:
        return quote
    words = evened(quote).split()
    if not words:
        return ""
    hidden = {place for match in UNSEEN.finditer(text) for place in range(*match.span())}
    places = [place for place in range(len(text)) if place not in hidden] if hidden else range(len(text))
    shown = "".join(text[place] for place in places) if hidden else text
    found = re.search(r"\s+".join(map(re.escape, words)), evened(shown))
    return text[places[found.start()] : places[found.end() - 1] + 1] if found else ""
