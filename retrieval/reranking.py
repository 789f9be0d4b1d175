"""Putting the head of a fused list into a better order, in the time that was kept back for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retrieval.outcomes import Deadline, Outcome, OutcomeStatus, ReasonClass
from retrieval.profiles import SearchProfile
from retrieval.rerankers import registry
from retrieval.rerankers.base import Ranking, RerankerFailed, RerankerUnavailable
from retrieval.strategies.base import Hit, Item

#: Milliseconds that a reranker gets, unless that is more than half of the deadline.
RESERVED_MS = 120

COMPONENT = "reranker"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """An order, and what became of the attempt to better it; no outcome where none was asked for."""

    items: Sequence[Item]
    outcome: Outcome | None


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
    if reranker is None:
        return Reranked(items=items, outcome=_outcome(ReasonClass.DEPENDENCY_UNAVAILABLE, started, deadline))
    if deadline.passed:
        return Reranked(items=items, outcome=_outcome(ReasonClass.DEADLINE_EXHAUSTED, started, deadline))
    try:
        ranking = reranker.rerank(text, [hits[item].text for item in head], seconds=deadline.remaining_ms / 1000)
    except RerankerUnavailable:
        return Reranked(items=items, outcome=_outcome(ReasonClass.DEPENDENCY_UNAVAILABLE, started, deadline))
    except RerankerFailed as error:
        return Reranked(items=items, outcome=_outcome(ReasonClass(error.outcome), started, deadline))
    except Exception as error:
        logger.warning("reranker_failed", extra={"error_class": type(error).__name__})
        return Reranked(items=items, outcome=_outcome(ReasonClass.PROVIDER_ERROR, started, deadline))
    if not _possible(ranking, len(head)):
        return Reranked(items=items, outcome=_outcome(ReasonClass.INVALID_RESULT, started, deadline))
    first = [head[position] for position in ranking.order]
    partial = ReasonClass.PARTIAL_RANKINGS if len(first) < len(head) else None
    outcome = _outcome(partial, started, deadline, status=OutcomeStatus.COMPLETED)
    return Reranked(items=_leading(first, items), outcome=outcome)


def _possible(ranking: Ranking, length: int) -> bool:
    """Tell whether a ranking names each of ``length`` texts once at most, and nothing else."""
    return len(set(ranking.order)) == len(ranking.order) and all(0 <= place < length for place in ranking.order)


def _leading(first: Sequence[Item], items: Sequence[Item]) -> list[Item]:
    """Return ``items`` with ``first`` before all others."""
    leading = set(first)
    return [*first, *(item for item in items if item not in leading)]


def _outcome(
    reason: ReasonClass | None, started: float, deadline: Deadline, *, status: OutcomeStatus = OutcomeStatus.DROPPED
) -> Outcome:
    return Outcome(
        component=COMPONENT,
        status=status,
        reason_class=reason,
        elapsed_ms=round((time.monotonic() - started) * 1000, 2),
        budget_remaining_ms=round(deadline.remaining_ms, 2),
    )
