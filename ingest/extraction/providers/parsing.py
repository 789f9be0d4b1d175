"""Getting the facts out of whatever a model wrote: clean JSON, JSON in prose or in a code fence, half a list.

Pure and linear. Nothing is trusted: what comes out are plain objects, to be read field by field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ingest.extraction.providers import schema

#: Characters of an answer that are looked at: several times what the output limit allows.
MAX_CHARACTERS = 200_000
#: A fact is an object in a list in an object: what lies deeper is never one.
_MAX_DEPTH = 4
#: What tells a fact from other objects.
_MARKS = frozenset({"statement", "quote"})
_FENCE = re.compile(r"```[\w-]*+\n?+(.*?)```", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[\]}])")


class Unreadable(ValueError):
    """There are no facts, and no empty list of facts either, in the answer."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The objects of an answer, in order; ``whole`` tells that nothing was cut off or had to be searched for."""

    rows: tuple[dict[str, Any], ...]
    whole: bool


def parse(text: str) -> Parsed:
    """Return what a model listed. Raises :class:`Unreadable`."""
    text = text[:MAX_CHARACTERS].strip().lstrip("\ufeff")
    for part in _places(text):
        rows = _rows(_loads(part))
        if rows is not None:
            return Parsed(tuple(rows), whole=part == text)
    salvaged = list(_complete_objects(text))
    if not salvaged:
        raise Unreadable
    return Parsed(tuple(salvaged), whole=False)


def _places(text: str) -> Iterator[str]:
    """Yield where the answer may stand: everything, each code fence, from the first bracket to the last."""
    yield text
    yield from (match.group(1).strip() for match in _FENCE.finditer(text))
    for opening, closing in ("{}", "[]"):
        first, last = text.find(opening), text.rfind(closing)
        if 0 <= first < last:
            yield text[first : last + 1]


def _loads(text: str) -> Any:
    """Return the JSON value of the text, forgiving a comma too many; ``None`` when it is none."""
    if not text.startswith(("{", "[")):
        return None
    for attempt in (text, _TRAILING_COMMA.sub(r"\1", text)):
        try:
            return json.loads(attempt, parse_constant=lambda _: None, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _rows(value: Any) -> list[dict[str, Any]] | None:
    """Return the list of facts in a value, or ``None`` where there is none."""
    if isinstance(value, dict):
        if isinstance(value.get(schema.NAME), list):
            value = value[schema.NAME]
        elif _MARKS & value.keys():
            value = [value]
        else:
            lists = [held for held in value.values() if isinstance(held, list)]
            value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list):
        return None
    rows = [row for row in value if isinstance(row, dict) and _MARKS & row.keys()]
    return rows if rows or not value else None


def _complete_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the facts that stand complete in a broken text, in order."""
    opened: list[int] = []
    in_string = escaped = False
    for position, character in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            # Quotation marks of the prose before the first bracket are no JSON.
            in_string = bool(opened)
        elif character == "{":
            opened.append(position)
        elif character == "}" and opened:
            start = opened.pop()
            if len(opened) < _MAX_DEPTH:
                value = _loads(text[start : position + 1])
                if isinstance(value, dict) and _MARKS & value.keys():
                    yield value
