"""What a search answers: plain values, ready to be rendered, cited or compared."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from facts.models import IndexedUnit
from retrieval.context.packet import EmptyReason, ServedFact, ServedPassage
from retrieval.outcomes import Outcome
from retrieval.places import Place
from retrieval.stable_profile import StableProfile
from retrieval.traces.writing import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One result, a fact or a passage. The order of results is the answer; scores are no thresholds.

    ``strategies`` holds the score that each strategy gave in its own measure. ``detail`` is what a strategy says of
    its find, such as its lane. What is said of the origin is empty for a passage.
    """

    unit: IndexedUnit
    id: uuid.UUID
    content: ServedFact | ServedPassage
    fusion_score: float
    strategies: Mapping[str, float]
    detail: Mapping[str, Any]
    scope_id: uuid.UUID
    scope: str
    subject_id: uuid.UUID
    subject: str
    sensitivity: str
    level: str
    corroboration: int = 0
    extractor_provider: str = ""
    extractor_model: str = ""
    prompt_version: str = ""

    @property
    def fact(self) -> ServedFact | None:
        """The fact, if it is one."""
        return self.content if isinstance(self.content, ServedFact) else None

    @property
    def passage(self) -> ServedPassage | None:
        """The passage, if it is one."""
        return self.content if isinstance(self.content, ServedPassage) else None

    @property
    def text(self) -> str:
        """The statement, or the words of the passage."""
        return self.content.statement if isinstance(self.content, ServedFact) else self.content.text

    @property
    def source_event_ids(self) -> tuple[uuid.UUID, ...]:
        """The events it rests on."""
        if isinstance(self.content, ServedFact):
            return self.content.source_event_ids
        return (self.content.event_id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """What the strategies thought before their lists were merged.

    ``strategy_count``: lists with results. ``disjoint``: two or more, and no two share a result. ``low_score``: there
    are results, none with a score of 0.2 in any measure. ``query_dependent_empty``: words were given and no strategy
    that reads them found anything.
    """

    strategy_count: int
    disjoint: bool
    low_score: bool
    query_dependent_empty: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """The results of a search, best first, and how they came about.

    ``identity_subject`` is the key of the reader whose profile was asked for. ``trace_id`` is ``None`` for what left no
    trace. ``place``, ``embedder``, ``decisions`` and ``timings``
    (milliseconds of each stage) are for whoever writes a trace about more than this search.
    """

    results: Sequence[Found]
    profile: str
    profile_version: str
    ranker: str
    reader_posture: str
    outcomes: Sequence[Outcome]
    contributed: Sequence[str]
    empty: Sequence[str]
    dropped: Sequence[str]
    disagreement: Disagreement
    reserved_rerank_ms: int
    pre_rerank_remaining_ms: int
    warnings: Sequence[str] = ()
    empty_reason: EmptyReason | None = None
    identity_profile_status: str = "not_requested"
    identity_profile: StableProfile | None = None
    identity_subject: str | None = None
    trace_id: uuid.UUID | None = None
    degraded_components: Sequence[str] = ()
    place: Place
    embedder: str = ""
    decisions: Sequence[Decision] = ()
    timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def degraded(self) -> bool:
        """Whether anything was dropped or came back incomplete."""
        return bool(self.degraded_components)
