"""The people who decide at a scope: those to whom something that waits there can be given."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection

from facts.errors import NotFound
from facts.models import Membership
from governance.access import Principal, has_role
from governance.models import Grant, Role


def deciders_at(account_id: uuid.UUID, *paths: str) -> list[Membership]:
    """Return those who are curators of all these scopes (of none: nobody), with user and subject, by user name; two
    queries."""
    granted: dict[uuid.UUID, list[tuple[str, str, str, bool, bool]]] = defaultdict(list)
    for grant in Grant.objects.filter(account_id=account_id).select_related("scope"):
        row = (grant.scope.path, grant.role, grant.effect, grant.propagates, grant.restricted)
        granted[grant.subject_id].append(row)
    members = Membership.objects.filter(account_id=account_id, subject_id__in=granted)
    return [
        member
        for member in members.select_related("user", "subject").order_by("user__username")
        if _decides(_with_grants(account_id, granted[member.subject_id]), paths)
    ]


def require_decider(account_id: uuid.UUID, path: str, membership_id: uuid.UUID) -> None:
    """Raise ``NotFound`` (``assignee_not_found``) unless this person decides at the scope."""
    if all(member.id != membership_id for member in deciders_at(account_id, path)):
        raise NotFound("No such person decides here.", code="assignee_not_found", field="assignee")


def _decides(principal: Principal, paths: Collection[str]) -> bool:
    return bool(paths) and all(has_role(principal, path, Role.CURATOR) for path in paths)


def _with_grants(account_id: uuid.UUID, grants: list[tuple[str, str, str, bool, bool]]) -> Principal:
    return Principal(account_id=account_id, name="", is_person=True, grants=tuple(grants))
