"""Who could read what is placed for everybody in a scope, and who looks after it there.

Shown to whoever decides about placing it there, and to whom it is about.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from facts.audience import Posture, may_see
from facts.clock import now
from facts.models import Fact, Membership
from facts.vocabulary import SubjectKind
from governance.access import Principal, Right, has_role, restricted_granted, role_at, within_limit
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
    people, curators = [], []
    for one in _people(account_id):
        if role_at(one.principal, path) is not None:
            people.append(one.name)
        if has_role(one.principal, path, Role.CURATOR):
            curators.append(one.name)
    return Readers(
        people=tuple(people),
        keys=_keys_at(account_id, path),
        curators=tuple(curators),
    )


@dataclass(frozen=True, slots=True)
class _Person:
    name: str
    subject_id: uuid.UUID
    principal: Principal
    restricted: bool


def _people(account_id: uuid.UUID) -> list[_Person]:
    """Return the people who read anything, by their names; two queries."""
    granted: dict[uuid.UUID, list[tuple[str, str, str, bool, bool]]] = defaultdict(list)
    for grant in Grant.objects.filter(account_id=account_id).select_related("scope"):
        row = (grant.scope.path, grant.role, grant.effect, grant.propagates, grant.restricted)
        granted[grant.subject_id].append(row)
    members = Membership.objects.filter(account_id=account_id, subject_id__in=granted, user__is_active=True)
    found = []
    for member in members.select_related("subject"):
        grants = tuple(granted[member.subject_id])
        principal = Principal(account_id=account_id, name="", is_person=True, grants=grants)
        restricted = restricted_granted(principal)
        found.append(_Person(member.subject.display_name, member.subject_id, principal, restricted))
    return sorted(found, key=lambda one: one.name.casefold())


def _keys_at(account_id: uuid.UUID, path: str) -> int:
    limits = _usable_keys(account_id).values_list("scope_limit__path", flat=True)
    keys = (Principal(account_id=account_id, name="", is_person=False, scope_limit=limit) for limit in limits)
    return sum(within_limit(key, path) for key in keys)


def _usable_keys(account_id: uuid.UUID) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=now()),
        account_id=account_id,
        revoked_at__isnull=True,
        rights__contains=[Right.READ],
    )


@dataclass(frozen=True, slots=True)
class Audience:
    """Who would get one fact in answers: names of people, in order, and the number of keys that could be given it.

    ``subject_only``: nobody but whom it is about, and keys that read as them.
    """

    people: tuple[str, ...]
    keys: int
    subject_only: bool


class ReaderTable:
    """All who read in an account, loaded once in three queries, to be asked about any number of facts."""

    def __init__(self, account_id: uuid.UUID) -> None:
        """Load the people with their grants, and the keys that may read."""
        self._people = _people(account_id)
        self._keys = [
            Principal(
                account_id=account_id,
                name="",
                is_person=False,
                subject_id=peer_id,
                rights=frozenset(rights),
                scope_limit=limit,
            )
            for limit, rights, peer_id in _usable_keys(account_id).values_list("scope_limit__path", "rights", "peer_id")
        ]

    def of(self, fact: Fact, *, path: str = "", level: str = "") -> Audience:
        """Return who would get ``fact`` as a current one; as a copy at ``path`` with ``level``, where these are given.

        ``fact`` comes with its scope and subject loaded. No query.
        """
        path, level = path or fact.scope.path, level or fact.level
        rule = {
            "level": level,
            "sensitivity": fact.sensitivity,
            "about_scope": fact.subject.kind == SubjectKind.SCOPE,
            "provisional": False,
        }
        people = [
            one
            for one in self._people
            if role_at(one.principal, path) is not None
            and may_see(
                posture=Posture.PEER,
                own=one.subject_id == fact.subject_id,
                restricted_granted=one.restricted,
                **rule,
            )
        ]
        keys = sum(within_limit(key, path) and _key_sees(key, fact.subject_id, rule) for key in self._keys)
        others = any(one.subject_id != fact.subject_id for one in people)
        stranger = may_see(posture=Posture.PEER, own=False, restricted_granted=False, **rule)
        return Audience(tuple(one.name for one in people), keys, subject_only=not others and not stranger)


def _key_sees(key: Principal, subject_id: uuid.UUID, rule: dict[str, Any]) -> bool:
    """Tell whether any call that the key may make would be given the fact."""
    as_subject = bool(key.rights & {Right.READ_AS_SUBJECT, Right.READ_FOR_OTHERS}) or key.subject_id == subject_id
    posture = Posture.PEER if as_subject or key.subject_id is not None else Posture.PUBLIC_ONLY
    return may_see(posture=posture, own=as_subject, restricted_granted=False, **rule)
