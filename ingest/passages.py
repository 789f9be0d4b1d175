"""Cutting a text into passages: slices that are matched and served verbatim. Pure.

Joined in order, the slices are the text again. Of a text of ``n`` characters there are at most
``n / SHORTEST + 1`` slices.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

#: Longest slice in characters: about 250 tokens, what one match should cost at most.
LONGEST = 1_000
#: No boundary is taken before this: a text full of line ends would fall into crumbs.
SHORTEST = LONGEST // 3
#: How far a cut may move back to keep one visible character whole.
_CLUSTER_REACH = 32

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
#: The end of a sentence: Latin marks need a space behind them, those of scripts without spaces do not.
_SENTENCE = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|[。！？｡．؟۔।]+[」』”’）]*\s*|\n+")
_SPACE = re.compile(r"\s+")
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of a text and its offset in it, in characters."""

    start: int
    text: str


def cut(text: str) -> list[Slice]:
    """Return the slices of ``text``: whole when short, else ended at a paragraph, a sentence or a word."""
    slices, start = [], 0
    while len(text) - start > LONGEST:
        end = _boundary(text, start)
        slices.append(Slice(start, text[start:end]))
        start = end
    if start < len(text):
        slices.append(Slice(start, text[start:]))
    return slices


def find(slices: list[Slice], *, text: str, quote: str) -> int:
    """Return the position of the slice in which ``quote`` begins; 0 when it does not occur in ``text``."""
    at = text.find(quote)
    return max((number for number, item in enumerate(slices) if item.start <= at), default=0)


def _boundary(text: str, start: int) -> int:
    limit = start + LONGEST
    for pattern in (_PARAGRAPH, _SENTENCE, _SPACE):
        ends = [match.end() for match in pattern.finditer(text, start + SHORTEST, limit)]
        if ends:
            return ends[-1]
    return _between_clusters(text, start, limit)


def _between_clusters(text: str, start: int, limit: int) -> int:
    """Return the last offset up to ``limit`` that does not part a letter from its marks or an emoji from its parts."""
    for offset in range(limit, limit - _CLUSTER_REACH, -1):
        if not _joins(text[offset - 1], text[offset]):
            return offset
    return limit


def _joins(before: str, after: str) -> bool:
    if _JOINER in (before, after) or unicodedata.category(after).startswith("M"):
        return True
    is_modifier = "\U0001f3fb" <= after <= "\U0001f3ff"
    is_flag = "\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff"
    return is_modifier or is_flag
