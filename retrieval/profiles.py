"""Named, versioned bundles of what a read does: its weights, bounds and deadline."""

from __future__ import annotations

from dataclasses import dataclass

from retrieval.fusion import Weights

#: Changes whenever the same store and question could give another order.
RANKER_VERSION = "context-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextProfile:
    """How a context packet is found and packed.

    ``top`` rows of each strategy are scored; ``near_misses`` more are traced only. ``fact_share`` is the
    part of the budget that facts may use before passages had their turn. A strategy gets ``deadline_ms``
    milliseconds.
    """

    name: str
    version: int
    weights: Weights
    top: int
    near_misses: int
    fact_share: float
    passages: int
    entity_facts: int
    deadline_ms: int

    @property
    def label(self) -> str:
        """Name and version, as traces carry them."""
        return f"{self.name}-{self.version}"


#: Weights measured on five LoCoMo conversations (760 questions, ``benchmarks/locomo.py``), recall@8 and @20: vector and
#: text .65/.35 → .645, .739; .60/.40 → .652, .748; .55/.45 → .665, .750; with recency .15 (.60/.25/.15) .603, .715.
#: Recency gains nothing there; what is left of it puts the newer of two equal matches first.
CONTEXT = ContextProfile(
    name="context",
    version=1,
    weights=Weights(vector=0.55, text=0.45, recency=0.05),
    top=64,
    near_misses=8,
    fact_share=0.6,
    passages=8,
    entity_facts=5,
    deadline_ms=300,
)
