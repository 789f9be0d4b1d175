"""Whether what a person was asked about is still what is there."""

from __future__ import annotations

from facts import lifecycle
from facts.models import Fact, FactRevision

#: What repetition changes about a fact: it is still what was reviewed.
CHANGED_BY_REPETITION = frozenset({"corroboration", "last_reinforced_at"})


def is_unchanged(fact: Fact, *, since: int | None) -> bool:
    """Tell whether a fact says, and may be seen as, what it did at version ``since``; mere repetition is no change."""
    return says_the_same(fact, FactRevision.objects.get(account_id=fact.account_id, fact=fact, version=since))


def says_the_same(fact: Fact, reviewed: FactRevision) -> bool:
    """Tell the same of a revision that is at hand; no query."""
    names = ("status", *(set(lifecycle.MUTABLE) - CHANGED_BY_REPETITION))
    return all(getattr(fact, name) == getattr(reviewed, name) for name in names)
