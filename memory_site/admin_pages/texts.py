"""Showing stored text: word differences, quotes inside their message, and characters that would otherwise deceive.

Stored text comes from anywhere and is never trusted: it is escaped, isolated from the text around it (``bdi``), and
its control and direction characters are made visible.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from facts.unseen import DECEIVING

_TOKENS = re.compile(r"\s+|\w+|[^\w\s]")
#: Longer texts are not compared: the comparison is quadratic in the worst case.
_COMPARED_TOKENS = 2_000
#: A text that shares less than this part of its words with the others is another text: marking it all says nothing.
_LEAST_SHARED = 0.3


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a text, ``marked`` when it differs from the other texts or is the quoted part."""

    text: str
    marked: bool


def visible(text: object) -> SafeString:
    """Return text as HTML: escaped, with each deceiving character replaced by a small label naming it."""
    return mark_safe(DECEIVING.sub(_label, escape(str(text))))  # noqa: S308 escaped above; labels are our own


def isolated(text: object) -> SafeString:
    """Return text as HTML in its own direction, kept apart from the text around it."""
    return format_html('<bdi dir="auto">{}</bdi>', visible(text))


def _label(match: re.Match[str]) -> str:
    return "".join(
        f'<span class="control-character" title="{unicodedata.name(character, "control character").title()}">'
        f"U+{ord(character):04X}</span>"
        for character in match.group()
    )


def differences(texts: Sequence[str]) -> list[list[Part]]:
    """Return each text in parts, marking the words that at least one of the other texts does not have there.

    Joining a text's parts gives the text again. Whitespace is marked only between marked words. Texts that have next to
    nothing in common are not marked at all.
    """
    tokens = [_TOKENS.findall(text) for text in texts]
    if len(texts) < 2 or any(len(words) > _COMPARED_TOKENS for words in tokens):
        return [[Part(text, False)] if text else [] for text in texts]
    comparable = [[" " if word.isspace() else word.casefold() for word in words] for words in tokens]
    result = []
    for index, words in enumerate(tokens):
        shared = [True] * len(words)
        for other, theirs in enumerate(comparable):
            if other == index:
                continue
            matcher = SequenceMatcher(None, comparable[index], theirs, autojunk=False)
            common = {
                position for block in matcher.get_matching_blocks() for position in range(block.a, block.a + block.size)
            }
            shared = [both and position in common for position, both in enumerate(shared)]
        written = [both for word, both in zip(words, shared, strict=True) if not word.isspace()]
        if sum(written) < _LEAST_SHARED * len(written):
            shared = [True] * len(words)
        result.append(_join(words, [not both for both in shared]))
    return result


def _join(words: Sequence[str], marked: Sequence[bool]) -> list[Part]:
    parts: list[Part] = []
    for position, (word, mark) in enumerate(zip(words, marked, strict=True)):
        if word.isspace():
            mark = bool(parts) and parts[-1].marked and position + 1 < len(marked) and marked[position + 1]
        if parts and parts[-1].marked == mark:
            parts[-1] = Part(parts[-1].text + word, mark)
        else:
            parts.append(Part(word, mark))
    return parts


def highlight(text: str, quotes: Sequence[str]) -> list[Part]:
    """Return ``text`` in parts, marking every first occurrence of a quote; quotes that do not occur mark nothing."""
    spans = sorted((start, start + len(quote)) for quote in quotes if quote and (start := text.find(quote)) >= 0)
    parts: list[Part] = []
    at = 0
    for start, end in spans:
        start = max(start, at)
        if end <= start:
            continue
        if start > at:
            parts.append(Part(text[at:start], False))
        parts.append(Part(text[start:end], True))
        at = end
    if at < len(text):
        parts.append(Part(text[at:], False))
    return parts


def shorten(text: str, limit: int) -> str:
    """Return at most about ``limit`` characters of ``text``, ending in an ellipsis when something is left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
