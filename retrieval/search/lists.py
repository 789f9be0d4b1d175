"""The lists of a search's strategies: what they have in common, and the one order that becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from retrieval.fusion import Fused, RankedList, fuse
from retrieval.outcomes import Outcome, OutcomeStatus
from retrieval.profiles.shipped import SearchProfile
from retrieval.search.answer import Disagreement
from retrieval.search.running import Run
from retrieval.strategies.base import Hit, Item

#: A list none of whose scores reaches this, in whatever measure, found nothing that fits.
LOW_SCORE = 0.2


def hits_by_item(runs: Iterable[Run]) -> dict[Item, list[Hit]]:
    """Return what each strategy says of each item, in the order of ``runs``."""
    hits: dict[Item, list[Hit]] = {}
    for run in runs:
        for hit in run.hits:
            hits.setdefault(hit.item, []).append(hit)
    return hits


def merged(runs: Sequence[Run], hits: Mapping[Item, Sequence[Hit]], profile: SearchProfile) -> list[Fused[Item]]:
    """Return all items in their fused order; only strategies that ran to their end count, also when they found none."""
    lists = [
        RankedList(
            strategy=run.strategy,
            weight=profile.weights[run.strategy],
            ranked=[(hit.item, hit.score) for hit in run.hits],
        )
        for run in runs
        if run.completed
    ]
    return fuse(lists, content={item: said[0].content for item, said in hits.items()}, k=profile.rrf_k)


def disagreement(runs: Sequence[Run], *, blank: bool) -> Disagreement:
    """Return what the strategies thought before their lists were merged. ``blank``: no words were given."""
    lists = [{hit.item: hit.score for hit in run.hits} for run in runs if run.hits]
    scores = [score for found in lists for score in found.values()]
    return Disagreement(
        strategy_count=len(lists),
        disjoint=len(lists) > 1 and all(one.keys().isdisjoint(other) for one, other in combinations(lists, 2)),
        low_score=bool(scores) and max(scores) < LOW_SCORE,
        query_dependent_empty=not blank and not any(run.hits for run in runs if run.reads_text),
    )


def degraded_components(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the components that were dropped."""
    return [outcome.component for outcome in outcomes if outcome.status is OutcomeStatus.DROPPED]
