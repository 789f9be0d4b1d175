"""Putting the head of a fused list into a better order, in the time that was kept back for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from facts.unseen import for_model
from retrieval.outcomes import Deadline, Outcome, OutcomeStatus, ReasonClass
from retrieval.profiles.shipped import SearchProfile
from retrieval.rerankers import registry
from retrieval.rerankers.base import Ranking, Reranker, RerankerFailed, RerankerUnavailable
from retrieval.strategies.base import Hit, Item

#: Milliseconds that a reranker gets, unless that is more than half of the deadline.
RESERVED_MS = 120

COMPONENT = "reranker"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """An order, and what became of the attempt to better it; no outcome where none was asked for.

    ``missed``: an answer is worse than this deployment's usual one. To have no reranker is a choice, and reported as no
    more than that.
    """

    items: Sequence[Item]
    outcome: Outcome | None
    missed: bool = False


def reserved_ms(profile: SearchProfile) -> int:
    """Return the milliseconds that the strategies of the profile leave to a reranker; 0 when none will run."""
    if profile.rerank_head == 0 or registry.configured() is None:
        return 0
    return min(RESERVED_MS, profile.deadline_ms // 2)


def rerank(
    text: str, items: Sequence[Item], hits: Mapping[Item, Hit], *, profile: SearchProfile, deadline: Deadline
) -> Reranked:
    """Return ``items`` with their head in the reranker's order, or as they are when it fails, is late or is missing.

    What is withheld is not shown to it. Of a partial ranking the ranked ones lead and the others keep their order.
    """
    if profile.rerank_head == 0 or not items or not text.strip():
        return Reranked(items=items, outcome=None)
    head = [item for item in items if not hits[item].withheld][: profile.rerank_head]
    started = time.monotonic()
    reranker = registry.configured()

    def kept(reason: ReasonClass) -> Reranked:
        outcome = _outcome(reranker, OutcomeStatus.DROPPED, reason, started, deadline)
        return Reranked(items=items, outcome=outcome, missed=reranker is not None)

    if reranker is None:
        return kept(ReasonClass.DEPENDENCY_UNAVAILABLE)
    if deadline.passed:
        return kept(ReasonClass.DEADLINE_EXHAUSTED)
    try:
        ranking = reranker.rerank(
            for_model(text), [for_model(hits[item].text) for item in head], seconds=deadline.remaining_ms / 1000
        )
    except RerankerUnavailable:
        return kept(ReasonClass.DEPENDENCY_UNAVAILABLE)
    except RerankerFailed as error:
        return kept(ReasonClass(error.outcome))
    except Exception as error:
        logger.warning("reranker_failed", extra={"error_class": type(error).__name__})
        return kept(ReasonClass.PROVIDER_ERROR)
    if not _possible(ranking, len(head)):
        return kept(ReasonClass.INVALID_RESULT)
    first = [head[position] for position in ranking.order]
    reason = ReasonClass.PARTIAL_RANKINGS if len(first) < len(head) else None
    outcome = _outcome(reranker, OutcomeStatus.COMPLETED, reason, started, deadline)
    return Reranked(items=_leading(first, items), outcome=outcome, missed=reason is not None)


def _possible(ranking: Ranking, length: int) -> bool:
    """Tell whether a ranking names each of ``length`` texts once at most, and nothing else."""
    return len(set(ranking.order)) == len(ranking.order) and all(0 <= place < length for place in ranking.order)


def _leading(first: Sequence[Item], items: Sequence[Item]) -> list[Item]:
    """Return ``items`` with ``first`` before all others."""
    leading = set(first)
    return [*first, *(item for item in items if item not in leading)]


def _outcome(
    reranker: Reranker | None, status: OutcomeStatus, reason: ReasonClass | None, started: float, deadline: Deadline
) -> Outcome:
    return Outcome(
        component=COMPONENT,
        status=status,
        reason_class=reason,
        elapsed_ms=round((time.monotonic() - started) * 1000, 2),
        budget_remaining_ms=round(deadline.remaining_ms, 2),
        version=reranker.label if reranker else "",
    )
