"""What people do with actions: done, dismiss, reopen, assign. Each locks the row and is audited.

Runs inside the account. An action is decided about by whoever may decide in its scope; its assignee may also say that
it is done, dismiss it, and reopen it.
"""

from __future__ import annotations

import uuid

from facts.clock import now
from facts.errors import Conflicting, NotFound, Refused
from facts.models import Subject
from facts.tenancy import get_subject
from facts.vocabulary import SubjectKind
from governance.access import Principal, has_role
from governance.models import Role
from ingest.actions import firing, selectors
from ingest.deliveries import outbox
from ingest.models import Action, ActionState


def finish(principal: Principal, action_id: uuid.UUID, *, expected_version: int | None = None) -> Action:
    """Say that it is done. Raises as :func:`decidable`, and ``Conflicting`` (``action_not_open``)."""
    return _close(principal, action_id, to=ActionState.DONE, expected_version=expected_version)


def dismiss(principal: Principal, action_id: uuid.UUID, *, expected_version: int | None = None) -> Action:
    """Say that nothing is to be done. Raises as :func:`finish`."""
    return _close(principal, action_id, to=ActionState.DISMISSED, expected_version=expected_version)


def reopen(principal: Principal, action_id: uuid.UUID, *, expected_version: int | None = None) -> Action:
    """Open what was done or dismissed again; nobody is told a second time.

    Raises as :func:`decidable`, and ``Conflicting`` (``action_not_closed``), also for one that was withdrawn: that
    comes back with its fact.
    """
    action = decidable(principal, action_id, expected_version=expected_version)
    if action.state not in {ActionState.DONE, ActionState.DISMISSED} or action.state_before:
        raise Conflicting("Only what a person has closed is opened again.", code="action_not_closed")
    return _decide(principal, action, to=ActionState.OPEN, name="action.reopened")


def assign(principal: Principal, action_id: uuid.UUID, *, person: str, expected_version: int | None = None) -> Action:
    """Give it to a person, by key; "" takes it away from whoever has it.

    For those who decide in its scope. Raises as :func:`decidable`, ``NotFound`` (``peer_not_found``) and
    ``Conflicting`` (``action_not_open``).
    """
    action = decidable(principal, action_id, expected_version=expected_version, by_role=True)
    _require_open(action)
    assignee: Subject | None = None
    if person:
        assignee = get_subject(principal.account_id, key=person, kind=SubjectKind.PERSON)
        if assignee is None:
            raise NotFound("No person goes by that key.", code="peer_not_found", field="person")
    action.assignee = assignee
    action.version += 1
    action.save(update_fields=["assignee", "version"])
    firing.record(action, action_name="action.assigned", actor=principal.actor)
    return action


def may_decide(principal: Principal, action: Action, *, by_role: bool = False) -> bool:
    """Tell whether the caller may decide about an action that they see."""
    if not principal.is_person:
        return False
    return has_role(principal, action.scope.path, Role.CURATOR) or (
        not by_role and principal.subject_id is not None and action.assignee_id == principal.subject_id
    )


def decidable(
    principal: Principal, action_id: uuid.UUID, *, expected_version: int | None = None, by_role: bool = False
) -> Action:
    """Return the action, locked, that the caller may decide about.

    Raises ``Refused`` (``human_required``, ``forbidden``), ``NotFound`` (``action_not_found``) for what they may not
    see, and ``Conflicting`` (``stale_version``).
    """
    if not principal.is_person:
        raise Refused("A person has to decide this.", code="human_required")
    action = selectors.visible(principal).select_for_update(of=("self",)).filter(pk=action_id).first()
    if action is None:
        raise NotFound("There is no such action.", code="action_not_found")
    if not may_decide(principal, action, by_role=by_role):
        raise Refused("You may not decide about this.", code="forbidden")
    if expected_version is not None and action.version != expected_version:
        raise Conflicting("Somebody else has changed it meanwhile.", code="stale_version", field="version")
    return action


def _close(principal: Principal, action_id: uuid.UUID, *, to: str, expected_version: int | None) -> Action:
    action = decidable(principal, action_id, expected_version=expected_version)
    _require_open(action)
    outbox.withdraw(action.account_id, [action.id])
    return _decide(principal, action, to=to, name=f"action.{to}")


def _require_open(action: Action) -> None:
    if action.state != ActionState.OPEN:
        raise Conflicting("It is not open.", code="action_not_open")


def _decide(principal: Principal, action: Action, *, to: str, name: str) -> Action:
    action.state, action.decided_at, action.decided_by_id = to, now(), principal.membership_id
    action.reason = ""
    action.version += 1
    action.save(update_fields=["state", "decided_at", "decided_by", "reason", "version"])
    firing.record(action, action_name=name, actor=principal.actor)
    return action
