"""From several scores to one order: pure functions, deterministic to the last tie."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)

#: How fast the advantage of the first ranks of a list fades.
RRF_K = 15
#: Part of a contribution that the normalised score decides; the rest is decided by the rank alone.
SCORE_SHARE = 0.95
#: Age at which recency has fallen to 1/e.
RECENCY_SPAN = timedelta(days=30)


def min_max(scores: Sequence[float]) -> list[float]:
    """Return ``scores`` stretched to 0..1; all 1 when there is one score or all are equal."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    if low == high:
        return [1.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]


def recency(moment: datetime, *, at: datetime) -> float:
    """Return 1 for a fact of the instant ``at``, falling with age; a start in the future counts as now."""
    return math.exp(-max(0.0, (at - moment) / RECENCY_SPAN))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedList(Generic[Item]):
    """What one strategy returned, best first, with its own scores (higher is better), each item once."""

    strategy: str
    weight: float
    ranked: Sequence[tuple[Item, float]]


@dataclass(slots=True)
class Fused(Generic[Item]):
    """One item in the fused order: ``score`` 0..1, and the score and rank (from 1) each strategy gave it."""

    item: Item
    score: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)


def fuse(lists: Sequence[RankedList[Item]], *, content: Mapping[Item, str], k: int = RRF_K) -> list[Fused[Item]]:
    """Return all items of ``lists``, best first.

    A list contributes ``weight * (0.95 * normalised score + 0.05 * (k + 1) / (k + rank))`` to each of its
    items; the sum is divided by the weights of all lists given, which are those of the strategies that ran
    to completion, also when they found nothing. The order of the lists does not matter. Equal scores are ordered by
    ``content`` and never by random ids.

    Raises ``ValueError`` for a negative weight, weights that are all 0, and a ``k`` of 0 or less.
    """
    if k <= 0 or any(ranking.weight < 0 for ranking in lists):
        raise ValueError("The rank constant is positive and no weight is negative.")
    total = math.fsum(ranking.weight for ranking in lists)
    if lists and total == 0:
        raise ValueError("Some list has to count.")
    fused: dict[Item, Fused[Item]] = {}
    shares: dict[Item, list[float]] = {}
    for ranking in lists:
        normalised = min_max([score for _, score in ranking.ranked])
        for rank, ((item, score), share) in enumerate(zip(ranking.ranked, normalised, strict=True), start=1):
            entry = fused.setdefault(item, Fused(item))
            entry.scores[ranking.strategy] = score
            entry.ranks[ranking.strategy] = rank
            by_rank = (k + 1) / (k + rank)
            contribution = ranking.weight * (SCORE_SHARE * share + (1 - SCORE_SHARE) * by_rank)
            shares.setdefault(item, []).append(contribution)
    for item, entry in fused.items():
        # An exact sum is the same in any order.
        entry.score = min(1.0, math.fsum(shares[item]) / total)
    return sorted(fused.values(), key=lambda entry: (-entry.score, content[entry.item]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The shares of the three axes in a ``context`` score."""

    vector: float
    text: float
    recency: float


def combine(
    *,
    similarity: Sequence[float | None],
    text: Sequence[float],
    recent: Sequence[float],
    weights: Weights,
) -> list[float]:
    """Return the ``context`` score of each row, 0..1, from three scores known for every row.

    Each axis is stretched to 0..1 over these rows and weighted; an axis on which all rows are equal says
    nothing about their order and adds the same to each. ``similarity`` is ``None`` for a row without a
    vector, which counts as the farthest row; when no row has one, the other two axes share the weight.
    """
    known = [value for value in similarity if value is not None]
    axes = [(weights.text, min_max(text)), (weights.recency, min_max(recent))]
    if known:
        farthest = min(known)
        filled = [farthest if value is None else value for value in similarity]
        axes.append((weights.vector, min_max(filled)))
    total = sum(weight for weight, _ in axes) or 1.0
    return [sum(weight * axis[row] for weight, axis in axes) / total for row in range(len(text))]
