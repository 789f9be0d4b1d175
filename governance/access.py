"""Who is asking, what they may do, and what they may see.

A :class:`Principal` is an authenticated caller: a person in an account, or an API key. Everything that reads asks here
for the :class:`~facts.audience.Reader` and the scopes of the call; everything that decides asks for authority.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from django.db.models import Q

from facts.actors import Actor, ActorKind
from facts.audience import Posture, Reader
from facts.errors import NotFound, Refused
from facts.models import Fact, Membership, Scope, Subject
from facts.tenancy import ROOT, ancestor_paths, get_subject, normalise_path
from facts.vocabulary import Sensitivity, SubjectKind
from governance.models import Effect, Grant, Role


class Right(StrEnum):
    """What a key may do by itself."""

    CAPTURE = "capture"
    READ = "read"
    READ_AS_SUBJECT = "read_as_subject"
    READ_FOR_OTHERS = "read_for_others"
    DIAGNOSTICS = "diagnostics"


class Delegation(StrEnum):
    """What a person may let a key do in their name. Consent and promotion are never delegated."""

    RESOLVE = "resolve"
    FORGET = "forget"
    OBSERVE = "observe"
    KEYS = "keys"


#: What ``create_key`` gives an app unless told otherwise.
APP_RIGHTS = (Right.CAPTURE, Right.READ, Right.READ_AS_SUBJECT)

#: Subjects that can speak and read.
PEER_KINDS = frozenset({SubjectKind.PERSON, SubjectKind.AGENT})

_RANK = {role: rank for rank, role in enumerate(Role.values)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """An authenticated caller.

    ``subject_id`` is the caller's own peer, if it has one; ``membership_id`` the person, or for a key the person in
    whose name its delegations act; ``scope_limit`` the path below which a key is confined; ``expires_at`` when a
    key ends.
    """

    account_id: uuid.UUID
    name: str
    is_person: bool
    membership_id: uuid.UUID | None = None
    subject_id: uuid.UUID | None = None
    maker_subject_id: uuid.UUID | None = None
    key_id: uuid.UUID | None = None
    rights: frozenset[str] = frozenset()
    delegated: frozenset[str] = frozenset()
    scope_limit: str | None = None
    expires_at: datetime | None = None
    requests_per_minute: int | None = None
    grants: tuple[tuple[str, str, str, bool, bool], ...] = field(default=())

    #: Django's and DRF's notion of a signed-in caller.
    is_authenticated = True

    @property
    def actor(self) -> Actor:
        """The author of what this caller does by itself."""
        if self.is_person:
            return Actor(
                kind=ActorKind.PERSON, name=self.name, membership_id=self.membership_id, subject_id=self.subject_id
            )
        return Actor(kind=ActorKind.KEY, name=self.name, key_id=self.key_id)

    @property
    def pk(self) -> uuid.UUID:
        """What throttles and logs tell callers apart by."""
        return self.key_id or self.membership_id or self.account_id


def grants_of(account_id: uuid.UUID, subject_id: uuid.UUID) -> tuple[tuple[str, str, str, bool, bool], ...]:
    """Return a subject's grants as (scope path, role, effect, propagates, restricted)."""
    rows = Grant.objects.filter(account_id=account_id, subject_id=subject_id).select_related("scope")
    return tuple(sorted((row.scope.path, row.role, row.effect, row.propagates, row.restricted) for row in rows))


def person(membership: Membership) -> Principal:
    """Return the principal of a signed-in person in the account of ``membership``."""
    return Principal(
        account_id=membership.account_id,
        name=membership.user.get_full_name() or membership.user.get_username(),
        is_person=True,
        membership_id=membership.id,
        subject_id=membership.subject_id,
        maker_subject_id=membership.subject_id,
        rights=frozenset({Right.CAPTURE, Right.READ, Right.DIAGNOSTICS}),
        grants=grants_of(membership.account_id, membership.subject_id),
    )


def role_at(principal: Principal, path: str) -> str | None:
    """Return the highest role at ``path`` that their grants leave to the person, or to the person a key stands for.

    Any applicable deny wins: it takes its role away and those above, which include it; those below stay.
    """
    above = {path, *ancestor_paths(path)}
    applicable = [
        (_RANK[role], effect)
        for scope_path, role, effect, propagates, _ in principal.grants
        if scope_path == path or (propagates and scope_path in above)
    ]
    highest = max((rank for rank, effect in applicable if effect == Effect.ALLOW), default=-1)
    ceiling = min((rank for rank, effect in applicable if effect == Effect.DENY), default=len(_RANK)) - 1
    rank = min(highest, ceiling)
    return Role.values[rank] if rank >= 0 else None


def has_role(principal: Principal, path: str, at_least: str) -> bool:
    """Tell whether the caller is a person with at least this role at ``path``. A key has no role of its own."""
    return principal.is_person and _reaches(principal, path, at_least)


def may_act(principal: Principal, delegation: str, *, path: str, at_least: str = Role.CURATOR) -> bool:
    """Tell whether the caller may decide at ``path``: a person by role, a key by delegation of one who has the role."""
    stands_for_person = principal.membership_id is not None and delegation in principal.delegated
    if not (principal.is_person or stands_for_person):
        return False
    return _reaches(principal, path, at_least) and within_limit(principal, path)


def _reaches(principal: Principal, path: str, at_least: str) -> bool:
    role = role_at(principal, path)
    return role is not None and _RANK[role] >= _RANK[at_least]


def require_right(principal: Principal, right: str) -> None:
    """Raise ``Refused`` (``missing_right``) unless the caller may do this kind of thing at all."""
    if right not in principal.rights:
        raise Refused(f"This credential lacks the right '{right}'.", code="missing_right")


def require_authority(principal: Principal, delegation: str, *, path: str, at_least: str = Role.CURATOR) -> Actor:
    """Return the actor of a decision, or raise.

    A person needs the role at ``path``. A key needs the delegation, and then acts as the person who made it, whose role
    counts; without it: ``human_required`` (403). A person without the role: ``forbidden_scope`` (403).
    """
    if not principal.is_person and (delegation not in principal.delegated or principal.membership_id is None):
        raise Refused("A person has to decide this.", code="human_required")
    if not may_act(principal, delegation, path=path, at_least=at_least):
        raise Refused("You may not decide here.", code="forbidden_scope", field="scope")
    if principal.is_person:
        return principal.actor
    return Actor(
        kind=ActorKind.PERSON,
        name=principal.name,
        membership_id=principal.membership_id,
        subject_id=principal.maker_subject_id,
        key_id=principal.key_id,
    )


def within_limit(principal: Principal, path: str) -> bool:
    """Tell whether ``path`` lies in the subtree that the key is confined to (people are not confined)."""
    limit = principal.scope_limit
    return limit is None or limit == ROOT or path == limit or path.startswith(limit + "/")


def check_limit(principal: Principal, path: str) -> None:
    """Raise ``Refused`` (``forbidden_scope``) when the call names a scope outside the key's limit."""
    if not within_limit(principal, path):
        raise Refused("This credential is confined to another scope.", code="forbidden_scope", field="scope")


def _granted(principal: Principal, path: str) -> bool:
    if not within_limit(principal, path):
        return False
    return not principal.is_person or role_at(principal, path) is not None


def readable_scopes(principal: Principal, path: str, *, exact: bool) -> list[Scope]:
    """Return the scopes a read at ``path`` covers: it and (unless ``exact``) its ancestors, as far as granted.

    An unknown scope reads as nothing stored: an empty list. Raises ``Refused`` outside the key's limit.
    """
    path = normalise_path(path)
    check_limit(principal, path)
    wanted = [path] if exact else [path, *ancestor_paths(path)]
    scopes = Scope.objects.filter(account_id=principal.account_id, path__in=wanted)
    return [scope for scope in scopes.order_by("-path") if _granted(principal, scope.path)]


def all_readable_scopes(principal: Principal) -> list[Scope]:
    """Return every scope of the account that the caller may read at all, for listings."""
    scopes = Scope.objects.filter(account_id=principal.account_id).order_by("path")
    return [scope for scope in scopes if _granted(principal, scope.path)]


def resolve_reader(principal: Principal, *, peer_key: str = "", subject: Subject | None = None) -> Reader:
    """Return as whom the call reads.

    A named peer first (needs ``read_for_others``; unknown: ``peer_not_found``), else for a key that reads as its
    subject that subject, else the caller's own peer, else nobody: public facts only.
    """
    if peer_key:
        return Reader(posture=Posture.PEER, subject_id=_named_peer(principal, peer_key).id)
    if Right.READ_AS_SUBJECT in principal.rights and subject is not None and subject.kind in PEER_KINDS:
        return Reader(posture=Posture.PEER, subject_id=subject.id)
    if principal.subject_id is not None:
        # A key's grants are its maker's, and say nothing about what its peer may read.
        restricted = principal.is_person and restricted_granted(principal)
        return Reader(posture=Posture.PEER, subject_id=principal.subject_id, restricted=restricted)
    return Reader(posture=Posture.PUBLIC_ONLY)


def _named_peer(principal: Principal, peer_key: str) -> Subject:
    if Right.READ_FOR_OTHERS not in principal.rights:
        raise Refused("This credential may not read for others.", code="peer_not_allowed", field="peer_key")
    peer = get_subject(principal.account_id, key=peer_key)
    if peer is None or peer.kind not in PEER_KINDS:
        raise NotFound("No peer goes by that key.", code="peer_not_found", field="peer_key")
    return peer


def restricted_granted(principal: Principal) -> bool:
    """Tell whether restricted facts about others are granted to a person: only by a grant at the root that says so;
    scopes narrow later."""
    granted = any(
        restricted and effect == Effect.ALLOW and path == ROOT for path, _, effect, _, restricted in principal.grants
    )
    return granted and role_at(principal, ROOT) is not None


def read_by_curators() -> Q:
    """Return what whoever decides in a scope reads there by that role alone, of facts and of events: everything that
    is not restricted."""
    return ~Q(sensitivity=Sensitivity.RESTRICTED)


def is_read_by_curators(record: Fact) -> bool:
    """Tell of one record what :func:`read_by_curators` says of many."""
    return record.sensitivity != Sensitivity.RESTRICTED


def curated_scopes(principal: Principal, scopes: Iterable[Scope]) -> list[Scope]:
    """Return those of ``scopes`` where the caller is at least a curator."""
    return [scope for scope in scopes if has_role(principal, scope.path, Role.CURATOR)]


def curator_paths(principal: Principal, paths: Iterable[str]) -> list[str]:
    """Return those of ``paths`` where the caller is at least a curator."""
    return [path for path in paths if has_role(principal, path, Role.CURATOR)]
