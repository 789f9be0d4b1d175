"""What an answer may rest on: governed facts and, where the caller allowed it, excerpts of what was said."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from facts.models import IndexedUnit
from retrieval.candidates import FactRow
from retrieval.search.answer import Found
from retrieval.traces.writing import Decision

#: Names of what is cited: a source is cited as what it is, never as a fact.
CITED_AS = {IndexedUnit.FACT: "fact", IndexedUnit.PASSAGE: "source_message"}
#: Where evidence of the question's own search comes from; the others are named after the tools that found them.
BASE = "base"


class EvidenceKey(NamedTuple):
    """What is cited: the unit and the id of a fact or of a passage."""

    unit: IndexedUnit
    id: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One thing offered to whoever answers.

    A fact holds from ``valid_from`` to ``valid_to`` (half-open); an excerpt was ``said_at`` by ``speaker``, in the
    event ``event_id``. ``origin`` is :data:`BASE` or the name of a tool, ``revision`` that of a fact.
    """

    key: EvidenceKey
    text: str
    origin: str
    revision: int | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    said_at: datetime | None = None
    speaker: str = ""
    event_id: uuid.UUID | None = None
    fusion_score: float | None = None

    @property
    def same_text(self) -> str:
        """What tells that two pieces of evidence say the same, whatever their ids."""
        return f"{self.key.unit} {' '.join(self.text.casefold().split())}"

    def entry(self, number: int) -> dict[str, Any]:
        """Return the evidence as a model is shown it, under its number."""
        if self.key.unit is IndexedUnit.FACT:
            window = {"valid_from": _shown(self.valid_from), "valid_to": _shown(self.valid_to)}
            return {"number": number, "kind": "fact", "statement": self.text, **window}
        said = {"said_at": _shown(self.said_at), "speaker": self.speaker}
        return {"number": number, "kind": "source_message", "excerpt": self.text, **said}

    @property
    def tokens(self) -> int:
        """Estimated tokens of the serialised entry: a quarter of its bytes, rounded up."""
        return tokens_of(orjson.dumps(self.entry(99)))

    def decision(self, reason: Any, *, rank: int | None) -> Decision:
        """Return what happened to the evidence, for the trace."""
        return Decision(
            unit=self.key.unit,
            id=self.key.id,
            reason=reason,
            revision=self.revision,
            rank=rank,
            fusion_score=self.fusion_score,
            tokens=self.tokens,
        )


def of_result(found: Found, *, origin: str) -> Evidence:
    """Return the evidence that a result of a search is."""
    key = EvidenceKey(found.unit, found.id)
    if found.fact is not None:
        return Evidence(
            key=key,
            text=found.fact.statement,
            origin=origin,
            revision=found.fact.version,
            valid_from=found.fact.valid_from,
            valid_to=found.fact.valid_to,
            fusion_score=found.fusion_score,
        )
    if found.passage is None:
        raise ValueError("A result is a fact or a passage.")
    return Evidence(
        key=key,
        text=found.passage.text,
        origin=origin,
        said_at=found.passage.occurred_at,
        speaker=found.passage.speaker,
        event_id=found.passage.event_id,
        fusion_score=found.fusion_score,
    )


def of_row(row: FactRow, *, origin: str) -> Evidence:
    """Return the evidence that a fact is which no search ranked."""
    return Evidence(
        key=EvidenceKey(IndexedUnit.FACT, row.id),
        text=row.statement,
        origin=origin,
        revision=row.version,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
    )


def tokens_of(text: bytes) -> int:
    """Return the estimated tokens of serialised text: a quarter of its bytes, rounded up, at least 1."""
    return max(1, -(-len(text) // 4))


def _shown(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="minutes") if moment else None
