"""Filling a budget with whole items, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Budget:
    """What may still be served: in tokens or in characters, never in both.

    ``limit`` is positive; ``used`` never passes it.
    """

    limit: int
    unit: str = "tokens"
    used: int = 0

    @property
    def left(self) -> int:
        """What is not used yet."""
        return self.limit - self.used

    def take(self, cost: int) -> bool:
        """Use ``cost`` if it is left; return whether it was."""
        if cost > self.left:
            return False
        self.used += cost
        return True


@dataclass(frozen=True, slots=True)
class Packed:
    """Which positions of the offered list were taken and which did not fit, each in the offered order."""

    taken: list[int] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)


def pack(costs: Sequence[int], *, budget: Budget, share: float = 1.0, at_most: int | None = None) -> Packed:
    """Take items in the order given; one that does not fit is skipped and smaller ones may follow.

    ``share`` is the part of the whole budget these items may use together, ``at_most`` their greatest number:
    once it is reached the rest is skipped.
    """
    packed = Packed()
    allowance = int(budget.limit * share)
    spent = 0
    for position, cost in enumerate(costs):
        full = at_most is not None and len(packed.taken) >= at_most
        if not full and spent + cost <= allowance and budget.take(cost):
            spent += cost
            packed.taken.append(position)
        else:
            packed.skipped.append(position)
    return packed
