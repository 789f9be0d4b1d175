"""API keys: made by people or operators, shown once, stored as a digest, checked on every machine call."""

from __future__ import annotations

import hashlib
import secrets
import time
import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from facts import audit
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.ids import new_id
from facts.models import Membership, Scope, Subject
from facts.tenancy import ROOT, account_transaction
from governance.access import Delegation, Principal, Right, grants_of
from governance.models import ApiKey

PREFIX = "mem_"
#: Revocation is at most this late in each process; saves a look-up per call on the hot path.
CACHE_SECONDS = 5.0
#: How long a rotated key goes on working beside its successor, unless told otherwise, and at most.
OVERLAP, LONGEST_OVERLAP = timedelta(days=1), timedelta(days=30)
#: ``last_used_at`` is written at most this often per key.
LAST_USED_EVERY = timedelta(minutes=5)
_CACHE_LIMIT = 10_000

_Bound = TypeVar("_Bound", int, datetime)

_cache: dict[str, tuple[float, Principal]] = {}


def create_key(
    *,
    account_id: uuid.UUID,
    label: str,
    rights: Iterable[str],
    actor: Actor,
    delegated: Iterable[str] = (),
    maker: Membership | None = None,
    peer: Subject | None = None,
    scope_limit: Scope | None = None,
    expires_at: datetime | None = None,
    requests_per_minute: int | None = None,
) -> tuple[ApiKey, str]:
    """Make a key and return it with its raw text, which is not kept.

    Raises as :func:`check_grantable`, and ``DomainError`` (``maker_required``) when something is delegated that nobody
    stands behind.
    """
    wanted, handed = check_grantable(label=label, rights=rights, delegated=delegated)
    if handed and maker is None:
        raise DomainError("A delegation needs the person who makes it.", code="maker_required", field="delegated")
    raw = PREFIX + secrets.token_urlsafe(32)
    with account_transaction(account_id):
        key = ApiKey.objects.create(
            account_id=account_id,
            label=label.strip()[:128],
            prefix=raw[: len(PREFIX) + 6],
            digest=digest(raw),
            rights=wanted,
            delegated=handed,
            maker=maker,
            peer=peer,
            scope_limit=scope_limit,
            expires_at=expires_at,
            requests_per_minute=requests_per_minute,
        )
        audit.record(
            account_id,
            action="key.created",
            object_type="api_key",
            object_id=key.id,
            actor=actor,
            group=new_id(),
            metadata={"rights": wanted, "delegated": handed},
        )
    return key, raw


def check_grantable(*, label: str, rights: Iterable[str], delegated: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return rights and delegations as a key keeps them.

    Raises ``DomainError`` (``unknown_right``, ``unknown_delegation``, ``label_required``).
    """
    wanted, handed = sorted(set(rights)), sorted(set(delegated))
    if unknown := set(wanted) - set(Right):
        raise DomainError(f"No such right: {', '.join(sorted(unknown))}.", code="unknown_right", field="rights")
    if unknown := set(handed) - set(Delegation):
        raise DomainError(
            f"No such delegation: {', '.join(sorted(unknown))}.", code="unknown_delegation", field="delegated"
        )
    if not label.strip():
        raise DomainError("A key needs a label.", code="label_required", field="label")
    return wanted, handed


def revoke_key(account_id: uuid.UUID, key_id: uuid.UUID, *, actor: Actor) -> ApiKey:
    """Revoke a key for good; raises ``NotFound`` (``key_not_found``). Revoking twice changes nothing."""
    with account_transaction(account_id):
        key = ApiKey.objects.select_for_update().filter(account_id=account_id, pk=key_id).first()
        if key is None:
            raise NotFound("There is no such key.", code="key_not_found")
        if key.revoked_at is None:
            key.revoked_at = now()
            key.save(update_fields=["revoked_at"])
            audit.record(
                account_id,
                action="key.revoked",
                object_type="api_key",
                object_id=key.id,
                actor=actor,
                group=new_id(),
            )
    _cache.pop(key.digest, None)
    return key


def rotate_key(
    principal: Principal, key_id: uuid.UUID, *, actor: Actor, overlap: timedelta = OVERLAP
) -> tuple[ApiKey, str]:
    """Make a key's successor, equal but for its secret, and let the old one end after ``overlap``, or before if it
    ends before; returns the successor with its raw text, which is not kept.

    A key that decides in somebody's name is renewed by that person only: nobody else gets hold of their name. Raises
    ``NotFound`` (``key_not_found``), ``Conflicting`` (``key_ended``), ``Refused`` (``forbidden_right``) and
    ``DomainError`` (``invalid_overlap``).
    """
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise DomainError("An overlap is from nothing to 30 days.", code="invalid_overlap", field="overlap_seconds")
    with account_transaction(principal.account_id):
        old = keys_within(principal).select_for_update(of=("self",)).filter(pk=key_id).first()
        if old is None:
            raise NotFound("There is no such key.", code="key_not_found")
        at = now()
        if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= at):
            raise Conflicting("A key that has ended gets no successor.", code="key_ended")
        check_may_hand_out(principal, old.rights, old.delegated, peer=old.peer)
        if old.delegated and old.maker_id != principal.membership_id:
            raise Refused("Whoever it decides for has to renew it.", code="forbidden_right", field="key_id")
        successor, raw = create_key(
            account_id=principal.account_id,
            label=old.label,
            rights=old.rights,
            delegated=old.delegated,
            maker=old.maker,
            peer=old.peer,
            scope_limit=old.scope_limit,
            expires_at=capped(old.expires_at, principal.expires_at),
            requests_per_minute=capped(old.requests_per_minute, principal.requests_per_minute),
            actor=actor,
        )
        old.expires_at = capped(old.expires_at, at + overlap)
        old.save(update_fields=["expires_at"])
        audit.record(
            principal.account_id,
            action="key.rotated",
            object_type="api_key",
            object_id=old.id,
            actor=actor,
            group=new_id(),
            metadata={"successor": str(successor.id), "ends_at": old.expires_at.isoformat()},
        )
    _cache.pop(old.digest, None)
    return successor, raw


def digest(raw: str) -> str:
    """Return what is stored of a key: the SHA-256 of its text (keys are random, so no salt is needed)."""
    return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()


def authenticate(raw: str) -> Principal | None:
    """Return the principal of a key, or ``None`` for anything unknown, expired or revoked: one answer for all."""
    if not raw.startswith(PREFIX) or len(raw) > 128:
        return None
    key_digest = digest(raw)
    cached = _cache.get(key_digest)
    if cached is not None and cached[0] > time.monotonic() and not _is_over(cached[1]):
        return cached[1]
    principal = _load(key_digest)
    if principal is None:
        _cache.pop(key_digest, None)
        return None
    if len(_cache) >= _CACHE_LIMIT:
        _cache.clear()
    _cache[key_digest] = (time.monotonic() + CACHE_SECONDS, principal)
    return principal


def _is_over(principal: Principal) -> bool:
    return principal.expires_at is not None and principal.expires_at <= now()


def forget_cached() -> None:
    """Drop this process's remembered keys, so that the next call looks them up."""
    _cache.clear()


def _load(key_digest: str) -> Principal | None:
    at = now()
    with transaction.atomic():
        # The account is not known yet: the look-up policy lets exactly this row be read.
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('app.key_digest', %s, true)", [key_digest])
        account_id = (
            ApiKey.objects.filter(digest=key_digest, revoked_at__isnull=True)
            .filter(Q(expires_at__isnull=True) | Q(expires_at__gt=at))
            .values_list("account_id", flat=True)
            .first()
        )
        if account_id is None:
            return None
        with account_transaction(account_id):
            key = ApiKey.objects.select_related("scope_limit", "maker__user").get(digest=key_digest)
            if key.last_used_at is None or at - key.last_used_at > LAST_USED_EVERY:
                ApiKey.objects.filter(account_id=account_id, pk=key.pk).update(last_used_at=at)
            # Nobody stands behind the delegations of a key whose maker may not sign in any more.
            maker = key.maker if key.maker and key.maker.user.is_active else None
            maker_subject_id = maker.subject_id if maker else None
            return Principal(
                account_id=account_id,
                name=key.label,
                is_person=False,
                membership_id=maker.id if maker else None,
                subject_id=key.peer_id,
                maker_subject_id=maker_subject_id,
                key_id=key.id,
                rights=frozenset(key.rights),
                delegated=frozenset(key.delegated) if maker else frozenset(),
                scope_limit=key.scope_limit.path if key.scope_limit else None,
                expires_at=key.expires_at,
                requests_per_minute=key.requests_per_minute,
                grants=grants_of(account_id, maker_subject_id) if maker_subject_id else (),
            )


def keys_within(principal: Principal) -> QuerySet[ApiKey]:
    """Return the account's keys that the caller's own limit covers; nothing in them reveals a key."""
    keys = ApiKey.objects.filter(account_id=principal.account_id).select_related("scope_limit", "peer")
    limit = principal.scope_limit
    if limit is None or limit == ROOT:
        return keys
    return keys.filter(Q(scope_limit__path=limit) | Q(scope_limit__path__startswith=limit + "/"))


def check_may_hand_out(
    principal: Principal, rights: Iterable[str], delegated: Iterable[str], *, peer: Subject | None = None
) -> None:
    """Raise ``Refused`` (``forbidden_right``) when a key would give away more than it has.

    To read as a peer other than its own is more, unless it may read for others.
    """
    if principal.is_person:
        return
    too_much = (set(rights) - principal.rights) | (set(delegated) - principal.delegated)
    if too_much:
        raise Refused("A key cannot hand out more than it has.", code="forbidden_right", field="rights")
    foreign = peer is not None and peer.id != principal.subject_id
    if foreign and Right.READ_FOR_OTHERS not in principal.rights:
        raise Refused("A key cannot let another read for others.", code="forbidden_right", field="peer_key")


def capped(asked: _Bound | None, own: _Bound | None) -> _Bound | None:
    """Return what is asked for, at most what the caller has itself; ``None`` is unbounded."""
    return min((bound for bound in (asked, own) if bound is not None), default=None)
