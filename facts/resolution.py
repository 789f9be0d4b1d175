"""Deciding conflict sets: every verb a reviewer has, and its undo.

Each verb closes the set first, so that the changes that follow are decisions and not departures, then moves every
member where the decision puts it. The decision row keeps which revision each fact came from and went to; undo restores
exactly those, and is offered only while nothing has built on them.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from django.db import transaction

from facts import audit, conflict_sets, lifecycle, suppressions
from facts.actors import Actor
from facts.canonical import DISTINCTION, identity_key, qualifiers_of_identity
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import (
    ConflictDecision,
    ConflictSet,
    Fact,
    FactRevision,
    Relation,
    Separation,
    Suppression,
)
from facts.models.conflicts import SuppressionCause
from facts.returning import bring_back
from facts.status_graph import ENDED, FINAL, may_follow
from facts.vocabulary import ConflictKind, ConflictStatus, Form, RelationKind, Status

#: How long a deferred conflict stays out of the queue when no date is given, in days.
DEFER_DAYS = 1


@dataclass(slots=True)
class _Decision:
    """A decision in the making: what it is about and what it has changed so far."""

    conflict: ConflictSet
    actor: Actor
    rationale: str
    group: uuid.UUID
    members: dict[uuid.UUID, Fact]
    at: datetime = field(default_factory=now)
    changes: dict[uuid.UUID, dict[str, Any]] = field(default_factory=dict)

    def note(self, fact_id: uuid.UUID, from_version: int, to_version: int) -> None:
        """Keep that a fact went from one version to another, or that it was looked at and stays."""
        change = self.changes.setdefault(
            fact_id, {"fact": str(fact_id), "from_version": from_version, "to_version": to_version}
        )
        change["to_version"] = to_version


def keep_one(
    conflict_id: uuid.UUID,
    *,
    account_id: uuid.UUID,
    fact_id: uuid.UUID,
    actor: Actor,
    rationale: str = "",
    others_never_true: bool = False,
    expected_version: int | None = None,
) -> ConflictDecision:
    """Keep one member as current. The others were true until the kept one began, or, if so said, never were."""

    def decide(decision: _Decision) -> dict[str, Any]:
        kept = _member(decision, fact_id, "keep_fact_id")
        others = [fact for fact in decision.members.values() if fact.id != fact_id]
        for fact in others:
            if others_never_true:
                _reject(decision, fact)
            else:
                _end_before(decision, fact, kept)
        _end_outside_holder(decision, kept)
        _move(decision, kept, Status.ACTIVE, {"valid_to": None} if kept.status in ENDED else {})
        if not others_never_true:
            for fact in others:
                _relate(decision, kept, fact)
        return {"kept": str(fact_id), "others_never_true": others_never_true}

    verb = "keep_one_never_true" if others_never_true else "keep_one"
    return _resolve(conflict_id, account_id, actor, rationale, expected_version, verb, decide)


def reject_all(
    conflict_id: uuid.UUID,
    *,
    account_id: uuid.UUID,
    actor: Actor,
    rationale: str = "",
    expected_version: int | None = None,
) -> ConflictDecision:
    """None of the members was ever true."""

    def decide(decision: _Decision) -> dict[str, Any]:
        for fact in decision.members.values():
            _reject(decision, fact)
        return {}

    return _resolve(conflict_id, account_id, actor, rationale, expected_version, "reject_all", decide)


def keep_by_qualifier(
    conflict_id: uuid.UUID,
    *,
    account_id: uuid.UUID,
    qualifiers: Mapping[uuid.UUID, Mapping[str, Any]],
    actor: Actor,
    rationale: str = "",
    expected_version: int | None = None,
) -> ConflictDecision:
    """Keep every member, each under the condition that sets it apart; no member stays unqualified.

    ``qualifiers`` gives what to add for every member. Raises ``qualifier_missing`` or ``qualifiers_equal``.
    """

    def decide(decision: _Decision) -> dict[str, Any]:
        merged = {fact.id: {**fact.qualifiers, **qualifiers.get(fact.id, {})} for fact in decision.members.values()}
        canonical = {key: qualifiers_of_identity(value) for key, value in merged.items()}
        if not all(canonical.values()):
            raise DomainError(
                "Every fact that is kept needs what sets it apart.",
                code="qualifier_missing",
                field="qualifiers",
            )
        keys = {fact.id: identity_key(fact.predicate, merged[fact.id]) for fact in decision.members.values()}
        if any(keys.values()) and len(set(keys.values())) != len(keys):
            raise DomainError(
                "Two facts would still be about the same thing.",
                code="qualifiers_equal",
                field="qualifiers",
            )
        # First out of the way, then back: a new identity may be another member's old one.
        for fact in list(decision.members.values()):
            if fact.status == Status.ACTIVE and fact.identity_key in set(keys.values()) - {keys[fact.id]}:
                _move(decision, fact, Status.DISPUTED, {})
        for fact in list(decision.members.values()):
            changes = {"qualifiers": merged[fact.id], "identity_key": keys[fact.id]}
            _move(decision, fact, Status.ACTIVE, changes)
        return {"qualifiers": {str(key): value for key, value in merged.items()}}

    return _resolve(conflict_id, account_id, actor, rationale, expected_version, "keep_by_qualifier", decide)


def keep_as_events(
    conflict_id: uuid.UUID,
    *,
    account_id: uuid.UUID,
    actor: Actor,
    rationale: str = "",
    expected_version: int | None = None,
) -> ConflictDecision:
    """Keep every member as an occurrence: they accumulate and no longer compete."""

    def decide(decision: _Decision) -> dict[str, Any]:
        for fact in decision.members.values():
            _move(decision, fact, Status.ACTIVE, {"form": Form.EVENT})
        return {}

    return _resolve(conflict_id, account_id, actor, rationale, expected_version, "keep_as_events", decide)


def keep_by_interval(
    conflict_id: uuid.UUID,
    *,
    account_id: uuid.UUID,
    intervals: Mapping[uuid.UUID, tuple[datetime | None, datetime | None]],
    actor: Actor,
    rationale: str = "",
    expected_version: int | None = None,
) -> ConflictDecision:
    """Keep every member, each in its own time. Intervals are half-open, one per member, and must not overlap.

    What has ended by now is history, what holds now is current, what begins later waits for its start. Raises
    ``interval_missing``, ``invalid_interval`` and ``intervals_overlap``.
    """

    def decide(decision: _Decision) -> dict[str, Any]:
        _check_intervals(set(decision.members), intervals)
        at = now()
        ordered = sorted(decision.members.values(), key=lambda fact: intervals[fact.id][1] is None)
        for fact in ordered:
            start, end = intervals[fact.id]
            changes = {"valid_from": start, "valid_to": end, "start_assumed": False}
            if end is not None and end <= at:
                _move(decision, fact, Status.SUPERSEDED, changes)
            elif start is not None and start > at:
                _hold_until_start(decision, fact, changes)
            else:
                _end_outside_holder(decision, fact)
                _move(decision, fact, Status.ACTIVE, changes)
        return {
            "intervals": {
                str(key): [moment.isoformat() if moment else None for moment in value]
                for key, value in intervals.items()
            }
        }

    return _resolve(conflict_id, account_id, actor, rationale, expected_version, "keep_by_interval", decide)


def dismiss(
    conflict_id: uuid.UUID,
    *,
    account_id: uuid.UUID,
    distinction: str,
    actor: Actor,
    rationale: str = "",
    expected_version: int | None = None,
) -> ConflictDecision:
    """Say that there is no contradiction, and what separates the members; the pairs are never proposed again.

    Members that were current stay so; a waiting candidate becomes current, and where it would claim the very identity
    of another one it carries the distinction as its qualifier.
    """
    distinction = distinction.strip()[:500]
    if not distinction:
        raise DomainError("Say what separates them.", code="distinction_missing", field="distinction")

    def decide(decision: _Decision) -> dict[str, Any]:
        facts = sorted(decision.members.values(), key=lambda fact: (fact.status != Status.ACTIVE, fact.id))
        held = _identities_held_outside(decision)
        for fact in facts:
            changes = _set_apart(fact, distinction, held) if fact.form == Form.STATE else {}
            if fact.status != Status.ACTIVE or changes:
                _move(decision, fact, Status.ACTIVE, changes)
        ids = sorted(decision.members)
        for position, first in enumerate(ids):
            for second in ids[position + 1 :]:
                Separation.objects.update_or_create(
                    account_id=account_id,
                    first_id=first,
                    second_id=second,
                    defaults={
                        "distinction": distinction,
                        "actor": actor.as_json(),
                        "lifted_at": None,
                    },
                )
        return {"distinction": distinction}

    return _resolve(
        conflict_id,
        account_id,
        actor,
        rationale or distinction,
        expected_version,
        "dismiss",
        decide,
        closes_as=ConflictStatus.DISMISSED,
    )


def defer(
    conflict_id: uuid.UUID,
    *,
    account_id: uuid.UUID,
    until: datetime,
    actor: Actor,
    rationale: str = "",
    expected_version: int | None = None,
) -> ConflictDecision:
    """Decide later: the set stays open and withholds as before, and leaves the queue until ``until``."""
    with transaction.atomic():
        conflict = _lock(conflict_id, account_id, expected_version)
        if until <= now():
            raise DomainError("A date in the future is needed.", code="invalid_date", field="until")
        conflict.deferred_until = until
        conflict.due_at = max(until, conflict.due_at or until)
        conflict.version += 1
        conflict.save(update_fields=["deferred_until", "due_at", "version"])
        decision = _Decision(conflict, actor, rationale, new_id(), {})
        return _write_decision(decision, "defer", {"until": until.isoformat()})


def _set_apart(fact: Fact, distinction: str, held: set[tuple[str, str]]) -> dict[str, Any]:
    """Return what gives a fact an identity that is not ``held`` yet, and hold it: nothing where it has one already."""
    if not fact.identity_key:
        return {}
    key, changes, number = fact.identity_key, {}, 1
    while (key, fact.denial_key) in held:
        words = distinction if number == 1 else f"{distinction} ({number})"
        qualifiers = {**fact.qualifiers, DISTINCTION: words}
        key, number = identity_key(fact.predicate, qualifiers), number + 1
        changes = {"qualifiers": qualifiers, "identity_key": key}
    held.add((key, fact.denial_key))
    return changes


def undo(decision_id: uuid.UUID, *, account_id: uuid.UUID, actor: Actor, rationale: str = "") -> ConflictDecision:
    """Take a decision back: the set is open again and every fact is as the revision before recorded it.

    Raises ``Conflicting`` (``decision_undone`` or ``decision_built_upon``) when it was undone already or a later change
    builds on it. A fact whose identity is taken meanwhile comes back as a candidate of the reopened set.
    """
    with transaction.atomic():
        named = ConflictDecision.objects.select_related("conflict_set").filter(account_id=account_id, pk=decision_id)
        decision = named.first()
        if decision is None:
            raise NotFound("There is no such decision.", code="decision_not_found")
        lock_subject(decision.conflict_set.scope_id, decision.conflict_set.subject_id)
        decision = named.select_for_update().get()
        conflict = decision.conflict_set
        if decision.undone_at is not None:
            raise Conflicting("The decision was undone already.", code="decision_undone")
        if not may_undo(decision):
            raise Conflicting("Something has built on the decision since.", code="decision_built_upon")
        group = new_id()
        if decision.verb == "defer":
            conflict.deferred_until = None
            conflict.version += 1
            conflict.save(update_fields=["deferred_until", "version"])
        else:
            _take_back(decision, actor=actor, rationale=rationale, group=group)
        decision.undone_at = now()
        decision.undone_by = actor.as_json()
        decision.save(update_fields=["undone_at", "undone_by"])
        audit.record(
            account_id,
            action="conflict.undone",
            object_type="conflict_set",
            object_id=conflict.id,
            actor=actor,
            group=group,
            metadata={"decision": str(decision.id), "verb": decision.verb},
        )
    return decision


def may_undo(decision: ConflictDecision) -> bool:
    """Tell whether nothing has built on the decision: members unchanged since, no newer set on the same identity."""
    if decision.undone_at is not None:
        return False
    newer = ConflictDecision.objects.filter(
        account_id=decision.account_id,
        conflict_set_id=decision.conflict_set_id,
        undone_at__isnull=True,
        decided_at__gt=decision.decided_at,
    )
    if newer.exists():
        return False
    if decision.verb == "defer":
        return decision.conflict_set.status == ConflictStatus.OPEN
    versions = {change["fact"]: change["to_version"] for change in decision.changes}
    facts = Fact.objects.filter(account_id=decision.account_id, pk__in=versions)
    if any(fact.version != versions[str(fact.id)] or fact.status in FINAL for fact in facts):
        return False
    conflict = decision.conflict_set
    competing = ConflictSet.objects.filter(
        account_id=decision.account_id,
        scope_id=conflict.scope_id,
        subject_id=conflict.subject_id,
        identity_key=conflict.identity_key,
        status=ConflictStatus.OPEN,
        kind=ConflictKind.CONTRADICTION,
    ).exclude(identity_key="")
    return conflict.status != ConflictStatus.OPEN and not competing.exists()


def _take_back(decision: ConflictDecision, *, actor: Actor, rationale: str, group: uuid.UUID) -> None:
    account_id, conflict = decision.account_id, decision.conflict_set
    changes = [change for change in decision.changes if change["from_version"] != change["to_version"]]
    fact_ids = [uuid.UUID(change["fact"]) for change in changes]
    Suppression.objects.filter(
        account_id=account_id,
        fact_id__in=fact_ids,
        cause=SuppressionCause.REJECTED,
        created_at__gte=decision.decided_at,
        lifted_at__isnull=True,
    ).update(lifted_at=now())
    if decision.verb == "dismiss":
        members = conflict_sets.all_member_ids(conflict)
        Separation.objects.filter(
            account_id=account_id, first_id__in=members, second_id__in=members, lifted_at__isnull=True
        ).update(lifted_at=now())
    looked_at = [uuid.UUID(change["fact"]) for change in decision.changes]
    Relation.objects.filter(
        account_id=account_id,
        source_id__in=looked_at,
        target_id__in=looked_at,
        kind=RelationKind.SUPERSEDES,
        created_at__gte=decision.decided_at,
    ).delete()
    conflict_sets.reopen(conflict, actor=actor, group=group)
    how = {"actor": actor, "reason": rationale, "action": "fact.restored", "group": group}
    revisions = [
        FactRevision.objects.get(account_id=account_id, fact_id=change["fact"], version=change["from_version"])
        for change in changes
    ]
    _clear_the_way(account_id, revisions, **how)
    # Those that stop being current go first, so that the identity is free for the one that was.
    for revision in sorted(revisions, key=lambda revision: revision.status == Status.ACTIVE):
        fact = Fact.objects.get(account_id=account_id, pk=revision.fact_id)
        back, has_its_place = bring_back(fact, to_version=revision.version, **how)
        holder = None if has_its_place else conflict_sets.holder_of_identity(back)
        if holder is not None:
            conflict_sets.join(conflict, fact_id=holder.id, withheld=True, actor=actor, group=group)


def _clear_the_way(account_id: uuid.UUID, revisions: Sequence[FactRevision], **how: Any) -> None:
    """Take those out of the way that hold an identity which another one is to have again, as after an exchange."""
    wanted = {revision.identity_key for revision in revisions if revision.status == Status.ACTIVE}
    for revision in revisions:
        fact = Fact.objects.get(account_id=account_id, pk=revision.fact_id)
        in_the_way = fact.identity_key in wanted - {revision.identity_key}
        if fact.status == Status.ACTIVE and fact.identity_key and in_the_way:
            lifecycle.transition(fact.id, account_id=account_id, to=Status.DISPUTED, **how)


def _resolve(
    conflict_id: uuid.UUID,
    account_id: uuid.UUID,
    actor: Actor,
    rationale: str,
    expected_version: int | None,
    verb: str,
    decide: Callable[[_Decision], dict[str, Any]],
    *,
    closes_as: str = ConflictStatus.RESOLVED,
) -> ConflictDecision:
    """Run one decision: lock, re-check, close the set, move the members, keep the record."""
    with transaction.atomic():
        conflict = _lock(conflict_id, account_id, expected_version)
        members = Fact.objects.filter(account_id=account_id, pk__in=conflict_sets.current_member_ids(conflict))
        decision = _Decision(conflict, actor, rationale, new_id(), {fact.id: fact for fact in members})
        conflict_sets.close(
            conflict,
            status=closes_as,
            actor=actor,
            resolution=verb,
            rationale=rationale,
            group=decision.group,
        )
        detail = decide(decision)
        for fact in decision.members.values():
            decision.note(fact.id, fact.version, fact.version)
        return _write_decision(decision, verb, detail)


def _write_decision(decision: _Decision, verb: str, detail: dict[str, Any]) -> ConflictDecision:
    row = ConflictDecision.objects.create(
        account_id=decision.conflict.account_id,
        conflict_set=decision.conflict,
        verb=verb,
        detail=detail,
        rationale=decision.rationale,
        actor=decision.actor.as_json(),
        decided_at=decision.at,
        group=decision.group,
        changes=list(decision.changes.values()),
    )
    audit.record(
        decision.conflict.account_id,
        action=f"conflict.decided.{verb}",
        object_type="conflict_set",
        object_id=decision.conflict.id,
        actor=decision.actor,
        group=decision.group,
        metadata={"decision": str(row.id), "changed": len(decision.changes)},
    )
    return row


def _lock(conflict_id: uuid.UUID, account_id: uuid.UUID, expected_version: int | None) -> ConflictSet:
    found = ConflictSet.objects.filter(account_id=account_id, pk=conflict_id).first()
    if found is None:
        raise NotFound("There is no such conflict set.", code="conflict_not_found")
    lock_subject(found.scope_id, found.subject_id)
    conflict = ConflictSet.objects.select_for_update().get(account_id=account_id, pk=conflict_id)
    if conflict.status != ConflictStatus.OPEN:
        raise Conflicting(f"The conflict is {conflict.status} already.", code="conflict_already_resolved")
    if expected_version is not None and conflict.version != expected_version:
        raise Conflicting("The conflict has changed since it was looked at.", code="stale_version", field="version")
    return conflict


def _member(decision: _Decision, fact_id: uuid.UUID, field_name: str) -> Fact:
    if fact_id not in decision.members:
        raise DomainError("That fact is not a member of this conflict.", code="fact_not_in_conflict", field=field_name)
    return decision.members[fact_id]


def _move(decision: _Decision, fact: Fact, to: str, changes: Mapping[str, Any]) -> Fact:
    """Bring a member to ``to`` from whatever status it has; ended ones return through ``disputed``."""
    first_version = fact.version
    common = {
        "account_id": fact.account_id,
        "actor": decision.actor,
        "action": f"conflict.{to}",
        "reason": decision.rationale,
        "group": decision.group,
    }
    if fact.status == to:
        different = any(getattr(fact, name) != value for name, value in changes.items())
        moved = lifecycle.amend(fact.id, changes=changes, **common) if different else fact
    else:
        if not may_follow(fact.status, to):
            lifecycle.transition(fact.id, to=Status.DISPUTED, **common)
        moved = lifecycle.transition(fact.id, to=to, changes=changes, **common)
    if moved.version != first_version:
        decision.note(fact.id, first_version, moved.version)
    decision.members[fact.id] = moved
    return moved


def _reject(decision: _Decision, fact: Fact) -> None:
    """Never true: and not to be proposed again from what was said up to now."""
    moved = _move(decision, fact, Status.REJECTED, {})
    suppressions.suppress(moved, cause=SuppressionCause.REJECTED, actor=decision.actor, evidence_until=now())


def _hold_until_start(decision: _Decision, fact: Fact, changes: Mapping[str, Any]) -> None:
    """Keep a waiting member for its day; one that is believed already cannot be put off."""
    if not may_follow(fact.status, Status.HELD):
        raise DomainError("What holds already cannot begin later.", code="invalid_interval", field="intervals")
    _move(decision, fact, Status.HELD, {**changes, "starts_later": True})


def _end_before(decision: _Decision, fact: Fact, kept: Fact) -> None:
    """End ``fact`` where ``kept`` begins. One that began later never prevailed: its interval is empty."""
    start = kept.valid_from or now()
    end = start if fact.valid_to is None else min(fact.valid_to, start)
    if fact.valid_from is not None:
        end = max(end, fact.valid_from)
    _move(decision, fact, Status.SUPERSEDED, {"valid_to": end})


def _end_outside_holder(decision: _Decision, kept: Fact) -> None:
    """A current fact outside the set that makes the very claim's identity gives way to the one that was kept."""
    if not kept.identity_key or kept.form != Form.STATE:
        return
    holder = conflict_sets.holder_of_identity(kept)
    if holder is not None and holder.id not in decision.members:
        _end_before(decision, holder, kept)
        _relate(decision, kept, holder)


def _relate(decision: _Decision, newer: Fact, older: Fact) -> None:
    Relation.objects.get_or_create(
        account_id=newer.account_id,
        source_id=newer.id,
        target_id=older.id,
        kind=RelationKind.SUPERSEDES,
    )


def _identities_held_outside(decision: _Decision) -> set[tuple[str, str]]:
    fact = next(iter(decision.members.values()))
    return set(
        Fact.objects.filter(
            account_id=fact.account_id,
            scope_id=fact.scope_id,
            subject_id=fact.subject_id,
            status=Status.ACTIVE,
            form=Form.STATE,
        )
        .exclude(pk__in=decision.members)
        .exclude(identity_key="")
        .values_list("identity_key", "denial_key")
    )


def _check_intervals(
    members: set[uuid.UUID],
    intervals: Mapping[uuid.UUID, tuple[datetime | None, datetime | None]],
) -> None:
    if set(intervals) != members:
        raise DomainError("Give one interval for each fact.", code="interval_missing", field="intervals")
    for start, end in intervals.values():
        if start is not None and end is not None and start >= end:
            raise DomainError("An interval ends after it starts.", code="invalid_interval", field="intervals")
    spans = sorted(intervals.values(), key=lambda span: span[0].timestamp() if span[0] else float("-inf"))
    for (_, end), (start, _) in pairwise(spans):
        if end is None or start is None or end > start:
            raise DomainError("Two intervals overlap.", code="intervals_overlap", field="intervals")
