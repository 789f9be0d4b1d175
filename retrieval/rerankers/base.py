"""What every reranker is: a better order of a few texts, or of as many as were read in time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

TIMEOUT = "timeout"
PROVIDER_ERROR = "provider_error"
INVALID_RESULT = "invalid_result"


class RerankerUnavailable(Exception):
    """The reranker cannot be asked at all: its model is missing or cannot be loaded."""


class RerankerFailed(Exception):
    """The reranker was asked and gave no order. ``outcome``: ``timeout``, ``provider_error``, ``invalid_result``."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The positions of texts, best first, and the score of each.

    Scores compare within one ranking only. ``partial``: the time was up before all texts were read; those that were
    not are missing here, and keep their places behind.
    """

    order: tuple[int, ...]
    scores: tuple[float, ...]
    partial: bool


class Reranker(Protocol):
    """Ranks texts by how well they answer a question. ``label`` names provider, model and version for reports."""

    label: str

    def load(self) -> None:
        """Load what has to be loaded before the first use; asks nobody. Raises :class:`RerankerUnavailable`."""
        ...

    def rerank(self, question: str, texts: Sequence[str], *, seconds: float) -> Ranking:
        """Return an order of ``texts``, or of some of them, within ``seconds``.

        Raises :class:`RerankerUnavailable` or :class:`RerankerFailed`; messages hold neither question nor texts.
        """
        ...


def ranking(scored: Iterable[tuple[int, float]], *, texts: int) -> Ranking:
    """Return the ranking of (position, score) pairs of that many texts; equal scores keep the order of the texts.

    Raises :class:`RerankerFailed` (``invalid_result``) for a position that is repeated or not there, a score that is no
    number, and when there is nothing at all.
    """
    best_first = sorted(scored, key=lambda pair: (-pair[1], pair[0]))
    positions = [position for position, _ in best_first]
    if len(set(positions)) != len(positions) or not all(0 <= position < texts for position in positions):
        raise RerankerFailed(INVALID_RESULT, "positions are repeated or out of range")
    if not all(math.isfinite(score) for _, score in best_first):
        raise RerankerFailed(INVALID_RESULT, "a score is no number")
    if not positions and texts:
        raise RerankerFailed(INVALID_RESULT, "nothing was ranked")
    return Ranking(
        order=tuple(positions), scores=tuple(score for _, score in best_first), partial=len(positions) < texts
    )
