"""Named, versioned bundles of what a read does: its weights, bounds and deadline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from retrieval.fusion import RRF_K, Weights

#: Changes whenever the same store and question could give another order.
RANKER_VERSION = "context-2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a passage's score gains from what was said around it (``retrieval.context.surroundings``), as shares of
    scores.

    ``seeds`` is how many of the best passages have their neighbours looked up; a passage gains ``before`` of the score
    of the one before it, ``after`` of the one after, ``sitting`` of the best of its sitting.
    """

    seeds: int
    before: float
    after: float
    sitting: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextProfile:
    """How a context packet is found and packed.

    ``top`` rows of each strategy are scored; ``near_misses`` more are traced only. ``fact_share`` is the
    part of the budget that facts may use before passages had their turn. One search may take
    ``deadline_ms`` milliseconds. ``max_distance`` and ``score_share`` are the recall gate (``retrieval.context.gate``).
    Of all three, ``None`` leaves it to the operator's settings. ``override`` names the override that was applied, empty
    for the built-in profile.
    """

    name: str
    version: int
    weights: Weights
    top: int
    near_misses: int
    fact_share: float
    passages: int
    surroundings: Surroundings
    entity_facts: int
    deadline_ms: int | None = None
    max_distance: float | None = None
    score_share: float | None = None
    override: str = ""

    @property
    def label(self) -> str:
        """Name, version and override, as traces carry them."""
        return _label(self.name, self.version, self.override)


#: Chosen on two LoCoMo conversations, judged on three others; what each choice brought is in ``docs/benchmarks.md``.
#: Recency gains nothing there; what is left of it puts the newer of two equal matches first.
CONTEXT = ContextProfile(
    name="context",
    version=2,
    weights=Weights(vector=0.45, text=0.55, recency=0.05),
    top=64,
    near_misses=8,
    fact_share=0.5,
    passages=64,
    surroundings=Surroundings(seeds=12, before=0.3, after=0.2, sitting=0.4),
    entity_facts=5,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchProfile:
    """Which strategies a search runs, what each counts for, and how long it may take.

    ``weights`` names the strategies in the order of their reports. ``rerank_head`` is how many of the fused
    results are put into a better order by a reranker, 0 for none. ``deadline_ms`` covers both. With ``lanes`` the
    semantic strategy looks for direct and derived facts apart. ``override`` names the override that was applied, empty
    for the built-in profile.
    """

    name: str
    version: int
    weights: Mapping[str, float]
    rerank_head: int
    deadline_ms: int
    rrf_k: int = RRF_K
    lanes: bool = False
    override: str = ""

    @property
    def label(self) -> str:
        """Name, version and override, as answers and traces carry them."""
        return _label(self.name, self.version, self.override)


#: Words count for more than the vectors of a small embedder. Turn recall@8 and @10 of searches on LoCoMo (five
#: conversations, 760 questions), semantic/lexical 1/1 → .660, .686; 1/1.5 → .663, .688; 1/2 → .663, .688; vectors alone
#: .498 and words alone .636 at 10. The other weights are those of an earlier system for the same strategies.
SEARCH: Mapping[str, SearchProfile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            SearchProfile(
                name="fast",
                version=1,
                weights={"semantic": 1.0, "salience_recency": 0.8},
                rerank_head=0,
                deadline_ms=100,
            ),
            SearchProfile(
                name="balanced",
                version=1,
                weights={"semantic": 1.0, "lexical": 1.5, "temporal": 0.7, "entity_match": 0.9},
                rerank_head=0,
                deadline_ms=300,
            ),
            SearchProfile(
                name="thorough",
                version=1,
                weights={
                    "semantic": 1.0,
                    "lexical": 1.5,
                    "temporal": 0.7,
                    "entity_match": 0.9,
                    "salience_recency": 0.8,
                    "relation_expand": 0.6,
                },
                rerank_head=20,
                deadline_ms=1_500,
            ),
            SearchProfile(
                name="minimal",
                version=1,
                weights={"semantic": 1.0, "lexical": 1.5},
                rerank_head=0,
                deadline_ms=300,
                lanes=True,
            ),
        )
    }
)


def _label(name: str, version: int, override: str) -> str:
    return f"{name}-{version}-{override}" if override else f"{name}-{version}"
