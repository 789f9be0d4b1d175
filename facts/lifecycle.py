"""The only place that changes what a fact is: its status, its validity, its audience.

Every change locks the row, checks the graph, compares the expected version, writes the new state, a revision and an
audit entry, tells the outbox and updates the index rows, in one transaction.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import IntegrityError

from facts import audit, conflict_sets, consequences, index, outbox, withholding
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound
from facts.ids import new_id
from facts.models import Fact, FactRevision
from facts.status_graph import may_be_restored, may_follow
from facts.vocabulary import Status

#: What a revision snapshots besides the status: everything about a fact that may change.
MUTABLE = (
    "scope_id",
    "level",
    "sensitivity",
    "form",
    "value",
    "value_key",
    "qualifiers",
    "identity_key",
    "confidence",
    "volatility",
    "valid_from",
    "valid_to",
    "start_assumed",
    "starts_later",
    "revalidate_after",
    "expires_at",
    "last_reinforced_at",
    "corroboration",
)


class IllegalTransition(DomainError):
    """The status graph has no such arrow, or an undo would bring back what is gone for good."""

    code = "illegal_status_transition"


class IdentityTaken(Conflicting):
    """Another active fact already holds this identity."""

    code = "identity_taken"


def insert(fact: Fact, *, actor: Actor, action: str, reason: str = "", group: uuid.UUID | None = None) -> Fact:
    """Write a new fact with its first revision, its audit entry and its text row. It starts as given, version 1."""
    group = group or new_id()
    with audit.savepoint():
        with _explained():
            fact.save(force_insert=True)
        _write_revision(fact, actor=actor, action=action, reason=reason, group=group, at=fact.recorded_from)
        _record(fact, before="", actor=actor, action=action, group=group)
        index.write_fact_text([fact])
    return fact


def transition(
    fact_id: uuid.UUID,
    *,
    account_id: uuid.UUID,
    to: str,
    actor: Actor,
    action: str,
    reason: str = "",
    changes: Mapping[str, Any] | None = None,
    expected_version: int | None = None,
    group: uuid.UUID | None = None,
) -> Fact:
    """Move a fact to status ``to``, applying ``changes`` (names from :data:`MUTABLE`) with it.

    Raises ``NotFound``, :class:`IllegalTransition`, ``Conflicting`` (``stale_version`` when ``expected_version`` is not
    the current one) and :class:`IdentityTaken`.
    """
    with audit.savepoint():
        fact = _lock(account_id, fact_id, expected_version)
        if not may_follow(fact.status, to):
            raise IllegalTransition(f"A fact that is {fact.status} cannot become {to}.")
        return _apply(fact, to=to, changes=changes or {}, actor=actor, action=action, reason=reason, group=group)


def amend(
    fact_id: uuid.UUID,
    *,
    account_id: uuid.UUID,
    actor: Actor,
    action: str,
    changes: Mapping[str, Any],
    reason: str = "",
    expected_version: int | None = None,
    group: uuid.UUID | None = None,
) -> Fact:
    """Change mutable fields without changing the status (reinforcement, a corrected interval, a wider audience)."""
    with audit.savepoint():
        fact = _lock(account_id, fact_id, expected_version)
        if Status(fact.status) in {Status.REDACTED, Status.RETRACTED, Status.DELETED}:
            raise IllegalTransition(f"A fact that is {fact.status} does not change any more.")
        return _apply(fact, to=fact.status, changes=changes, actor=actor, action=action, reason=reason, group=group)


def move_to_subject(
    fact_id: uuid.UUID,
    *,
    account_id: uuid.UUID,
    subject_id: uuid.UUID,
    actor: Actor,
    action: str,
    changes: Mapping[str, Any] | None = None,
    reason: str = "",
    group: uuid.UUID | None = None,
) -> Fact:
    """Say whom a fact is about after all (its subject was merged, or that was taken back), with ``changes``.

    The caller has locked both subjects where the fact is. Raises ``NotFound`` and :class:`IdentityTaken`.
    """
    with audit.savepoint():
        fact = _lock(account_id, fact_id, None)
        fact.subject_id = subject_id
        return _apply(
            fact,
            to=fact.status,
            changes=changes or {},
            actor=actor,
            action=action,
            reason=reason,
            group=group,
            moved=True,
        )


def restore(
    fact_id: uuid.UUID,
    *,
    account_id: uuid.UUID,
    to_version: int,
    actor: Actor,
    action: str,
    reason: str = "",
    expected_version: int | None = None,
    group: uuid.UUID | None = None,
    as_candidate: bool = False,
) -> Fact:
    """Bring back the status, interval and other mutable fields that revision ``to_version`` recorded.

    A fact that has expired meanwhile comes back as expired. It is again a member of the sets that it had left and that
    are still open. Raises :class:`IdentityTaken` when another active fact holds the identity now; with ``as_candidate``
    it then comes back to wait beside it.
    """
    with audit.savepoint():
        fact = _lock(account_id, fact_id, expected_version)
        revision = FactRevision.objects.filter(account_id=account_id, fact_id=fact_id, version=to_version).first()
        if revision is None:
            raise NotFound("There is no such revision.", code="revision_not_found", field="version")
        if not may_be_restored(fact.status, revision.status):
            raise IllegalTransition(f"A fact that is {fact.status} does not come back.")
        status = Status.CANDIDATE if as_candidate else revision.status
        expired = revision.expires_at is not None and revision.expires_at <= now()
        if expired and may_follow(status, Status.EXPIRED):
            status = Status.EXPIRED
        changes = {name: getattr(revision, name) for name in MUTABLE}
        group = group or new_id()
        fact = _apply(fact, to=status, changes=changes, actor=actor, action=action, reason=reason, group=group)
        conflict_sets.rejoin(fact, actor=actor, group=group)
        fact.refresh_from_db()
        return fact


def _lock(account_id: uuid.UUID, fact_id: uuid.UUID, expected_version: int | None) -> Fact:
    fact = Fact.objects.select_for_update().filter(account_id=account_id, pk=fact_id).first()
    if fact is None:
        raise NotFound("There is no such fact.", code="fact_not_found", field="fact_id")
    if expected_version is not None and fact.version != expected_version:
        raise Conflicting("The fact has changed since it was looked at.", code="stale_version", field="version")
    return fact


def _apply(
    fact: Fact,
    *,
    to: str,
    changes: Mapping[str, Any],
    actor: Actor,
    action: str,
    reason: str,
    group: uuid.UUID | None,
    moved: bool = False,
) -> Fact:
    unknown = set(changes) - set(MUTABLE)
    if unknown:
        raise ValueError(f"Not mutable: {sorted(unknown)}")
    group = group or new_id()
    before, fact.status = fact.status, to
    for name, value in changes.items():
        setattr(fact, name, value)
    fact.version += 1
    fields = {"status", "version", *changes, *(("subject",) if moved else ())}
    if consequences.limit_level(fact):
        fields.add("level")
    if to == Status.DELETED:
        fact.recorded_to = now()
        fields.add("recorded_to")
    with _explained():
        fact.save(update_fields=[name.removesuffix("_id") for name in fields])
    _write_revision(fact, actor=actor, action=action, reason=reason, group=group, at=now())
    _record(fact, before=before, actor=actor, action=action, group=group)
    withholding.refresh(fact.account_id, [fact.id])
    conflict_sets.leave_ended(fact, actor=actor, group=group)
    consequences.follow(fact, before=before, actor=actor, group=group)
    if fields & {"level", "sensitivity"}:
        consequences.follow_audience(fact, actor=actor, group=group)
    return fact


def _write_revision(fact: Fact, *, actor: Actor, action: str, reason: str, group: uuid.UUID, at: datetime) -> None:
    if fact.version > 1:
        before = FactRevision.objects.filter(account_id=fact.account_id, fact_id=fact.id, recorded_to__isnull=True)
        before.update(recorded_to=at)
    FactRevision.objects.create(
        account_id=fact.account_id,
        fact_id=fact.id,
        subject_id=fact.subject_id,
        version=fact.version,
        status=fact.status,
        recorded_from=at,
        action=action,
        reason=reason[:500],
        actor=actor.as_json(),
        group=group,
        **{name: getattr(fact, name) for name in MUTABLE},
    )


def _record(fact: Fact, *, before: str, actor: Actor, action: str, group: uuid.UUID) -> None:
    change = {"from": before, "to": fact.status, "version": fact.version}
    audit.record(
        fact.account_id,
        action=action,
        object_type="fact",
        object_id=fact.id,
        actor=actor,
        group=group,
        metadata=change,
    )
    outbox.publish(fact.account_id, topic="fact.changed", object_id=fact.id, payload=change)


@contextmanager
def _explained() -> Iterator[None]:
    """Say in the ledger's words which of its rules a write breaks; the caller's savepoint takes the rest back."""
    try:
        yield
    except IntegrityError as error:
        raise _explain(error) from error


def _explain(error: IntegrityError) -> DomainError:
    text = str(error)
    if "fact_one_active_per_identity" in text:
        return IdentityTaken("Another current fact already makes this claim.")
    if "fact_validity_not_inverted" in text:
        return DomainError("A fact cannot end before it starts.", code="invalid_interval", field="valid_to")
    return DomainError("The change breaks a rule of the fact ledger.", code="invalid_fact")
