"""Opening, joining and leaving conflict sets. Opening changes no status; it hides what the set withholds."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import timedelta

from django.db.models import F

from facts import audit, jobs, outbox, withholding
from facts.actors import Actor
from facts.clock import now
from facts.ids import new_id
from facts.models import ConflictMember, ConflictSet, Fact
from facts.vocabulary import ConflictKind, ConflictStatus, Form, Status

#: A conflict is due a week after it was opened; it never decides itself by ageing.
DUE_AFTER = timedelta(days=7)

#: The kind of job that plans a fact anew: run by ``governance.tasks.place``.
PLACE_AGAIN = "fact.place"

#: Statuses in which a fact no longer is a side of a dispute.
_LEFT = frozenset(
    {
        Status.SUPERSEDED,
        Status.EXPIRED,
        Status.REJECTED,
        Status.DISABLED,
        Status.REDACTED,
        Status.RETRACTED,
        Status.DELETED,
    }
)

#: Statuses in which a member waits for its conflict to end; only what both gates accepted ever becomes a member.
ACCEPTED_AND_WAITING = frozenset({Status.CANDIDATE, Status.PROVISIONAL, Status.HELD})


def open_set(
    *,
    account_id: uuid.UUID,
    scope_id: uuid.UUID,
    subject_id: uuid.UUID,
    kind: str,
    members: Sequence[tuple[uuid.UUID, bool]],
    reason: str,
    actor: Actor,
    identity_key: str = "",
    group: uuid.UUID | None = None,
) -> ConflictSet:
    """Open a set over ``members``, pairs of (fact id, withheld). The caller holds the subject's lock."""
    conflict = ConflictSet.objects.create(
        account_id=account_id,
        scope_id=scope_id,
        subject_id=subject_id,
        identity_key=identity_key,
        kind=kind,
        reason=reason[:500],
        opened_by=actor.as_json(),
        due_at=now() + DUE_AFTER,
    )
    for fact_id, withheld in members:
        ConflictMember.objects.create(
            account_id=account_id,
            conflict_set=conflict,
            fact_id=fact_id,
            withheld=withheld and kind != ConflictKind.POSSIBLE,
        )
    _record(conflict, "conflict.opened", actor, group, {"members": [str(fact_id) for fact_id, _ in members]})
    withholding.refresh(account_id, [fact_id for fact_id, _ in members])
    return conflict


def join(
    conflict: ConflictSet,
    *,
    fact_id: uuid.UUID,
    withheld: bool,
    actor: Actor,
    group: uuid.UUID | None = None,
    kind: str = "",
    also_withheld: Sequence[uuid.UUID] = (),
) -> None:
    """Add a fact to an open set, or bring back one that had left it.

    The newcomer may turn a quarantine into a contradiction (``kind``), or hide members that were served until now.
    """
    ConflictMember.objects.update_or_create(
        account_id=conflict.account_id,
        conflict_set=conflict,
        fact_id=fact_id,
        defaults={"withheld": withheld and conflict.kind != ConflictKind.POSSIBLE, "left_at": None},
    )
    if kind and kind != conflict.kind:
        ConflictSet.objects.filter(pk=conflict.pk, account_id=conflict.account_id).update(kind=kind)
        conflict.kind = kind
    if also_withheld:
        ConflictMember.objects.filter(
            account_id=conflict.account_id, conflict_set=conflict, fact_id__in=also_withheld
        ).update(withheld=True)
    _bump(conflict)
    _record(conflict, "conflict.joined", actor, group, {"fact": str(fact_id)})
    withholding.refresh(conflict.account_id, [fact_id, *also_withheld])


def oppose(fact: Fact, holder: Fact, *, reason: str, actor: Actor, group: uuid.UUID) -> None:
    """Set a fact against the current holder of its identity, in the open set of that identity or in a new one."""
    open_one = ConflictSet.objects.filter(
        account_id=fact.account_id,
        scope_id=fact.scope_id,
        subject_id=fact.subject_id,
        identity_key=fact.identity_key,
        status=ConflictStatus.OPEN,
        kind=ConflictKind.CONTRADICTION,
    ).first()
    if open_one is None:
        open_set(
            account_id=fact.account_id,
            scope_id=fact.scope_id,
            subject_id=fact.subject_id,
            kind=ConflictKind.CONTRADICTION,
            members=[(holder.id, True), (fact.id, True)],
            reason=reason,
            actor=actor,
            identity_key=fact.identity_key,
            group=group,
        )
        return
    for member in (holder, fact):
        join(open_one, fact_id=member.id, withheld=True, actor=actor, group=group)


def rejoin(fact: Fact, *, actor: Actor, group: uuid.UUID) -> None:
    """Make a fact that has come back a member again of the sets that it left and that are still open."""
    if Status(fact.status) in _LEFT:
        return
    left = ConflictMember.objects.filter(
        account_id=fact.account_id,
        fact_id=fact.id,
        left_at__isnull=False,
        conflict_set__status=ConflictStatus.OPEN,
    ).select_related("conflict_set")
    for membership in list(left):
        join(membership.conflict_set, fact_id=fact.id, withheld=membership.withheld, actor=actor, group=group)


def is_contested(fact: Fact) -> bool:
    """Tell whether the fact is a side of an open set that somebody has to decide before it can be placed."""
    return (
        ConflictMember.objects.filter(
            account_id=fact.account_id,
            fact_id=fact.id,
            left_at__isnull=True,
            conflict_set__status=ConflictStatus.OPEN,
        )
        .exclude(conflict_set__kind=ConflictKind.POSSIBLE)
        .exists()
    )


def leave_ended(fact: Fact, *, actor: Actor, group: uuid.UUID | None = None) -> None:
    """Take a fact that has ended or gone out of its open sets; a set with fewer than two members dissolves.

    A candidate that is left alone is queued to be planned again.
    """
    if Status(fact.status) not in _LEFT:
        return
    memberships = ConflictMember.objects.filter(
        account_id=fact.account_id,
        fact_id=fact.id,
        left_at__isnull=True,
        conflict_set__status=ConflictStatus.OPEN,
    ).select_related("conflict_set")
    for membership in list(memberships):
        conflict = membership.conflict_set
        ConflictMember.objects.filter(pk=membership.pk, account_id=fact.account_id).update(left_at=now())
        _bump(conflict)
        _record(conflict, "conflict.left", actor, group, {"fact": str(fact.id)})
        remaining = current_member_ids(conflict)
        if len(remaining) < 2:
            close(conflict, status=ConflictStatus.DISSOLVED, actor=actor, group=group)
            _plan_again(fact.account_id, remaining)
        else:
            withholding.refresh(fact.account_id, [fact.id])


def close(
    conflict: ConflictSet,
    *,
    status: str,
    actor: Actor,
    resolution: str = "",
    rationale: str = "",
    group: uuid.UUID | None = None,
) -> None:
    """Close a set; what it withheld is free again unless another open set holds it."""
    conflict.status = status
    conflict.closed_at = now()
    conflict.closed_by = actor.as_json()
    conflict.resolution = resolution
    conflict.rationale = rationale
    conflict.version += 1
    conflict.save(update_fields=["status", "closed_at", "closed_by", "resolution", "rationale", "version"])
    _record(conflict, f"conflict.{status}", actor, group, {"resolution": resolution})
    withholding.refresh(conflict.account_id, all_member_ids(conflict))


def reopen(conflict: ConflictSet, *, actor: Actor, group: uuid.UUID | None = None) -> None:
    """Open a closed set again with the members it had."""
    conflict.status = ConflictStatus.OPEN
    conflict.closed_at = None
    conflict.closed_by = None
    conflict.resolution = ""
    conflict.version += 1
    conflict.save(update_fields=["status", "closed_at", "closed_by", "resolution", "version"])
    _record(conflict, "conflict.reopened", actor, group, {})
    withholding.refresh(conflict.account_id, current_member_ids(conflict))


def holder_of_identity(fact: Fact) -> Fact | None:
    """Return the current fact that makes the very claim's identity in this fact's place, if there is one."""
    if not fact.identity_key or fact.form != Form.STATE:
        return None
    return (
        Fact.objects.filter(
            account_id=fact.account_id,
            scope_id=fact.scope_id,
            subject_id=fact.subject_id,
            identity_key=fact.identity_key,
            denial_key=fact.denial_key,
            status=Status.ACTIVE,
            form=Form.STATE,
        )
        .exclude(pk=fact.pk)
        .first()
    )


def current_member_ids(conflict: ConflictSet) -> list[uuid.UUID]:
    """Return the facts that are sides of the set now, in the order they joined."""
    return list(
        ConflictMember.objects.filter(account_id=conflict.account_id, conflict_set=conflict, left_at__isnull=True)
        .order_by("joined_at", "id")
        .values_list("fact_id", flat=True)
    )


def all_member_ids(conflict: ConflictSet) -> list[uuid.UUID]:
    """Return every fact that ever was a side of the set."""
    return list(
        ConflictMember.objects.filter(account_id=conflict.account_id, conflict_set=conflict).values_list(
            "fact_id", flat=True
        )
    )


def _plan_again(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID]) -> None:
    for fact in Fact.objects.filter(account_id=account_id, pk__in=list(fact_ids)):
        if fact.status in ACCEPTED_AND_WAITING:
            jobs.submit(
                account_id,
                kind=PLACE_AGAIN,
                input_key=f"{fact.id}:{fact.version}:{new_id()}",
                payload={"fact_id": str(fact.id)},
            )


def _bump(conflict: ConflictSet) -> None:
    ConflictSet.objects.filter(pk=conflict.pk, account_id=conflict.account_id).update(version=F("version") + 1)
    conflict.refresh_from_db(fields=["version"])


def _record(
    conflict: ConflictSet, action: str, actor: Actor, group: uuid.UUID | None, metadata: dict[str, object]
) -> None:
    audit.record(
        conflict.account_id,
        action=action,
        object_type="conflict_set",
        object_id=conflict.id,
        actor=actor,
        group=group or new_id(),
        metadata={**metadata, "kind": conflict.kind, "version": conflict.version},
    )
    outbox.publish(conflict.account_id, topic=action, object_id=conflict.id, payload={"kind": conflict.kind})
