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

#: ``audience(fact, actor, group)``: does what follows from a fact's new level or sensitivity.
Audience = Callable[[Fact, Actor, uuid.UUID], None]

_limits: dict[str, Limit] = {}
_follows: dict[str, Follow] = {}
_audiences: dict[str, Audience] = {}


def register(name: str, *, follow: Follow, limit: Limit | None = None, audience: Audience | None = None) -> None:
    """Have ``limit`` asked before, and ``follow`` called after every change of a fact; a name registers once.

    ``audience`` is called after changes of the level or the sensitivity.
    """
    _follows[name] = follow
    if limit is not None:
        _limits[name] = limit
    if audience is not None:
        _audiences[name] = audience


def limit_level(fact: Fact) -> bool:
    """Narrow the level of a fact that is about to be written to what everybody allows; tell whether it changed."""
    asked = fact.level
    for limit in _limits.values():
        fact.level = limit(fact)
    return fact.level != asked


def follow_audience(fact: Fact, *, actor: Actor, group: uuid.UUID) -> None:
    """Let everybody do what follows from a written change of who may see a fact."""
    for each in _audiences.values():
        each(fact, actor, group)


def follow(fact: Fact, *, before: str, actor: Actor, group: uuid.UUID) -> None:
    """Let everybody do what follows from a written change; ``before`` is the status that it had."""
    for each in _follows.values():
        each(fact, before, actor, group)
