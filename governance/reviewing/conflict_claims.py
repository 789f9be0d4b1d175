"""In whose hands a conflict set is: said to everybody who decides there, and a lock for nobody."""

from __future__ import annotations

import uuid

from facts import audit
from facts.actors import Actor
from facts.errors import Conflicting
from facts.ids import new_id
from facts.models import ConflictSet
from facts.tenancy import account_transaction
from facts.vocabulary import ConflictStatus
from governance.access import Principal
from governance.conflicts import deciding_actor
from governance.reviewing.deciders import require_decider


def claim(principal: Principal, conflict_id: uuid.UUID) -> ConflictSet:
    """Take an open conflict set in hand. Raises ``Conflicting`` (``conflict_claimed``) when somebody else has it, and
    what :func:`assign` raises."""
    with account_transaction(principal.account_id):
        conflict, actor = _locked(principal, conflict_id)
        if conflict.assignee_id not in {None, actor.membership_id}:
            raise Conflicting("Somebody else has taken this conflict.", code="conflict_claimed", field="assignee")
        return _write(conflict, actor.membership_id, actor=actor)


def assign(principal: Principal, conflict_id: uuid.UUID, *, to: uuid.UUID | None) -> ConflictSet:
    """Give an open conflict set to the person with this membership, also one that somebody has; ``None`` lets go.

    Raises ``NotFound`` (``conflict_not_found``, ``assignee_not_found`` for who may not decide it), ``Conflicting``
    (``conflict_already_resolved``) and ``Refused`` (``human_required``, ``forbidden_scope``, ``own_request``).
    """
    with account_transaction(principal.account_id):
        conflict, actor = _locked(principal, conflict_id)
        if to is not None:
            require_decider(conflict.account_id, conflict.scope.path, to)
        return _write(conflict, to, actor=actor)


def _locked(principal: Principal, conflict_id: uuid.UUID) -> tuple[ConflictSet, Actor]:
    actor = deciding_actor(principal, conflict_id)
    rows = ConflictSet.objects.select_for_update(of=("self",)).select_related("scope")
    conflict = rows.get(account_id=principal.account_id, pk=conflict_id)
    if conflict.status != ConflictStatus.OPEN:
        raise Conflicting(f"The conflict is {conflict.status} already.", code="conflict_already_resolved")
    return conflict, actor


def _write(conflict: ConflictSet, assignee_id: uuid.UUID | None, *, actor: Actor) -> ConflictSet:
    if conflict.assignee_id == assignee_id:
        return conflict
    before, conflict.assignee_id = conflict.assignee_id, assignee_id
    conflict.save(update_fields=["assignee"])
    audit.record(
        conflict.account_id,
        action="conflict.assigned" if assignee_id else "conflict.released",
        object_type="conflict_set",
        object_id=conflict.id,
        actor=actor,
        group=new_id(),
        metadata={"from": str(before) if before else None, "to": str(assignee_id) if assignee_id else None},
    )
    return conflict
