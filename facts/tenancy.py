"""Entering an account, and the things an account is made of: scopes and subjects."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from django.db import connection, transaction

from facts import timezones
from facts.canonical import has_control_characters
from facts.errors import DomainError, NotFound
from facts.ids import new_id
from facts.models import Account, AccountSecret, Identity, Scope, Subject
from facts.statements import rows
from facts.vocabulary import SubjectKind

ROOT = "/"


@contextmanager
def account_transaction(
    account_id: uuid.UUID, *, durable: bool = False, local: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Open a transaction in which the rows of ``account_id``, and no others, are visible.

    Nested use for the same account is a savepoint. Switching to another account inside a transaction is refused:
    it would mix two tenants in one unit of work. ``local`` are further settings of the transaction.
    """
    with transaction.atomic(durable=durable):
        enter_account(account_id, local=local)
        yield


def enter_account(account_id: uuid.UUID, *, local: Mapping[str, str] | None = None) -> None:
    """Set the account of the running transaction, and further settings with it, in one round trip.

    Raises ``RuntimeError`` if another account is set already.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("An account is entered inside a transaction only.")
    settings = {"app.account": str(account_id), **(local or {})}
    chosen = ", ".join(f"set_config(%(name{n})s, %(value{n})s, true)" for n in range(len(settings)))
    values = {f"name{n}": name for n, name in enumerate(settings)} | {
        f"value{n}": value for n, value in enumerate(settings.values())
    }
    entered = rows(
        f"SELECT {chosen} FROM (SELECT current_setting('app.account', true) AS now) s"
        " WHERE coalesce(now, '') IN ('', %(account)s)",
        {**values, "account": str(account_id)},
    )
    if not entered:
        raise RuntimeError("This transaction already belongs to another account.")


def create_account(*, key: str, name: str, timezone: str = "UTC") -> Account:
    """Create an account with its secret and its root scope.

    Raises ``DomainError`` (``unknown_timezone``).
    """
    timezone = timezones.check(timezone)
    with transaction.atomic():
        account = Account.objects.create(key=key, name=name, timezone=timezone)
        with account_transaction(account.id):
            AccountSecret.objects.create(account=account, statement_key=secrets.token_bytes(32))
            Scope.objects.create(account=account, path=ROOT, name=name)
    return account


def normalise_path(path: str) -> str:
    """Return a scope path in its one spelling: absolute, no empty parts, no trailing slash but for the root.

    Raises ``DomainError`` (``invalid_scope``) for parts that are blank, ``.``, ``..`` or hold control characters, or
    for an over-long path.
    """
    parts = [part.strip() for part in path.strip().split("/") if part != ""]
    if any(part in {"", ".", ".."} or has_control_characters(part) for part in parts):
        raise DomainError("A scope path has no empty, '.' or '..' part.", code="invalid_scope", field="scope")
    result = ROOT + "/".join(parts)
    if len(result) > 512:
        raise DomainError("A scope path has at most 512 characters.", code="invalid_scope", field="scope")
    return result


def ancestor_paths(path: str) -> list[str]:
    """Return the paths above ``path``, nearest first, ending with the root; empty for the root itself."""
    parts = [part for part in path.split("/") if part]
    return [ROOT + "/".join(parts[:depth]) for depth in range(len(parts) - 1, -1, -1)]


def get_scope(account_id: uuid.UUID, path: str) -> Scope | None:
    """Return the scope at ``path``, or ``None`` when nothing was ever stored there."""
    return Scope.objects.filter(account_id=account_id, path=normalise_path(path)).first()


def ensure_scope(account_id: uuid.UUID, path: str) -> Scope:
    """Return the scope at ``path``, creating it and its ancestors on first use."""
    path = normalise_path(path)
    found = Scope.objects.filter(account_id=account_id, path=path).first()
    if found is not None:
        return found
    above = ancestor_paths(path)
    parent = ensure_scope(account_id, above[0]) if above else None
    scope, _ = Scope.objects.get_or_create(
        account_id=account_id,
        path=path,
        defaults={"id": new_id(), "name": path.rsplit("/", 1)[-1], "parent": parent},
    )
    return scope


def get_subject(account_id: uuid.UUID, *, key: str, kind: str | None = None, itself: bool = False) -> Subject | None:
    """Return the subject with ``key`` (peers first when ``kind`` is not given), or ``None``.

    Of one that was merged, the one that it is now; ``itself``: the one of that very key.
    """
    found = Subject.objects.filter(account_id=account_id, key=key)
    if kind is not None:
        found = found.filter(kind=kind)
    order = {SubjectKind.PERSON: 0, SubjectKind.AGENT: 1}
    subject = min(found, key=lambda subject: order.get(subject.kind, 2), default=None)
    return subject if subject is None or itself else present(subject)


def present(subject: Subject) -> Subject:
    """Return whom a subject stands for today: itself, or the one that it was merged into."""
    while subject.merged_into_id is not None:
        subject = Subject.objects.get(account_id=subject.account_id, pk=subject.merged_into_id)
    return subject


def ensure_subject(account_id: uuid.UUID, *, key: str, kind: str = SubjectKind.PERSON, name: str = "") -> Subject:
    """Return the subject ``(kind, key)``, creating it on first use; a name fills a blank one and never replaces."""
    return ensure_subjects(account_id, {(kind, key): name})[kind, key]


def ensure_subjects(account_id: uuid.UUID, wanted: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], Subject]:
    """Do :func:`ensure_subject` for many, given as (kind, key) → name; in one statement where all are known.

    New ones are made in one order whoever makes them, so that nobody waits in a circle. Raises ``DomainError``
    (``invalid_subject``).
    """
    for _, key in wanted:
        if not key.strip() or len(key) > 200 or has_control_characters(key):
            raise DomainError("A subject key has 1 to 200 characters.", code="invalid_subject", field="subject_id")
    found = _subjects(account_id, wanted)
    unknown = sorted(wanted.keys() - found.keys())
    if unknown:
        fresh = [
            Subject(account_id=account_id, kind=kind, key=key, name=wanted[kind, key][:200]) for kind, key in unknown
        ]
        Subject.objects.bulk_create(fresh, ignore_conflicts=True)
        found |= _subjects(account_id, unknown)
    for pair in sorted(found):
        subject, name = found[pair], wanted[pair][:200]
        if name and not subject.name and subject.key == pair[1]:
            Subject.objects.filter(account_id=account_id, pk=subject.pk, name="").update(name=name)
            subject.name = name
    return found


def _subjects(account_id: uuid.UUID, pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], Subject]:
    """Return those of the subjects that there are, by the keys that were asked for, as whom they stand for today."""
    kinds, keys = {kind for kind, _ in pairs}, {key for _, key in pairs}
    rows = Subject.objects.filter(account_id=account_id, kind__in=kinds, key__in=keys)
    return {(row.kind, row.key): present(row) for row in rows if (row.kind, row.key) in pairs}


def resolve_identity(account_id: uuid.UUID, *, platform: str, value: str) -> Subject:
    """Return the subject known as ``value`` on ``platform``; raises ``NotFound`` (``alias_not_found``)."""
    identity = (
        Identity.objects.filter(account_id=account_id, platform=platform.lower(), value=value)
        .select_related("subject")
        .first()
    )
    if identity is None:
        raise NotFound("No subject goes by that name.", code="alias_not_found", field="subject_alias")
    return identity.subject
