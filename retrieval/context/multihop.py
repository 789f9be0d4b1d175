"""The names in what was served, to be asked about once more with the budget that is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from facts.words import words
from retrieval.entities.closed_words import NOISE

MAX_ENTITIES = 2
MIN_LETTERS = 3


def entities(texts: Iterable[str], *, query: str) -> list[str]:
    """Return at most two names from ``texts`` that ``query`` does not contain, most frequent first.

    A name is a capitalised word of three letters or more that is none of those that name nothing
    (``retrieval.entities.closed_words``). It counts once for each text. Ties go by the alphabet; the spelling
    returned is the smallest one written.
    """
    asked = {word.folded for word in words(query)}
    seen: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for text in texts:
        names = {
            word.folded: word.shown
            for word in words(text)
            if word.shown[0].isupper() and len(word.shown) >= MIN_LETTERS and word.shown.isalpha()
        }
        for folded, shown in names.items():
            if folded in asked or folded in NOISE:
                continue
            seen[folded] += 1
            spelling[folded] = min(shown, spelling.get(folded, shown))
    ranked = sorted(seen, key=lambda folded: (-seen[folded], folded))
    return [spelling[folded] for folded in ranked[:MAX_ENTITIES]]
