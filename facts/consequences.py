"""What an app above has to say when a fact changes, in the same transaction: how widely it may be seen, what follows.

The outbox tells of changes afterwards. These two are asked at once, because nobody may read a state in between.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

from facts.actors import Actor
from facts.models import Fact

#: Returns the level that a fact may have in the status that it is about to take.
Limit = Callable[[Fact], str]
#: ``follow(fact, before, actor, group)``: does what follows from a fact's new status.
Follow = Callable[[Fact, str, Actor, uuid.UUID], None]

_limits: dict[str, Limit] = {}
_follows: dict[str, Follow] = {}


def register(name: str, *, limit: Limit, follow: Follow) -> None:
    """Have ``limit`` asked before, and ``follow`` called after every change of a fact; a name registers once."""
    _limits[name] = limit
    _follows[name] = follow


def limit_level(fact: Fact) -> bool:
    """Narrow the level of a fact that is about to be written to what everybody allows; tell whether it changed."""
    asked = fact.level
    for limit in _limits.values():
        fact.level = limit(fact)
    return fact.level != asked


def follow(fact: Fact, *, before: str, actor: Actor, group: uuid.UUID) -> None:
    """Let everybody do what follows from a written change; ``before`` is the status that it had."""
    for each in _follows.values():
        each(fact, before, actor, group)
