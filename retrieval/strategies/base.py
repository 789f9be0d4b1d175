"""What every search strategy is: a ranked list found inside the reader's bounds, or a reason why there is none.

A strategy runs in an account transaction of its own, on a connection of its own, with a statement timeout of
what is left of the deadline (``retrieval.search.running``). It filters inside its query, by
``question.visible``.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from facts.embedding import Embedded
from facts.models import IndexedUnit
from retrieval.visibility import Visibility


class Item(NamedTuple):
    """What is found: the unit and the id of a fact or a passage."""

    unit: IndexedUnit
    id: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result of one strategy with its own score, finite, higher is better.

    ``text`` is the statement or the words of the passage, ``moment`` since when it holds or when it was said: both
    order equal scores, so that random ids decide nothing. What is ``withheld`` is found, so that a trace can say so,
    and goes no further. ``detail`` is shown to callers.
    """

    item: Item
    score: float
    text: str
    moment: datetime | None = None
    withheld: bool = False
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> str:
        """What equal scores are ordered by."""
        return f"{self.text}\n{self.moment.isoformat() if self.moment else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFilters:
    """What a caller asks of the origin of results. Empty fields filter nothing.

    ``event_id`` keeps what that event says or is in evidence of. The others are about facts; with any of them no
    passage is found.
    """

    provider: str = ""
    model: str = ""
    prompt_version: str = ""
    minimum_corroboration: int = 0
    event_id: uuid.UUID | None = None

    @property
    def facts_only(self) -> bool:
        """Whether no passage can pass."""
        return bool(self.provider or self.model or self.prompt_version or self.minimum_corroboration)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyQuestion:
    """One question as strategies see it.

    ``vector`` is there for strategies that need one (``needs_vector``), and for expansions where a seed had one made.
    ``limit`` bounds each list, for facts and for passages. ``units`` says which of both are looked for. ``as_of`` is
    the instant asked about, ``known_at`` that of the knowledge; with either, facts are those of ``past``
    (``Visibility.past_facts``). ``min_score`` is applied to each list by whoever runs the strategies. ``linked`` are
    the scopes that a cross-link leads to and the caller may read; empty unless links are asked for. ``demanded`` is
    the text of a ``tsquery`` that everything found has to match: ``None`` without operators in the question, empty
    when they leave nothing to look for. ``lanes`` asks for direct and derived facts apart (profile ``minimal``).
    """

    text: str
    vector: Embedded | None
    visible: Visibility
    limit: int
    units: tuple[IndexedUnit, ...] = (IndexedUnit.FACT, IndexedUnit.PASSAGE)
    as_of: datetime | None = None
    known_at: datetime | None = None
    past: Sequence[uuid.UUID] | None = None
    min_score: float | None = None
    filters: SourceFilters = SourceFilters()
    linked: tuple[uuid.UUID, ...] = ()
    demanded: str | None = None
    lanes: bool = False

    @property
    def blank(self) -> bool:
        """Whether nothing is asked in words."""
        return not self.text.strip()


def in_order(hits: Iterable[Hit]) -> list[Hit]:
    """Return hits best first, equal scores by content."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.content))


class Stage(StrEnum):
    """Seeds read the question; expansions start from what the seeds found."""

    SEED = "seed"
    EXPAND = "expand"


class Strategy(Protocol):
    """One way of finding. ``name`` is what profiles, outcomes and traces call it.

    ``version`` names the analysis behind it, for reports; it holds no content, and costs nothing to tell.
    ``needs_vector``: the question's vector is made first, outside of any transaction, and reports name its embedder
    in place of the version. ``reads_text``: what it finds depends on the question's words.
    """

    name: str
    stage: Stage
    needs_vector: bool
    reads_text: bool

    @property
    def version(self) -> str:
        """Name of what could change its results beside the store and the question."""
        ...

    def applies(self, question: StrategyQuestion) -> bool:
        """Tell whether the strategy has anything to go by; what does not apply is reported as such. No query."""
        ...

    def find(self, question: StrategyQuestion, *, seeds: Sequence[Hit]) -> list[Hit]:
        """Return hits, best first, each item once, inside the running account transaction.

        Equal scores come in an order that content decides (:func:`in_order`). ``seeds`` are the hits of the seed
        strategies, interleaved by rank in the order of the profile, each item once; empty for seeds themselves.
        Raises :class:`StrategyUnavailable` for a missing dependency; whatever else it raises is a failure of its own
        (``provider_error``) and a statement that is cancelled a timeout.
        """
        ...


class StrategyUnavailable(Exception):
    """What the strategy needs is not there: no embedder, no model."""
