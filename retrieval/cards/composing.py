"""Who words the lines of a card: the port behind which a model stands, or nobody.

A deployment registers what it composed of its settings. Without one, cards quote facts.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A fact as a model is shown it, under its number: one clean line of text with the days on which it holds.

    ``text`` is empty for a fact that it was shown before: only a previous line says it.
    """

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """A line that the card has, and the numbers of the facts it rests on."""

    section: str
    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be worded: a card of ``kind`` called ``title``, from its previous lines and from facts.

    ``sections`` are the headings that lines may stand under, none for cards without; ``characters`` all lines together.
    """

    kind: str
    title: str
    sections: tuple[str, ...]
    previous: tuple[Previous, ...]
    facts: tuple[Offered, ...]
    characters: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A line that came back: where it is to stand, what it says, and the numbers that it cites as they were given."""

    section: str
    text: str
    numbers: tuple[int, ...]


class ComposeFailed(Exception):
    """No lines came: why, in a word of the usage ledger; never content.

    ``everywhere``: the next card would fare no better now.
    """

    def __init__(self, error_class: str, *, everywhere: bool = False) -> None:
        super().__init__(error_class)
        self.error_class = error_class
        self.everywhere = everywhere


class Composer(Protocol):
    """Words cards. Raises :class:`ComposeFailed` and nothing else."""

    @property
    def identity(self) -> str:
        """What words the lines, with its model and its prompt: at most 120 characters."""
        ...

    def compose(self, *, account_id: uuid.UUID, task: Task) -> Sequence[Proposed]:
        """Return the lines. Called outside of any transaction; holds no connection while it waits."""
        ...


_find: Callable[[], Composer | None] | None = None


def register(find: Callable[[], Composer | None] | None) -> None:
    """Make ``find`` what is asked for the composer at every card; it returns ``None`` where none is configured."""
    global _find
    _find = find


def configured() -> Composer | None:
    """Return who words cards in this deployment, or ``None``."""
    return _find() if _find is not None else None
