"""From measured distances to a recommendation: pure functions.

A *false refusal* is a question whose right answer lies beyond the limit; a *false service* a question that the store
knows nothing about and that is served something all the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: Steps in which limits are tried.
DISTANCES = tuple(round(0.01 * step, 2) for step in range(5, 121))
SHARES = tuple(round(0.05 * step, 2) for step in range(19, 0, -1))
PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
#: Part of the questions about nothing that a gate must keep out to be worth what it refuses.
WORTHWHILE = 0.5
#: Part of the questions about nothing that a gate keeps out which only made questions speak for.
KEPT_OUT = 0.95


@dataclass(slots=True)
class Measured:
    """What was measured, one number a question.

    ``right``: the distance of the right answer; ``shares``: its closeness as a part of the best's
    (``retrieval.context.gate``), for the same questions. ``strangers``: the distance of the nearest where the answer
    and whatever could answer as well were left out. ``off_topic``: the distance of the nearest to a question about
    nothing in the store. ``not_found``: questions whose right answer was no candidate at all, which no gate changes.
    """

    right: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    strangers: list[float] = field(default_factory=list)
    off_topic: list[float] = field(default_factory=list)
    not_found: int = 0


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return the nearest-rank percentiles of ``values``; empty without any."""
    ordered = sorted(values)
    return {f"p{p}": round(ordered[math.ceil(p / 100 * len(ordered)) - 1], 4) for p in PERCENTILES if ordered}


def share_beyond(values: Sequence[float], limit: float) -> float | None:
    """Return the part of ``values`` above ``limit``; ``None`` without any."""
    return sum(value > limit for value in values) / len(values) if values else None


def report(measured: Measured, *, max_refusals: float, made: bool) -> dict[str, Any]:
    """Return the distributions, the rates for each limit, and what to set.

    ``max_refusals`` is a share, 0 to 1; ``made`` tells that the questions were made of the store and are not real.
    """
    recommend = _recommend_by_made if made else _recommend_by_real
    return {
        "right_answer": _described(measured.right),
        "nearest_stranger": _described(measured.strangers),
        "off_topic": _described(measured.off_topic),
        "not_found": measured.not_found,
        "limits": [_rates(measured, limit) for limit in DISTANCES if round(limit * 100) % 5 == 0],
        "recommendation": recommend(measured, max_refusals),
    }


def _described(values: Sequence[float]) -> dict[str, Any]:
    return {"questions": len(values), **percentiles(values)}


def _rates(measured: Measured, limit: float) -> dict[str, float | None]:
    def served(values: Sequence[float]) -> float | None:
        beyond = share_beyond(values, limit)
        return None if beyond is None else round(1 - beyond, 4)

    refused = share_beyond(measured.right, limit)
    return {
        "max_distance": limit,
        "false_refusals": None if refused is None else round(refused, 4),
        "served_strangers": served(measured.strangers),
        "served_off_topic": served(measured.off_topic),
    }


def _recommend_by_made(measured: Measured, max_refusals: float) -> dict[str, Any]:
    """Return the loosest limit that keeps out nearly everything that is about nothing here.

    Answers to made questions lie nearer than answers to real ones: they can speak against a limit, never for a
    tighter one.
    """
    limits = [
        limit
        for limit in DISTANCES
        if (share_beyond(measured.off_topic, limit) or 0.0) >= KEPT_OUT
        and (share_beyond(measured.right, limit) or 0.0) <= max_refusals
    ]
    if not measured.right or not limits:
        return _off("No limit keeps out what is about nothing and lets the right answers through.")
    kept_out = share_beyond(measured.off_topic, limits[-1]) or 0.0
    return {
        "HAKI_RECALL_MAX_DISTANCE": limits[-1],
        "MEMORY_RECALL_SCORE_SHARE": None,
        "why": (
            f"The loosest limit that keeps out {KEPT_OUT:.0%} of the questions about nothing ({kept_out:.0%}). A file"
            " of real questions may show that a tighter one fits, and what share does."
        ),
    }


def _recommend_by_real(measured: Measured, max_refusals: float) -> dict[str, Any]:
    """Return the tightest limit that refuses few enough right answers, or 0 where it would keep too little out."""
    fitting = [limit for limit in DISTANCES if (share_beyond(measured.right, limit) or 0.0) <= max_refusals]
    if not measured.right or not fitting:
        return _off("No limit fits: right answers are missing, or lie too far away.")
    kept_out = share_beyond(measured.off_topic, fitting[0])
    if kept_out is None:
        return _off("There were no questions that the store knows nothing about.")
    if kept_out < WORTHWHILE:
        return _off(
            f"At {fitting[0]}, which refuses {max_refusals:.0%} of the right answers, only {kept_out:.0%} of the"
            " questions about nothing would be kept out: this embedder does not tell them apart here."
        )
    return {
        "HAKI_RECALL_MAX_DISTANCE": fitting[0],
        "MEMORY_RECALL_SCORE_SHARE": _share(measured, fitting[0], max_refusals),
        "why": (
            f"The tightest limit that refuses at most {max_refusals:.0%} of the right answers; it keeps out"
            f" {kept_out:.0%} of the questions about nothing."
        ),
    }


def _share(measured: Measured, limit: float, max_refusals: float) -> float:
    """Return the largest share of the best that loses few enough of the right answers within ``limit``."""
    kept = [share for distance, share in zip(measured.right, measured.shares, strict=True) if distance <= limit]
    for share in SHARES:
        if sum(value < share for value in kept) <= max_refusals * len(kept):
            return share
    return 0.0


def _off(why: str) -> dict[str, Any]:
    return {"HAKI_RECALL_MAX_DISTANCE": 0.0, "MEMORY_RECALL_SCORE_SHARE": None, "why": why}
