"""Two answers to one question side by side: what moved, what came, what is missing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Change(StrEnum):
    """What became of an item: at the same place, at another one, only in the second answer, only in the first."""

    SAME = "same"
    MOVED = "moved"
    ADDED = "added"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Generic[Item]):
    """An item and its places in both answers, from 1; ``None`` where it is in one of them only."""

    item: Item
    before: int | None
    after: int | None

    @property
    def change(self) -> Change:
        """What became of it."""
        if self.before is None:
            return Change.ADDED
        if self.after is None:
            return Change.MISSING
        return Change.SAME if self.before == self.after else Change.MOVED


def compare(before: Sequence[Item], after: Sequence[Item]) -> list[Compared[Item]]:
    """Return every item once: in the order of the second answer, then those that are missing in their old order."""
    first = {item: place for place, item in enumerate(before, start=1)}
    second = {item: place for place, item in enumerate(after, start=1)}
    return [
        Compared(item=item, before=first.get(item), after=second.get(item))
        for item in dict.fromkeys([*second, *(item for item in first if item not in second)])
    ]
