"""What a sender gave, made storable and readable: clean text, and the turns of a conversation. Pure.

PostgreSQL stores neither NUL nor half a surrogate pair, and control characters are of no use to a reader. They are
replaced, never refused, and the answer says so.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from facts.errors import DomainError

#: Notes about what was replaced, as they stand in the answer.
NUL_REPLACED = "nul_replaced"
SURROGATES_REPLACED = "lone_surrogates_replaced"
CONTROLS_REPLACED = "control_characters_replaced"

#: Nesting of a payload: deeper ones are no message and would exhaust the stack of whoever reads them.
MAX_DEPTH = 32

#: Roles in which a machine speaks: kept, never evidence.
MACHINE_ROLES = frozenset({"agent", "ai", "assistant", "bot", "developer", "function", "model", "system", "tool"})
#: The role of what is no speech at all, such as a record of another system.
DATA_ROLE = "data"

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f]")
_TEXT_FIELDS = ("text", "content", "message")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing said: ``role`` as given, ``speaker`` the key given with the turn ("" means the event's speaker).

    ``human`` tells whether a human said it: only then it is evidence.
    """

    text: str
    role: str = ""
    speaker: str = ""
    human: bool = True


def clean_text(text: str) -> tuple[str, frozenset[str]]:
    """Return ``text`` in NFC without NUL, lone surrogates and control characters, and notes on what was replaced.

    Line ends become ``\\n``; a NUL or control character becomes a space, half a surrogate pair U+FFFD.
    """
    notes = set()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x00" in text:
        notes.add(NUL_REPLACED)
        text = text.replace("\x00", " ")
    if _SURROGATE.search(text):
        notes.add(SURROGATES_REPLACED)
        # A pair that a sender wrote as two escapes is one character; only halves are lost to begin with.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if _CONTROL.search(text):
        notes.add(CONTROLS_REPLACED)
        text = _CONTROL.sub(" ", text)
    return unicodedata.normalize("NFC", text), frozenset(notes)


def clean_json(value: Any, *, depth: int = 0) -> tuple[Any, frozenset[str]]:
    """Return a JSON value with every text in it cleaned, and the notes.

    Raises ``DomainError`` (``invalid_payload``) for numbers that JSON does not know and for nesting beyond
    :data:`MAX_DEPTH`.
    """
    if depth > MAX_DEPTH:
        raise DomainError(f"A payload is nested at most {MAX_DEPTH} deep.", field="payload")
    match value:
        case str():
            return clean_text(value)
        case float() if not math.isfinite(value):
            raise DomainError("A number must be finite.", field="payload")
        case int() if not -(2**63) <= value < 2**63:
            # As our parser of bodies reads it: writers of JSON refuse longer ones.
            return _as_float(value), frozenset()
        case Mapping():
            return _clean_object(value, depth)
        case list() | tuple():
            parts = [clean_json(item, depth=depth + 1) for item in value]
            return [item for item, _ in parts], frozenset().union(*(notes for _, notes in parts))
        case _:
            return value, frozenset()


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise DomainError("A number must be finite.", field="payload") from None


def _clean_object(value: Mapping[str, Any], depth: int) -> tuple[dict[str, Any], frozenset[str]]:
    cleaned: dict[str, Any] = {}
    notes: set[str] = set()
    for key, item in value.items():
        name, name_notes = clean_text(str(key))
        while name in cleaned:
            name += "_"
        cleaned[name], item_notes = clean_json(item, depth=depth + 1)
        notes |= name_notes | item_notes
    return cleaned, frozenset(notes)


def read_turns(payload: Mapping[str, Any], *, kind: str, role: str = "") -> tuple[Turn, ...]:
    """Return the turns of a clean payload, blank ones left out; ``role`` is that of turns that state none.

    Understood are ``{"messages": [{"role" or "speaker", "content" or "text"}]}`` and ``{"text" | "content" |
    "message"}``. Anything else is a record: its kind and its JSON with sorted keys, not speech.
    """
    messages = payload.get("messages")
    if isinstance(messages, list) and any(isinstance(item, Mapping) for item in messages):
        turns = [_turn(item, role) for item in messages if isinstance(item, Mapping)]
        return tuple(turn for turn in turns if turn.text.strip())
    if isinstance(payload.get("message"), Mapping):
        turn = _turn(payload["message"], role)
        return (turn,) if turn.text.strip() else ()
    if any(isinstance(payload.get(name), str | list) for name in _TEXT_FIELDS):
        turn = _turn(payload, role)
        return (turn,) if turn.text.strip() else ()
    if not payload:
        return ()
    record = json.dumps(payload, ensure_ascii=False, sort_keys=True)
    return (Turn(text=f"{kind} {record}", role=DATA_ROLE, human=False),)


def _turn(message: Mapping[str, Any], role: str) -> Turn:
    stated = message.get("role")
    role = stated.strip() if isinstance(stated, str) and stated.strip() else role
    speaker = message.get("speaker")
    return Turn(
        text=_text_of(message),
        role=role,
        speaker=speaker.strip() if isinstance(speaker, str) else "",
        human=role.casefold() not in MACHINE_ROLES,
    )


def _text_of(message: Mapping[str, Any]) -> str:
    """Return the first text of a message; a list of content parts is joined as lines."""
    for name in _TEXT_FIELDS:
        said = message.get(name)
        if isinstance(said, str):
            return said
        if isinstance(said, list):
            parts = [part.get("text") if isinstance(part, Mapping) else part for part in said]
            return "\n".join(part for part in parts if isinstance(part, str))
    return ""
