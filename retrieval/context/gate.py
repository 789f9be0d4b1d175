"""The recall gate: whether what was found is about the question at all, so that a budget is a ceiling, not a target.

Off unless an operator or a profile sets its limit, which depends on the embedder (``manage.py
calibrate_recall_gate``). Two steps, for facts and for passages: what is farther from the question than the limit is
out, by its cosine distance alone; then what is much less about the question than the best of the rest is out as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from django.conf import settings

from retrieval.profiles.shipped import ContextProfile
from retrieval.traces.reasons import Reason

#: What the words shared count in a row's closeness beside its similarity. Measured on the first world of false friends
#: (``benchmarks/false_friends.py``): precision .839 with .55, .847 with .4, .835 with .2, .746 with none.
WORDS = 0.4


class Scored(Protocol):
    """What the gate looks at: ``similarity`` is 1 − cosine distance, ``text_score`` 0 to 1."""

    @property
    def similarity(self) -> float | None: ...

    @property
    def text_score(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The limits of one read.

    ``max_distance`` is a cosine distance, 0 to 2, and 0 switches the gate off. ``score_share`` is the smallest part
    of the best row's closeness that is served, 0 for any. Closeness is not the fused score, which says where a row
    stands among the others found: of two rows about the question one would always be last.
    """

    max_distance: float
    score_share: float

    @property
    def is_on(self) -> bool:
        """Whether anything is kept out."""
        return self.max_distance > 0

    def too_far(self, row: Scored) -> bool:
        """Tell whether a row is too far from the question, or has no vector to tell."""
        return self.is_on and (row.similarity is None or 1 - row.similarity > self.max_distance)

    def best(self, rows: Iterable[Scored]) -> float:
        """Return the closeness of the best of ``rows`` that is near enough; 0 without one, or while the gate is off."""
        if not self.is_on:
            return 0.0
        return max((self.closeness(row) for row in rows if not self.too_far(row)), default=0.0)

    def refuses(self, row: Scored, *, best: float) -> Reason | None:
        """Return why a row is kept out, beside a row as close as ``best``; ``None`` when it may be served."""
        if not self.is_on:
            return None
        if self.too_far(row):
            return Reason.BELOW_RELEVANCE_FLOOR
        return Reason.FAR_BEHIND_BEST if self.closeness(row) < self.score_share * best else None

    def closeness(self, row: Scored) -> float:
        """Return how much a row is about the question, whatever else was found; at most 1."""
        return (1 - WORDS) * (row.similarity or 0.0) + WORDS * row.text_score


OFF = Gate(max_distance=0.0, score_share=0.0)


def of_profile(profile: ContextProfile, *, has_vector: bool) -> Gate:
    """Return the gate of a read under ``profile``, with the operator's limits where it has none of its own.

    Without a vector of the question nothing can be told, and the gate is off.
    """
    if not has_vector:
        return OFF
    return Gate(
        max_distance=settings.HAKI_RECALL_MAX_DISTANCE if profile.max_distance is None else profile.max_distance,
        score_share=settings.MEMORY_RECALL_SCORE_SHARE if profile.score_share is None else profile.score_share,
    )
