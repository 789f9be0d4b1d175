"""Telling that two statements say the same, by their words: pure, and in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

#: Share of common words from which on two statements are taken for one, after an earlier system.
SAME = 0.8

#: A character of a script that is written without spaces between words is a word.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U000323af]|[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf"
    r"\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]+"
)
#: Words by which alone a statement says the opposite of another one.
_DENIALS = frozenset(
    {"not", "no", "never", "none", "without", "t", "cannot", "isn", "don", "ne", "pas", "jamais", "plus", "sans"}
    | {
        "aucun",
        "aucune",
        "nicht",
        "kein",
        "keine",
        "nie",
        "ohne",
        "nunca",
        "sin",
        "不",
        "没",
        "沒",
        "無",
        "无",
        "非",
        "未",
    }
)


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in their order, folded; of unspaced scripts each character."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def repeats(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether a statement says nothing beyond another one, both given as their words.

    So it is when the other holds all its words in a row, or when they share more than :data:`SAME` of their words;
    never when what sets them apart is a number or a denial.
    """
    if not one or not other:
        return False
    first, second = set(one), set(other)
    if any(word in _DENIALS or any(map(str.isdigit, word)) for word in first ^ second):
        return False
    return _holds(other, one) or len(first & second) / len(first | second) > SAME


def distinct(texts: Sequence[str]) -> list[int]:
    """Return the places of the texts that say something of their own, in order.

    Of two that say the same, the first stays; of one that holds all that another one says, the longer.
    """
    kept: dict[int, tuple[str, ...]] = {}
    for place, text in enumerate(texts):
        spelt = words(text)
        if any(repeats(spelt, other) for other in kept.values()):
            continue
        kept = {at: other for at, other in kept.items() if not (repeats(other, spelt) and _holds(spelt, other))}
        kept[place] = spelt
    return sorted(kept)


def _holds(longer: Sequence[str], shorter: Sequence[str]) -> bool:
    size = len(shorter)
    return any(tuple(longer[start : start + size]) == tuple(shorter) for start in range(len(longer) - size + 1))
