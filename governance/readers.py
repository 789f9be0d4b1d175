"""Who could read what is placed for everybody in a scope: shown to whoever decides about placing it there."""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Q

from facts.clock import now
from facts.models import Membership
from governance.access import Principal, Right, role_at, within_limit
from governance.models import ApiKey, Grant


@dataclass(frozen=True, slots=True)
class Readers:
    """Names of the people with a role at the scope, in order, and the number of keys that may read there."""

    people: tuple[str, ...]
    keys: int


def readers_at(account_id: uuid.UUID, path: str) -> Readers:
    """Return who could read facts of the scope at ``path`` that are for all its readers; three queries."""
    granted: dict[uuid.UUID, list[tuple[str, str, str, bool, bool]]] = defaultdict(list)
    for grant in Grant.objects.filter(account_id=account_id).select_related("scope"):
        row = (grant.scope.path, grant.role, grant.effect, grant.propagates, grant.restricted)
        granted[grant.subject_id].append(row)
    members = Membership.objects.filter(account_id=account_id, subject_id__in=granted, user__is_active=True)
    people = [
        member.subject.display_name
        for member in members.select_related("subject")
        if role_at(_with_grants(account_id, granted[member.subject_id]), path) is not None
    ]
    return Readers(people=tuple(sorted(people, key=str.casefold)), keys=_keys_at(account_id, path))


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
