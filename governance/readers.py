"""Who could read what is placed for everybody in a scope, and who looks after it there.

Shown to whoever decides about placing it there, and to whom it is about.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Q

from facts.clock import now
from facts.models import Membership
from governance.access import Principal, Right, has_role, role_at, within_limit
from governance.models import ApiKey, Grant, Role


@dataclass(frozen=True, slots=True)
class Readers:
    """Names of the people with a role at the scope, in order, and the number of keys that may read there.

    ``curators``: those of the people who decide there, and so see more than readers do.
    """

    people: tuple[str, ...]
    keys: int
    curators: tuple[str, ...] = ()


def readers_at(account_id: uuid.UUID, path: str) -> Readers:
    """Return who could read facts of the scope at ``path`` that are for all its readers; three queries."""
    granted: dict[uuid.UUID, list[tuple[str, str, str, bool, bool]]] = defaultdict(list)
    for grant in Grant.objects.filter(account_id=account_id).select_related("scope"):
        row = (grant.scope.path, grant.role, grant.effect, grant.propagates, grant.restricted)
        granted[grant.subject_id].append(row)
    members = Membership.objects.filter(account_id=account_id, subject_id__in=granted, user__is_active=True)
    people, curators = [], []
    for member in members.select_related("subject"):
        principal = _with_grants(account_id, granted[member.subject_id])
        if role_at(principal, path) is not None:
            people.append(member.subject.display_name)
        if has_role(principal, path, Role.CURATOR):
            curators.append(member.subject.display_name)
    return Readers(
        people=tuple(sorted(people, key=str.casefold)),
        keys=_keys_at(account_id, path),
        curators=tuple(sorted(curators, key=str.casefold)),
    )


def _with_grants(account_id: uuid.UUID, grants: list[tuple[str, str, str, bool, bool]]) -> Principal:
    return Principal(account_id=account_id, name="", is_person=True, grants=tuple(grants))


def _keys_at(account_id: uuid.UUID, path: str) -> int:
    usable = ApiKey.objects.filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=now()),
        account_id=account_id,
        revoked_at__isnull=True,
        rights__contains=[Right.READ],
    )
    limits = usable.values_list("scope_limit__path", flat=True)
    keys = (Principal(account_id=account_id, name="", is_person=False, scope_limit=limit) for limit in limits)
    return sum(within_limit(key, path) for key in keys)
