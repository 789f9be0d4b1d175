"""Merging a subject into another one: its facts, events and names become the other's, and a record can undo it.

Facts that both know something about are planned again, as if they came now: equal ones become one, different ones a
conflict for people. Consent that was given for one covers nothing of the other: what was shared on the strength of it
is for the subject alone until that is asked again. A no goes on counting. Nor does a merge bring questions and messages
of one to an address of the other: names are confirmed anew, and links that were sent are good for a yes no more.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, transaction
from django.db.models import Q
from psycopg.errors import DeadlockDetected

from facts import audit, erasure_plan, identities, lifecycle, outbox, subject_rows
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, DomainError
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import ConflictMember, ConflictSet, Event, Evidence, Fact, FactRevision, Subject, SubjectMerge
from facts.status_graph import FINAL, LIVE
from facts.tenancy import account_transaction
from facts.vocabulary import ConflictStatus, Level, Status
from governance import placement
from governance.access import Principal, is_read_by_curators
from governance.merging import rules
from governance.merging.rules import Pair
from governance.sharing import consent_links
from governance.sharing.consent_rule import consent_needed

#: Facts of a subject that are merged in one transaction, well under a minute.
MOST_FACTS = 5_000
#: Conflicts and facts that a preview shows in words.
SHOWN = 20
#: What the names and consents that moved stand under in the record of a merge.
NAMES, CONSENTS = "facts.Identity.subject", "governance.Consent.subject"
#: Rounds of taking locks until nothing came in between.
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a merge would change. ``conflicts``: pairs of statements that would contradict each other, as far as the
    caller reads them; all others are counted in ``conflicts_hidden``."""

    source: Subject
    target: Subject
    facts: int
    events: int
    names: int
    repeated: int
    superseded: int
    narrowed: int
    conflicts: list[tuple[str, ...]]
    conflicts_hidden: int


class _TakenBack(Exception):
    """Ends the trial of a preview."""


def merge(principal: Principal, *, source_id: uuid.UUID, target_id: uuid.UUID, rationale: str = "") -> SubjectMerge:
    """Say that the source is the target. Raises as :func:`governance.merging.rules.pair`, and ``Conflicting``:
    ``conflict_open``, ``try_again``; ``DomainError`` (``merge_too_large``); ``Refused`` (``human_required``,
    ``forbidden_scope``)."""
    with account_transaction(principal.account_id):
        actor = rules.deciding_actor(principal)
        return _merge(principal, source_id, target_id, actor=actor, rationale=rationale)


def preview(principal: Principal, *, source_id: uuid.UUID, target_id: uuid.UUID) -> Preview:
    """Return what :func:`merge` would do now, by doing it and taking it back; raises as that does."""
    seen: list[Preview] = []
    with account_transaction(principal.account_id):
        actor = rules.deciding_actor(principal)
        try:
            with transaction.atomic():
                made = _merge(principal, source_id, target_id, actor=actor, rationale="")
                seen.append(_seen(made))
                raise _TakenBack
        except _TakenBack:
            return seen[0]


def _merge(
    principal: Principal, source_id: uuid.UUID, target_id: uuid.UUID, *, actor: Actor, rationale: str
) -> SubjectMerge:
    both = _locked(principal, source_id, target_id, actor=actor)
    rules.refuse_open_conflicts(both)
    account_id, group, at = principal.account_id, new_id(), now()
    facts = list(
        Fact.objects.filter(account_id=account_id, subject=both.source).exclude(status__in=FINAL).order_by("id")
    )
    if len(facts) > MOST_FACTS:
        raise DomainError(
            f"At most {MOST_FACTS} facts are merged at once; merge the other way round.", code="merge_too_large"
        )
    versions = {fact.id: fact.version for fact in facts}
    again = _concerned(both, facts)
    cited = _cited_by(account_id, again)
    by = {"actor": actor, "reason": rationale[:500], "group": group}
    for fact in facts:
        _move(fact, both, waits=fact.id in again, by=by)
    rows = subject_rows.move(account_id, source=both.source.id, target=both.target.id)
    confirmed = identities.doubt_moved(account_id, rows.get(NAMES, ()), actor=actor, group=group)
    consent_links.ask_anew(account_id, rows.get(CONSENTS, ()))
    for fact in Fact.objects.filter(account_id=account_id, pk__in=again).order_by("valid_from", "id"):
        placement.place_waiting(fact, action="subject.merged", **by)
    Subject.objects.filter(account_id=account_id, pk=both.source.id).update(merged_into=both.target)
    made = SubjectMerge.objects.create(
        account_id=account_id,
        source=both.source,
        target=both.target,
        facts=_changes(account_id, versions, group=group),
        rows=rows,
        detail={
            "conflicts_opened": _opened(account_id, versions, at=at),
            "evidence": _brought(account_id, cited),
            "names_confirmed": confirmed,
        },
        rationale=rationale[:2000],
        actor=actor.as_json(),
        merged_at=at,
        group=group,
    )
    record(made, action="subject.merged", actor=actor, group=group)
    return made


def record(made: SubjectMerge, *, action: str, actor: Actor, group: uuid.UUID, **more: Any) -> None:
    """Write what happened to a merge into the audit chain, and tell the outbox."""
    told = {"source": str(made.source_id), "target": str(made.target_id)}
    audit.record(
        made.account_id,
        action=action,
        object_type="subject_merge",
        object_id=made.id,
        actor=actor,
        group=group,
        metadata={**told, "facts": len(made.facts), **more},
    )
    outbox.publish(made.account_id, topic=action, object_id=made.id, payload=told)


def lock_places(account_id: uuid.UUID, subjects: Iterable[Subject]) -> set[uuid.UUID]:
    """Lock these subjects wherever something is known or was said of one of them, in the order that everybody keeps.

    ``subjects`` are the source and the target. Returns the events of the source, which are locked as well.
    """
    source, target = subjects
    events = set(erasure_plan.own_events(source, within=None).values_list("id", flat=True))
    erasure_plan.lock_events(account_id, events)
    scopes = set(Fact.objects.filter(account_id=account_id, subject=source).values_list("scope_id", flat=True))
    scopes |= set(Event.objects.filter(account_id=account_id, pk__in=events).values_list("scope_id", flat=True))
    for scope_id, subject_id in sorted((scope, one.id) for scope in scopes for one in (source, target)):
        lock_subject(scope_id, subject_id)
    # Captures hold the subjects that they name: they come first, or find that the source is another one.
    list(Subject.objects.select_for_update().filter(pk=source.pk))
    list(Subject.objects.select_for_update(no_key=True).filter(pk=target.pk))
    return events


def _locked(principal: Principal, source_id: uuid.UUID, target_id: uuid.UUID, *, actor: Actor) -> Pair:
    """Return the pair under the locks of everybody who writes about either.

    A message that is being read may hold what is waited for, and wait for what is held: then locks are taken anew.
    """
    both = rules.pair(principal, source_id=source_id, target_id=target_id, actor=actor)
    for _ in range(_TRIES):
        try:
            with transaction.atomic():
                locked = lock_places(principal.account_id, (both.source, both.target))
                events = erasure_plan.own_events(both.source, within=None)
                if set(events.values_list("id", flat=True)) <= locked:
                    return rules.pair(principal, source_id=source_id, target_id=target_id, actor=actor)
                raise _CameBetween
        except _CameBetween:
            continue
        except OperationalError as error:
            if not isinstance(error.__cause__, DeadlockDetected):
                raise
    raise Conflicting("Too much is going on there just now.", code="try_again")


class _CameBetween(Exception):
    """Something was captured while the locks were taken."""


def _concerned(both: Pair, facts: Iterable[Fact]) -> set[uuid.UUID]:
    """Return the source's current facts about which the target says something in the same place."""
    known = Fact.objects.filter(account_id=both.target.account_id, subject=both.target, status__in=LIVE)
    said = set(known.exclude(predicate="").values_list("scope_id", "predicate"))
    hashes = set(known.filter(predicate="").values_list("scope_id", "statement_hash"))
    return {
        fact.id
        for fact in facts
        if fact.status == Status.ACTIVE
        and ((fact.scope_id, fact.predicate) in said or (fact.scope_id, fact.statement_hash) in hashes)
    }


def _move(fact: Fact, both: Pair, *, waits: bool, by: dict[str, Any]) -> None:
    """Make a fact one about the target; one that is planned again waits until then."""
    how = {"account_id": fact.account_id, "action": "subject.merged", **by}
    if waits:
        lifecycle.restore(fact.id, to_version=fact.version, as_candidate=True, **how)
    shared = consent_needed(subject_kind=both.source.kind, sensitivity=fact.sensitivity, level=fact.level)
    changes = {"level": Level.PEER} if shared else {}
    lifecycle.move_to_subject(fact.id, subject_id=both.target.id, changes=changes, **how)


def _changes(account_id: uuid.UUID, versions: dict[uuid.UUID, int], *, group: uuid.UUID) -> list[dict[str, Any]]:
    """Return which facts the merge led from which version to which, those of the target among them."""
    written: dict[uuid.UUID, list[int]] = {}
    rows = FactRevision.objects.filter(account_id=account_id, group=group).order_by("fact_id", "version")
    for fact_id, version in rows.values_list("fact_id", "version"):
        written.setdefault(fact_id, []).append(version)
    return [
        {
            "fact": str(fact_id),
            "from_version": versions.get(fact_id, found[0] - 1),
            "to_version": found[-1],
            "moved": fact_id in versions,
        }
        for fact_id, found in written.items()
    ]


def _opened(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID], *, at: Any) -> dict[str, int]:
    """Return the conflict sets that the merge opened, by version."""
    members = ConflictMember.objects.filter(account_id=account_id, fact_id__in=list(fact_ids), joined_at__gte=at)
    sets = ConflictSet.objects.filter(
        account_id=account_id, pk__in=members.values("conflict_set_id"), opened_at__gte=at
    )
    return {str(one.id): one.version for one in sets.filter(status=ConflictStatus.OPEN)}


def _cited_by(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    rows = Evidence.objects.filter(account_id=account_id, fact_id__in=list(fact_ids))
    return dict(rows.values_list("id", "fact_id"))


def _brought(account_id: uuid.UUID, cited: dict[uuid.UUID, uuid.UUID]) -> list[dict[str, str]]:
    """Return the evidence that supports another fact now, and which it supported before."""
    rows = Evidence.objects.filter(account_id=account_id, pk__in=cited).order_by("id")
    return [
        {"evidence": str(row_id), "from": str(cited[row_id]), "to": str(fact_id)}
        for row_id, fact_id in rows.values_list("id", "fact_id")
        if fact_id != cited[row_id]
    ]


def _seen(made: SubjectMerge) -> Preview:
    """Tell what a merge did, right after it."""
    account_id = made.account_id
    moved = [change["fact"] for change in made.facts if change["moved"]]
    before = {change["fact"]: change["from_version"] for change in made.facts}
    facts = {str(fact.id): fact for fact in Fact.objects.filter(account_id=account_id, pk__in=before)}
    earlier = Q(pk__in=())
    for fact_id, version in before.items():
        earlier |= Q(fact_id=fact_id, version=version)
    was = {
        str(row.fact_id): row
        for row in FactRevision.objects.filter(earlier, account_id=account_id).only("fact_id", "status", "level")
    }
    repeated = {one["from"] for one in made.detail["evidence"]}
    shown, hidden = [], 0
    for conflict_id in made.detail["conflicts_opened"]:
        members = list(
            Fact.objects.filter(account_id=account_id, conflict_memberships__conflict_set_id=conflict_id).order_by("id")
        )
        if len(shown) < SHOWN and all(is_read_by_curators(fact) for fact in members):
            shown.append(tuple(fact.statement for fact in members))
        else:
            hidden += 1
    return Preview(
        source=made.source,
        target=made.target,
        facts=len(moved),
        events=len(made.rows.get("facts.Event.subject", ())),
        names=len(made.rows.get(NAMES, ())),
        repeated=len(repeated),
        superseded=sum(
            facts[key].status == Status.SUPERSEDED and was[key].status == Status.ACTIVE and key not in repeated
            for key in before
            if key in was
        ),
        narrowed=sum(facts[key].level == Level.PEER and was[key].level != Level.PEER for key in moved if key in was),
        conflicts=shown,
        conflicts_hidden=hidden,
    )
