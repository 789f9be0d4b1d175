"""Who words an answer: the port behind which a model stands, or nobody.

A deployment registers what it composed of its settings. Without one, answers are put together from statements.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from retrieval.ask.evidence import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """What came back: the answer, the numbers it cites as it gave them, its own certainty (0 to 100), and the tokens
    that the question took as the provider counted them (``None`` where it did not say)."""

    text: str
    citations: Sequence[int]
    confidence: int
    input_tokens: int | None


class AnswerFailed(Exception):
    """There is no answer: why, in a word of the usage ledger; never content."""

    def __init__(self, error_class: str) -> None:
        super().__init__(error_class)
        self.error_class = error_class


class Answerer(Protocol):
    """Words an answer from evidence. Raises :class:`AnswerFailed` and nothing else."""

    def answer(
        self, *, account_id: uuid.UUID, question: str, evidence: Sequence[Evidence], reference_time: datetime
    ) -> Worded:
        """Return the answer to ``question`` as of ``reference_time``; evidence is numbered from 1, in its order.

        Called outside of any transaction; holds no connection while it waits.
        """
        ...


_find: Callable[[], Answerer | None] | None = None


def register(find: Callable[[], Answerer | None] | None) -> None:
    """Make ``find`` what is asked for the answerer at every question; it returns ``None`` where none is configured."""
    global _find
    _find = find


def configured() -> Answerer | None:
    """Return who words answers in this deployment, or ``None``."""
    return _find() if _find is not None else None
