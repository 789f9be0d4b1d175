"""Bringing a fact back to what a revision recorded, also where its place has been taken meanwhile."""

from __future__ import annotations

import uuid

from facts import conflict_sets, lifecycle
from facts.actors import Actor
from facts.models import Fact


def bring_back(
    fact: Fact, *, to_version: int, actor: Actor, action: str, reason: str = "", group: uuid.UUID
) -> tuple[Fact, bool]:
    """Restore a fact to a revision and tell whether it has its place again.

    Where another current fact holds the identity now, it comes back as a candidate in a conflict set with that one.
    The caller holds the subject's lock. Raises what :func:`facts.lifecycle.restore` raises, but ``IdentityTaken``.
    """
    how = {
        "account_id": fact.account_id,
        "to_version": to_version,
        "actor": actor,
        "action": action,
        "reason": reason,
        "group": group,
    }
    try:
        return lifecycle.restore(fact.id, **how), True
    except lifecycle.IdentityTaken:
        fact = lifecycle.restore(fact.id, as_candidate=True, **how)
    holder = conflict_sets.holder_of_identity(fact)
    if holder is not None and not conflict_sets.is_contested(fact):
        conflict_sets.oppose(fact, holder, reason="identity_taken", actor=actor, group=group)
        fact.refresh_from_db()
    return fact, False
