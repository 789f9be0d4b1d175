"""What a context call serves: plain values, ready to be rendered as JSON or as text."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from facts.freshness import Freshness


class PacketStatus(StrEnum):
    """``degraded``: something is missing or withheld, and a warning says what; ``failed``: nothing read."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILED = "failed"


class EmptyReason(StrEnum):
    """Why a packet serves nothing: nothing is stored that this reader may see, nothing of it fits the question,
    all that fits is withheld or too long for the budget, or it could not be read."""

    NO_MEMORY = "no_memory"
    NO_RELEVANT_MEMORY = "no_relevant_memory"
    WITHHELD = "withheld"
    OVER_BUDGET = "over_budget"
    RETRIEVAL_FAILED = "retrieval_failed"


@dataclass(slots=True, kw_only=True)
class ServedFact:
    """One fact of a packet. ``score`` is the fused score 0..1, ``None`` for what no score chose."""

    id: uuid.UUID
    version: int
    scope: str
    subject: str
    statement: str
    predicate: str
    value: Mapping[str, Any] | None
    qualifiers: Mapping[str, Any]
    category: str
    kind: str
    form: str
    status: str
    sensitivity: str
    confidence: float
    evidence_level: str
    origin_trust: str
    volatility: str
    valid_from: datetime | None
    valid_to: datetime | None
    last_confirmed: datetime
    freshness: Freshness
    possibly_conflicting: bool
    source_event_ids: tuple[uuid.UUID, ...]
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPassage:
    """One passage of a packet, served word for word."""

    id: uuid.UUID
    event_id: uuid.UUID
    kind: str
    speaker: str
    text: str
    occurred_at: datetime
    origin_trust: str
    evidential: bool
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedLine:
    """One line of a card, with the facts that it rests on; a person wrote it when ``edited``.

    ``section`` is the heading of a profile under which it stands.
    """

    text: str
    facts: tuple[uuid.UUID, ...]
    edited: bool
    section: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCard:
    """What is served of a card. ``builder`` tells what wrote it."""

    kind: str
    title: str
    scope: str
    lines: tuple[ServedLine, ...]
    builder: str
    built_at: datetime


@dataclass(slots=True, kw_only=True)
class Packet:
    """Everything a context call serves, and what it has to say about it."""

    cards: list[ServedCard] = field(default_factory=list)
    facts: list[ServedFact] = field(default_factory=list)
    passages: list[ServedPassage] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    status: PacketStatus = PacketStatus.OK
    empty_reason: EmptyReason | None = None

    @property
    def fact_ids(self) -> set[uuid.UUID]:
        """The facts that are served, by themselves or in the lines of cards."""
        cited = {fact_id for card in self.cards for line in card.lines for fact_id in line.facts}
        return cited | {fact.id for fact in self.facts}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is served."""
        return not (self.cards or self.facts or self.passages)
