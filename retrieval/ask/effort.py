"""How hard an ask may try: presets of bounds, every one of them reserved before it is used.

Iterations, tool calls and evidence tokens are those of the design. The others are chosen here so that they bind only
when something goes wrong: an oversized question, a flood of results, a slow store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The bounds of one preset.

    ``tool_calls`` and ``provider_calls`` (calls that embed a query) count the question's own search. ``items`` bounds
    what tools may add, ``seconds`` the time for tools, ``query_tokens`` the queries of all calls together,
    ``evidence_tokens`` what is offered. ``kept`` is the part of the results of the question's own search that nothing
    can displace.
    """

    name: str
    iterations: int
    tool_calls: int
    provider_calls: int
    items: int
    seconds: float
    query_tokens: int
    evidence_tokens: int
    kept: Fraction

    def head(self, limit: int) -> int:
        """Return how many of the first ``limit`` results stay; below all of them, at least one place is left over."""
        return limit if self.kept == 1 else min(int(limit * self.kept), limit - 1)


EFFORTS: Mapping[str, Effort] = MappingProxyType(
    {
        effort.name: effort
        for effort in (
            Effort(
                name="low",
                iterations=1,
                tool_calls=3,
                provider_calls=2,
                items=16,
                seconds=3.0,
                query_tokens=4_000,
                evidence_tokens=4_000,
                kept=Fraction(1),
            ),
            Effort(
                name="medium",
                iterations=2,
                tool_calls=6,
                provider_calls=3,
                items=32,
                seconds=6.0,
                query_tokens=8_000,
                evidence_tokens=8_000,
                kept=Fraction(2, 3),
            ),
            Effort(
                name="high",
                iterations=3,
                tool_calls=9,
                provider_calls=5,
                items=64,
                seconds=10.0,
                query_tokens=16_000,
                evidence_tokens=16_000,
                kept=Fraction(1, 2),
            ),
        )
    }
)

#: Evidence tokens of an ask without a preset: as many as the hardest one may use.
FIXED_EVIDENCE_TOKENS = 16_000
