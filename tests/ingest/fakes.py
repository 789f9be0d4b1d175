"""Extractors and captures for tests of processing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from facts.candidates import Candidate
from facts.clock import now
from facts.models import Event
from governance.access import Principal
from ingest.capture import capture
from ingest.extraction import ExtractionInput, ExtractionResult, ExtractorIdentity, Rejection
from ingest.observations import read_batch
from tests.factories import MARCH


class FakeExtractor:
    """Answers every message with what ``answer`` makes of it: candidates, a result, or an exception."""

    identity = ExtractorIdentity(provider="fake", model="fake-1", prompt_version="7")

    def __init__(self, answer: Callable[[ExtractionInput], Any]) -> None:
        self.answer = answer
        self.seen: list[ExtractionInput] = []

    def extract(self, item: ExtractionInput) -> ExtractionResult:
        """Note the message and answer it."""
        self.seen.append(item)
        made = self.answer(item)
        return made if isinstance(made, ExtractionResult) else ExtractionResult(candidates=tuple(made))


def city(name: str, **fields: Any) -> Candidate:
    """Return the candidate "lives in ``name``", quoting the name."""
    return Candidate(
        statement=f"The speaker lives in {name}.",
        quote=fields.pop("quote", name),
        confidence=0.9,
        predicate="home_city",
        value={"value": name},
        **fields,
    )


def cities(item: ExtractionInput) -> list[Candidate]:
    """Read every capitalised word as a home city: an extractor that needs no grammar."""
    return [city(word.strip(".")) for word in item.text.split() if word[0].isupper()]


def refusing(item: ExtractionInput) -> ExtractionResult:
    """Refuse everything as a question."""
    return ExtractionResult(rejections=(Rejection(code="question", statement="A question.", quote=item.text),))


def tell(principal: Principal, text: str = "i live in Lyon", *, at: datetime = MARCH, **fields: Any) -> Event:
    """Capture one message of ``ana`` in ``/p`` and return its event."""
    event = {"project_id": "p", "subject_id": "ana", "occurred_at": at.isoformat(), "payload": {"text": text}, **fields}
    observations, batch_key = read_batch({"events": [event]}, at=now())
    receipt = capture(principal, observations, batch_key=batch_key)
    return Event(id=receipt.events[0].event_id, account_id=principal.account_id)
