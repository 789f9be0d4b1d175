"""Asking a model about several messages at once. What it lists of each is checked when that message has its turn.

Messages of two scopes never stand in one question: a statement is the model's own words, and one message may ask for
those of another. What is said where fewer people read must not end up in a fact of a place where more do.

An answer that is cut off, unreadable or refused is asked for again in halves; what is left of that, and what fails a
check that a second look can mend, is read by itself. So no message suffers from its neighbours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from facts.unseen import for_model
from ingest.extraction import checks, segments
from ingest.extraction.base import MAX_CANDIDATES, ExtractionFailed, ExtractionInput, ExtractorIdentity
from ingest.extraction.dates import zone
from ingest.extraction.providers import candidates, circuit, parsing, prompt, retrying, schema
from ingest.extraction.providers.calls import REFUSED, UNREADABLE, Answer, Ask, Books, Call, Client
from ingest.extraction.providers.extractor import CUT_SHORT, REPAIRABLE
from ingest.extraction.providers.quoting import locate
from ingest.extraction.providers.schema import Shape

#: Raised whenever the text or the shape below changes on purpose.
NAME = "extract-together-1"
#: Characters of one question; more messages than fit are asked about in several.
MAX_CHARACTERS = 40_000
#: Note on an answer: it lists facts of no message that was asked about.
UNPLACED = "unplaced"

SYSTEM = (
    prompt.SYSTEM
    + """
Here the input holds several messages: `conversations`, each with its `lines` in order. A line with an `id` is a \
message to read, each as if it were `message` above, with its own `speaker` and `said_at`. Lines without an `id` are \
`earlier_messages`. Name in `message` the id of the line that a fact quotes; a fact quotes one line only. A fact that \
several lines state is listed once for each of them.
"""
)

FACT = {
    **schema.FACT,
    "properties": {
        "message": {"type": "string", "description": "The id of the quoted line."},
        **schema.FACT["properties"],
    },
    "required": ["message", *schema.FACT["required"]],
}
FACTS = Shape(
    schema.NAME,
    {
        "type": "object",
        "properties": {schema.NAME: {"type": "array", "items": FACT}},
        "required": [schema.NAME],
        "additionalProperties": False,
    },
)
VERSION = f"{NAME}+{sha256(f'{SYSTEM}{json.dumps(FACTS.schema)}'.encode()).hexdigest()[:12]}"

#: What a model listed of each message, by the message's key.
Listed = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message to read: a key of the caller's, where it was said (the scope first, and a name), and what it says."""

    key: str
    place: tuple[str, ...]
    channel: str
    item: ExtractionInput


@dataclass(slots=True)
class Reader:
    """Reads messages together; ``deadline`` (monotonic) bounds all its calls, ``timeout`` each, in seconds."""

    client: Client
    circuit_name: str
    timeout: float
    books: Books
    deadline: float
    answered: bool = field(default=False, init=False)

    def read(self, messages: Sequence[Message]) -> Listed:
        """Return what the model lists of each message, without those that are better read by themselves.

        Raises :class:`ExtractionFailed`.
        """
        listed: Listed = {}
        waiting = list(_parts(messages))
        while waiting:
            part = waiting.pop(0)
            if len(part) < 2:
                continue
            rows = self._ask(part)
            if rows is None:
                waiting[:0] = [part[: len(part) // 2], part[len(part) // 2 :]]
            else:
                listed |= _holding(part, rows)
        return listed

    def _ask(self, part: Sequence[Message]) -> Sequence[dict[str, Any]] | None:
        """Return the facts of an answer that is whole, or ``None``."""
        ask = Ask(SYSTEM, (("user", render(part)),), FACTS)
        known = self.books.before(ask)
        if known is not None:
            return _rows(known)[0]
        try:
            answer, latency_ms = retrying.send(
                self.client,
                ask,
                books=self.books,
                circuit=circuit.of(self.circuit_name),
                timeout=self.timeout,
                deadline=self.deadline,
            )
        except ExtractionFailed as failure:
            failure.progressed = failure.error_class == retrying.OUT_OF_TIME and self.answered
            raise
        rows, error_class = _rows(answer)
        notes = [CUT_SHORT] if answer.truncated else []
        if any(_message_of(row, part) is None for row in rows or ()):
            notes.append(UNPLACED)
        self.books.book(
            Call(ask=ask, latency_ms=latency_ms, answer=answer, error_class=error_class, notes=tuple(notes))
        )
        self.answered = True
        return rows


def identity(client: Client) -> ExtractorIdentity:
    """Return who read what was read together."""
    return ExtractorIdentity(provider=client.provider, model=client.model, prompt_version=VERSION)


def render(messages: Sequence[Message]) -> str:
    """Return the input for several messages, those of one place together. JSON, so that no text can end its field."""
    places: dict[tuple[str, ...], list[tuple[int, Message]]] = {}
    for number, message in enumerate(messages, start=1):
        places.setdefault(message.place, []).append((number, message))
    conversations = []
    for told in places.values():
        shown: set[tuple[str, str]] = set()
        lines: list[dict[str, str]] = []
        for number, message in told:
            for name, text in message.item.window:
                if (name, text) not in shown:
                    shown.add((name, text))
                    lines.append({"speaker": name, "text": text[: prompt.MAX_CONTEXT_CHARACTERS]})
            shown.add((message.item.speaker_name, message.item.text))
            lines.append(_line(number, message.item))
        names = dict.fromkeys(name for _, message in told for name in message.item.participants)
        conversations.append({"channel": told[0][1].channel, "participants": list(names), "lines": lines})
    return for_model(json.dumps({"conversations": conversations}, ensure_ascii=False))


def _line(number: int, item: ExtractionInput) -> dict[str, str]:
    said_at = item.occurred_at.astimezone(zone(item.timezone))
    return {
        "id": f"m{number}",
        "speaker": item.speaker_name,
        "said_at": said_at.isoformat(timespec="minutes"),
        "weekday": f"{said_at:%A}",
        "text": segments.own_words(item.text[: segments.MAX_CHARACTERS]),
    }


def _parts(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Cut what is asked about at once to one scope and :data:`MAX_CHARACTERS`; places are kept together as far as that
    goes."""
    part: list[Message] = []
    size = 0
    for message in sorted(messages, key=lambda message: message.place):
        own = len(message.item.text[: segments.MAX_CHARACTERS])
        if part and (size + own > MAX_CHARACTERS or message.place[0] != part[0].place[0]):
            yield part
            part, size = [], 0
        part.append(message)
        size += own
    yield part


def _rows(answer: Answer) -> tuple[Sequence[dict[str, Any]] | None, str]:
    """Return the facts of a whole answer, else ``None``, and what is wrong with it."""
    if answer.refused:
        return None, REFUSED
    if answer.truncated:
        return None, ""
    try:
        return parsing.parse(answer.text).rows, ""
    except parsing.Unreadable:
        return None, UNREADABLE


def _message_of(row: Mapping[str, Any], part: Sequence[Message]) -> Message | None:
    """Return the message that a fact names, or the only one that holds its quote."""
    named = str(row.get("message", "")).strip()
    for number, message in enumerate(part, start=1):
        if named == f"m{number}":
            return message
    quote = row.get("quote")
    holding = [message for message in part if isinstance(quote, str) and quote and locate(quote, message.item.text)]
    return holding[0] if len(holding) == 1 else None


def _holding(part: Sequence[Message], rows: Sequence[dict[str, Any]]) -> Listed:
    """Return the facts by their messages, without the messages of which a fact has to be looked at again."""
    listed: Listed = {message.key: [] for message in part}
    for row in rows:
        message = _message_of(row, part)
        if message is None or message.key not in listed:
            continue
        candidate, _ = candidates.read(row, message.item)
        if checks.validate(candidate, message.item) in REPAIRABLE:
            del listed[message.key]
        elif len(listed[message.key]) < MAX_CANDIDATES:
            listed[message.key].append(row)
    return listed
