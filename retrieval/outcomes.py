"""What became of each part of a search, and how much of its time was left then."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum


class OutcomeStatus(StrEnum):
    """A part ran to its end, was left out, or had nothing to go by."""

    COMPLETED = "completed"
    DROPPED = "dropped"
    NOT_APPLICABLE = "not_applicable"


class ReasonClass(StrEnum):
    """Why a part was left out, or what is special about its end. Part of the API: never renamed, never reused."""

    DISABLED = "disabled"
    DEADLINE_EXHAUSTED = "deadline_exhausted_before_start"
    TIMEOUT = "timeout"
    DEPENDENCY_UNAVAILABLE = "dependency_unavailable"
    PROVIDER_ERROR = "provider_error"
    INVALID_RESULT = "invalid_result"
    PARTIAL_RANKINGS = "partial_rankings"
    APPLICABILITY = "applicability"
    AUTHORIZATION_FILTERED = "authorization_filtered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one component. Times are in milliseconds; ``version`` names the analysis or model behind it."""

    component: str
    status: OutcomeStatus
    reason_class: ReasonClass | None = None
    elapsed_ms: float = 0.0
    budget_remaining_ms: float = 0.0
    version: str = ""

    @property
    def word(self) -> str:
        """The outcome in one word or two, as traces keep it."""
        return f"{self.status}: {self.reason_class}" if self.reason_class else str(self.status)


class Deadline:
    """A point on the wall clock until which a search may work."""

    def __init__(self, *, milliseconds: float) -> None:
        """Start the clock."""
        self._end = time.monotonic() + milliseconds / 1000

    @property
    def remaining_ms(self) -> float:
        """Milliseconds that are left, never negative."""
        return max(0.0, (self._end - time.monotonic()) * 1000)

    @property
    def passed(self) -> bool:
        """Whether nothing is left."""
        return self.remaining_ms <= 0

    def earlier(self, *, milliseconds: float) -> Deadline:
        """Return a deadline so much before this one."""
        return Deadline(milliseconds=self.remaining_ms - milliseconds)

    def within(self, *, milliseconds: float) -> Deadline:
        """Return this deadline, or the one so far from now when that is sooner."""
        return Deadline(milliseconds=min(self.remaining_ms, milliseconds))
