"""Finding orders to whoever reads a message, in everything that was said in it, and handing them on to be held.

Whoever said it, and whichever extractor reads for facts: people, agents, tools and pages all reach a prompt.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass

from facts.actors import pipeline
from facts.candidates import Candidate
from facts.locks import lock_subject
from facts.models import Event, Passage, Subject
from facts.vocabulary import EvidenceLevel, Kind
from governance import directives
from governance.placement import Placement, Submission
from ingest.extraction import checks, languages
from ingest.reading import Loaded, LoadedTurn, spoken_by

#: Who finds them; kept on the facts like any extractor.
PROVIDER, MODEL, VERSION = "directives", "patterns-en-fr", "1"
#: Passages of one event that are asked about; where there are more, the event is withheld as a whole.
MAX_PASSAGES = 10
#: Characters of the words around an order that are quoted with it.
MAX_QUOTE = 1_000
_REACH = 300
_UNNAMED = "Somebody"

_BOUNDARY = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The orders of one passage: its turn, its slice, and the words from the first to the last of them, verbatim.

    ``beyond``: they go on where the passage ends.
    """

    turn: int
    slice: int
    quote: str
    beyond: bool


def find(loaded: Loaded) -> list[Order]:
    """Return what orders a reader about in the turns of an event, one for each passage, in order. Pure."""
    return [order for number, turn in enumerate(loaded.turns) for order in _of_turn(number, turn)]


def places(event: Event, loaded: Loaded, orders: list[Order]) -> set[tuple[uuid.UUID, uuid.UUID]]:
    """Return the (scope, subject) pairs whose locks :func:`hold` takes."""
    return {(event.scope_id, _subject(event, loaded.turns[order.turn]).id) for order in orders}


def hold(
    event: Event, loaded: Loaded, orders: list[Order], written: dict[tuple[int, int], Passage]
) -> list[tuple[Order, Placement]]:
    """Hold them all, in the caller's account transaction; returns each with what became of it."""
    for place in sorted(places(event, loaded, orders)):
        lock_subject(*place)
    many = len(orders) > MAX_PASSAGES
    held = []
    for order in orders[:MAX_PASSAGES]:
        turn = loaded.turns[order.turn]
        submission = Submission(
            event=event,
            passage=written.get((order.turn, order.slice)),
            subject=_subject(event, turn),
            candidate=Candidate(
                statement=_statement(spoken_by(turn), order.quote),
                quote=order.quote,
                confidence=1.0,
                kind=Kind.INSTRUCTION,
            ),
            evidence_level=EvidenceLevel.DIRECT if turn.speaker is not None else EvidenceLevel.INDIRECT,
            provider=PROVIDER,
            model=MODEL,
            prompt_version=VERSION,
        )
        placed = directives.hold(submission, actor=pipeline(), whole_event=many or order.beyond)
        held.append((order, placed))
    return held


def _subject(event: Event, turn: LoadedTurn) -> Subject:
    """Return whom a directive is filed under: who said it, or, of what nobody said, whom the event is about."""
    return turn.speaker or event.subject


def _of_turn(number: int, turn: LoadedTurn) -> list[Order]:
    text = turn.turn.text
    places = checks.directives(text)
    orders = []
    for position, piece in enumerate(turn.slices):
        end = piece.start + len(piece.text)
        inside = [span for span in places if piece.start <= span[0] < end]
        if inside:
            last = max(stop for _, stop in inside)
            quote = _sentences(text, inside[0][0], last, piece.start, max(end, last))
            orders.append(Order(turn=number, slice=position, quote=quote, beyond=last > end))
    return orders


def _sentences(text: str, first: int, last: int, start: int, end: int) -> str:
    """Return the sentences from the one in which the first order begins to that in which the last one ends."""
    opened = max((match.end() for match in _BOUNDARY.finditer(text, start, first)), default=start)
    closing = _BOUNDARY.search(text, last, end)
    closed = closing.end() if closing else end
    if closed - opened > MAX_QUOTE:
        opened, closed = max(opened, first - _REACH), min(closed, first - _REACH + MAX_QUOTE)
    return text[opened:closed].strip()


def _statement(name: str, quote: str) -> str:
    """Return the sentence that says who wrote what: a report, in the language of the words."""
    if languages.detect(quote) == languages.FRENCH:
        return f"{name or 'Quelqu’un'} a écrit : « {quote} »"
    return f"{name or _UNNAMED} wrote: “{quote}”"
