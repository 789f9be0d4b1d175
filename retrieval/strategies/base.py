"""What every search strategy is: a ranked list found inside the reader's bounds, or a reason why there is none.

A strategy runs in an account transaction of its own, on a connection of its own, with a statement timeout of
what is left of the deadline. It filters inside its query, by ``question.visible``.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from facts.models import IndexedUnit
from retrieval.embedders.base import Vector
from retrieval.visibility import Visibility


class Item(NamedTuple):
    """What is found: the unit and the id of a fact or a passage."""

    unit: IndexedUnit
    id: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result of one strategy with its own score, higher is better; ``detail`` is shown to callers."""

    item: Item
    score: float
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFilters:
    """What a caller asks of the origin of results; facts only. Empty fields filter nothing."""

    provider: str = ""
    model: str = ""
    prompt_version: str = ""
    minimum_corroboration: int = 0
    event_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyQuestion:
    """One question as strategies see it.

    ``vector`` is ``None`` without an embedder's answer. ``limit`` bounds each list. ``units`` says whether facts,
    passages or both are looked for. ``as_of`` is the instant asked about, ``known_at`` that of the knowledge; with
    either, facts are those of ``past`` (``Visibility.past_facts``). ``min_score`` cuts each list by its own scores.
    """

    text: str
    vector: Vector | None
    visible: Visibility
    limit: int
    units: tuple[IndexedUnit, ...] = (IndexedUnit.FACT, IndexedUnit.PASSAGE)
    as_of: datetime | None = None
    known_at: datetime | None = None
    past: Sequence[uuid.UUID] | None = None
    min_score: float | None = None
    filters: SourceFilters = SourceFilters()
    include_cross_links: bool = False


class Stage(StrEnum):
    """Seeds read the question; expansions start from what the seeds found."""

    SEED = "seed"
    EXPAND = "expand"


class Strategy(Protocol):
    """One way of finding. ``name`` is what profiles, outcomes and traces call it."""

    name: str
    stage: Stage

    def applies(self, question: StrategyQuestion) -> bool:
        """Tell whether the strategy has anything to go by; what does not apply is reported as such."""
        ...

    def find(self, question: StrategyQuestion, *, seeds: Sequence[Hit]) -> list[Hit]:
        """Return hits, best first, inside the running account transaction. ``seeds`` are empty for seeds.

        Raises :class:`StrategyUnavailable` for a missing dependency; whatever else it raises is a failure of its
        own (``provider_error``) and a statement that is cancelled a timeout.
        """
        ...


class StrategyUnavailable(Exception):
    """What the strategy needs is not there: no embedder, no model."""
