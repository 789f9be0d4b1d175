"""From a candidate to a fact: plan it, ask the gates, carry it out, all under the subject's lock.

Candidates come from ``ingest``; facts that waited for a person come back here when they are approved, and a candidate
whose conflict dissolved is planned anew. What waits hides and retires nothing; it is planned again when it is placed.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from facts import conflict_sets, index, lifecycle, withholding
from facts.account_secret import statement_key
from facts.actors import Actor
from facts.candidates import Candidate
from facts.canonical import normalise_predicate, normalise_text, statement_hash, value_key
from facts.claims import make_claim
from facts.clock import now
from facts.consolidation import Plan, Proposal, Verb, plan
from facts.embedding import Embedded
from facts.errors import Conflicting, DomainError
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import (
    ConflictSet,
    Event,
    Evidence,
    Fact,
    Passage,
    PredicateAlias,
    Relation,
    Scope,
    Subject,
)
from facts.models.conflicts import SuppressionCause
from facts.models.evidence import Withheld
from facts.planning_data import believed, near_facts, separations
from facts.suppressions import in_force
from facts.tenancy import ROOT
from facts.vocabulary import (
    SENSITIVITY_RANK,
    ConflictKind,
    Level,
    RelationKind,
    Sensitivity,
    Status,
    SubjectKind,
)
from governance.gating import gates
from governance.models import Gate, GateDecision, Review, ReviewKind, ReviewStatus
from governance.reviewing import second_look, unresolved
from governance.sharing import consent_records

#: Below this an extractor is guessing (calibration of the Mako seed: "below 0.5: not stored").
MINIMUM_CONFIDENCE = 0.5
#: Why a candidate is dropped whose words must not be served either.
_FORGOTTEN = frozenset(f"suppressed_{cause}" for cause in (SuppressionCause.FORGOTTEN, SuppressionCause.ERASED))


class Result(StrEnum):
    """What became of a candidate."""

    FACT = "fact"
    DUPLICATE = "duplicate"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A candidate with what the pipeline knows about it: its event and passage, its subject, its extractor.

    ``vector``: the statement's vector, when there is one.
    """

    event: Event
    passage: Passage | None
    subject: Subject
    candidate: Candidate
    evidence_level: str
    provider: str
    model: str
    prompt_version: str
    vector: Embedded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The answer: result, a stable reason, and the fact concerned with the status it has now."""

    result: Result
    reason: str
    fact_id: uuid.UUID | None = None
    status: str = ""


def submit(submission: Submission, *, actor: Actor, group: uuid.UUID | None = None) -> Placement:
    """Place one candidate. Runs in the caller's account transaction and takes the subject's lock until it ends.

    ``group`` joins what is written to a larger decision.
    """
    group = group or new_id()
    event, candidate = submission.event, submission.candidate
    if not candidate.confidence >= MINIMUM_CONFIDENCE:
        return Placement(result=Result.REJECTED, reason="low_confidence")
    lock_subject(event.scope_id, submission.subject.id)
    fact = fact_of(submission)
    proposal = _proposal(
        fact,
        event_id=event.id,
        said_at=event.occurred_at,
        start_stated=candidate.start_stated and candidate.valid_from is not None,
        end_stated=candidate.end_stated,
        marker=bool(candidate.update_marker),
        human=event.human,
    )
    decided = _plan(fact, proposal, vector=submission.vector)
    match decided.verb:
        case Verb.DROP:
            said = Evidence(event=event, passage=submission.passage, quote=candidate.quote, human=event.human)
            _hide_with_forgotten(event.account_id, decided, [said])
            return Placement(result=Result.REJECTED, reason=decided.reason)
        case Verb.NOTHING:
            known = Fact.objects.get(account_id=event.account_id, pk=decided.targets[0])
            return Placement(result=Result.DUPLICATE, reason=decided.reason, fact_id=known.id, status=known.status)
        case Verb.REINFORCE | Verb.LINK:
            return _support(decided, submission, actor=actor, group=group)
    return _place_new(fact, decided, submission, actor=actor, group=group)


def place_waiting(fact: Fact, *, actor: Actor, action: str, reason: str = "", group: uuid.UUID | None = None) -> Fact:
    """Place a fact that waited (approved by a person, or left alone by a dissolved conflict), planning it anew.

    Raises ``Conflicting`` (``consent_missing``) for what its subject has to agree to and has not.
    """
    lock_subject(fact.scope_id, fact.subject_id)
    fact = (
        Fact.objects.select_for_update().select_related("subject", "scope").get(account_id=fact.account_id, pk=fact.pk)
    )
    if not consent_records.is_settled(fact):
        raise Conflicting("Its subject has not agreed to this yet.", code="consent_missing")
    newest = (
        Event.objects.filter(account_id=fact.account_id, evidence__fact=fact).order_by("-occurred_at", "-id").first()
    )
    proposal = _proposal(
        fact,
        event_id=newest.id if newest else fact.id,
        said_at=newest.occurred_at if newest else fact.recorded_from,
        start_stated=not fact.start_assumed,
        end_stated=fact.valid_to is not None,
        marker=fact.came_by_marker,
        human=True,
        fact_id=fact.id,
    )
    decided = _plan(fact, proposal, vector=None)
    common = {"actor": actor, "action": action, "reason": reason, "group": group or new_id()}
    if decided.verb in {Verb.NOTHING, Verb.REINFORCE, Verb.LINK, Verb.DROP}:
        return _merge_into(fact, decided, said_at=proposal.said_at, **common)
    changes = {"starts_later": False} if fact.starts_later else {}
    return _carry_out(fact, decided, changes=changes, **common)


def place_copy(
    origin: Fact, *, target: Scope, cell: dict[str, Any], actor: Actor, reason: str, group: uuid.UUID
) -> Fact:
    """Place what a fact says in a scope above it, with the same evidence: both gates pass by this person.

    The caller holds the subject's locks in both scopes and has seen to consent. Raises ``Conflicting``:
    ``already_known`` where the target says the same already, ``suppressed`` where it may not be said again.
    """
    copy = _copy_of(origin, target=target)
    proposal = _proposal(
        copy,
        event_id=copy.id,
        said_at=copy.last_reinforced_at or copy.valid_from or origin.recorded_from,
        start_stated=not copy.start_assumed,
        end_stated=copy.valid_to is not None,
        marker=copy.came_by_marker,
        human=True,
    )
    decided = _plan(copy, proposal, vector=None)
    if decided.verb is Verb.DROP:
        raise Conflicting("What was forgotten or rejected is not said again.", code="suppressed")
    if decided.verb in {Verb.NOTHING, Verb.REINFORCE, Verb.LINK}:
        raise Conflicting("The target says the same already.", code="already_known")
    common = {"actor": actor, "reason": reason, "group": group}
    copy = lifecycle.insert(copy, action="promotion.copied", **common)
    shared = Evidence.objects.filter(account_id=origin.account_id, fact=origin)
    Evidence.objects.bulk_create(
        Evidence(
            account_id=origin.account_id,
            fact=copy,
            event_id=one.event_id,
            passage_id=one.passage_id,
            quote=one.quote,
            human=one.human,
        )
        for one in shared
    )
    Relation.objects.create(
        account_id=origin.account_id, source_id=copy.id, target_id=origin.id, kind=RelationKind.PROMOTED_FROM
    )
    passed = dict.fromkeys(Gate.values, (gates.GateOutcome.PASS, ("approved",)))
    record_gates(copy, outcomes=passed, cell=cell, actor=actor)
    return _carry_out(copy, decided, action="promotion.placed", **common)


def place_deduction(fact: Fact, *, rests_on: Iterable[uuid.UUID], actor: Actor, group: uuid.UUID) -> Placement:
    """Place a fact that was deduced from others (``governance.deductions.fact_of``), through both gates.

    ``rests_on``: the facts that it cites, and what those rest on in turn. It has no source of its own, so it reinforces
    nothing. The caller holds the subject's lock.
    """
    proposal = _proposal(
        fact,
        event_id=fact.id,
        said_at=fact.valid_from or now(),
        start_stated=False,
        end_stated=fact.valid_to is not None,
        marker=False,
        human=False,
    )
    decided = _plan(fact, proposal, vector=None)
    if decided.verb is Verb.DROP:
        return Placement(result=Result.REJECTED, reason=decided.reason)
    if decided.verb in {Verb.NOTHING, Verb.REINFORCE, Verb.LINK}:
        return Placement(result=Result.DUPLICATE, reason=decided.reason, fact_id=decided.targets[0])
    fact = lifecycle.insert(fact, actor=actor, action="fact.deduced", reason=decided.reason, group=group)
    Relation.objects.bulk_create(
        Relation(account_id=fact.account_id, source_id=fact.id, target_id=target, kind=RelationKind.DERIVED_FROM)
        for target in rests_on
    )
    withholding.refresh(fact.account_id, [fact.id])
    return _judge_and_place(fact, decided, actor=actor, group=group)


def level_at(scope: Scope) -> str:
    """Return how widely what is placed for everybody in a scope may be seen."""
    return Level.ACCOUNT if scope.path == ROOT else Level.SCOPE


def _copy_of(origin: Fact, *, target: Scope) -> Fact:
    """Return the unsaved fact that says at ``target`` what ``origin`` says, as wide as that scope is."""
    same = {field.attname: getattr(origin, field.attname) for field in Fact._meta.concrete_fields}
    return Fact(
        **{
            **same,
            "id": new_id(),
            "scope_id": target.id,
            "level": level_at(target),
            "status": Status.CANDIDATE,
            "withheld": Withheld.NOTHING,
            "possibly_conflicting": False,
            "starts_later": False,
            "recorded_from": now(),
            "recorded_to": None,
            "version": 1,
        }
    )


def report_unresolved(event: Event, candidate: Candidate, *, actor: Actor) -> Review:
    """Queue a statement about somebody whom nobody could name: a person says who is meant."""
    return Review.objects.create(
        account_id=event.account_id,
        kind=ReviewKind.UNRESOLVED_SUBJECT,
        event=event,
        detail=unresolved.detail_of(candidate),
        reasons=["subject_unresolved"],
        requested_by=actor.as_json(),
        due_at=now() + timedelta(days=gates.REVIEW_DUE_DAYS),
    )


def default_audience(subject: Subject, event: Event, raised: str | None) -> tuple[str, str]:
    """Return (level, sensitivity): facts about persons start personal at peer level, others internal at scope level.

    An extractor may raise the sensitivity and never lower it; so does a restricted event.
    """
    if subject.kind == SubjectKind.PERSON:
        level, sensitivity = Level.PEER, Sensitivity.PERSONAL
    else:
        level, sensitivity = Level.SCOPE, Sensitivity.INTERNAL
    asked = [sensitivity, raised or sensitivity]
    if event.sensitivity == Sensitivity.RESTRICTED:
        asked.append(Sensitivity.RESTRICTED)
    return level, max(asked, key=SENSITIVITY_RANK.__getitem__)


def fact_of(submission: Submission) -> Fact:
    """Build the unsaved fact that a submission would become."""
    event, candidate, subject = submission.event, submission.candidate, submission.subject
    statement = normalise_text(candidate.statement)
    if not statement:
        raise DomainError("A fact needs a statement.", code="statement_missing", field="statement")
    level, sensitivity = default_audience(subject, event, candidate.sensitivity)
    predicate = _canonical_predicate(event.account_id, candidate.predicate) if candidate.has_claim else ""
    hashed = statement_hash(statement_key(event.account_id), statement)
    claim = make_claim(
        statement_hash=hashed,
        predicate=predicate,
        value=candidate.value if predicate else None,
        qualifiers=candidate.qualifiers,
        denies=candidate.denies,
        form=candidate.form,
    )
    starts_at, ends_at = _interval(candidate, event)
    return Fact(
        account=event.account,
        scope=event.scope,
        subject=subject,
        level=level,
        sensitivity=sensitivity,
        status=Status.CANDIDATE,
        statement=statement,
        statement_hash=hashed,
        category=candidate.category,
        kind=candidate.kind,
        form=candidate.form,
        predicate=claim.predicate,
        value=dict(candidate.value) if claim.predicate else None,
        qualifiers=dict(candidate.qualifiers) if claim.predicate else {},
        identity_key=claim.identity_key,
        value_key=claim.value_key,
        denies=claim.denies,
        denial_key=claim.value_key if claim.denies else "",
        confidence=min(1.0, max(0.0, candidate.confidence)),
        evidence_level=submission.evidence_level,
        origin_trust=event.origin_trust,
        volatility=candidate.volatility,
        valid_from=starts_at,
        valid_to=ends_at,
        start_assumed=not (candidate.start_stated and candidate.valid_from is not None),
        came_by_marker=bool(candidate.update_marker),
        corroboration=int(event.human),
        extractor_provider=submission.provider,
        extractor_model=submission.model,
        prompt_version=submission.prompt_version,
    )


def _interval(candidate: Candidate, event: Event) -> tuple[datetime | None, datetime | None]:
    """Return when a candidate holds: an unstated start is the event's time, and unknown for what was over by then."""
    start, end = candidate.valid_from, candidate.valid_to
    if start is None:
        over_before = end is not None and end <= event.occurred_at
        return (None if over_before else event.occurred_at), end
    return start, end if end is None or end >= start else None


def _canonical_predicate(account_id: uuid.UUID, predicate: str) -> str:
    name = normalise_predicate(predicate)
    alias = PredicateAlias.objects.filter(account_id=account_id, alias=name).values_list("canonical", flat=True)
    return alias.first() or name


def _proposal(
    fact: Fact,
    *,
    event_id: uuid.UUID,
    said_at: datetime,
    start_stated: bool,
    end_stated: bool,
    marker: bool,
    human: bool,
    fact_id: uuid.UUID | None = None,
) -> Proposal:
    claim = make_claim(
        statement_hash=fact.statement_hash,
        predicate=fact.predicate,
        value=fact.value,
        qualifiers=fact.qualifiers,
        denies=fact.denies,
        form=fact.form,
    )
    return Proposal(
        claim=claim,
        event_id=event_id,
        said_at=said_at,
        starts_at=fact.valid_from if fact.valid_from or end_stated else said_at,
        start_stated=start_stated,
        ends_at=fact.valid_to,
        end_stated=end_stated,
        marker=marker,
        origin_trust=fact.origin_trust,
        evidence_level=fact.evidence_level,
        human=human,
        fact_id=fact_id,
    )


def _plan(fact: Fact, proposal: Proposal, *, vector: Embedded | None) -> Plan:
    """Plan against what is believed; look for near matches only where nothing else was found."""
    facts, open_sets = believed(
        account_id=fact.account_id, scope_id=fact.scope_id, subject_id=fact.subject_id, claim=proposal.claim
    )
    known = {
        "suppressions": in_force(fact.account_id, fact.subject, proposal.claim),
        "separated_from": separations(fact.account_id, proposal.fact_id),
        "now": now(),
    }
    decided = plan(proposal, facts=facts, open_sets=open_sets, **known)
    if decided.verb is not Verb.CREATE or not proposal.claim.is_state or vector is None:
        return decided
    near = near_facts(account_id=fact.account_id, scope_id=fact.scope_id, subject_id=fact.subject_id, vector=vector)
    everything = {item.id: item for item in (*facts, *near)}
    return plan(proposal, facts=[*everything.values()], open_sets=open_sets, near=[item.id for item in near], **known)


def _support(decided: Plan, submission: Submission, *, actor: Actor, group: uuid.UUID) -> Placement:
    """Attach the event to the fact it repeats; a new human source also reinforces it."""
    account_id = submission.event.account_id
    fact = Fact.objects.get(account_id=account_id, pk=decided.targets[0])
    _, created = Evidence.objects.get_or_create(
        account_id=account_id,
        fact=fact,
        event=submission.event,
        defaults={
            "passage": submission.passage,
            "quote": submission.candidate.quote,
            "human": submission.event.human,
        },
    )
    if created and decided.verb is Verb.REINFORCE:
        fact = reinforce(fact, submission.event.occurred_at, actor=actor, reason=decided.reason, group=group)
        fact = accept_if_settled(fact, actor=actor, reason="corroborated", group=group)
    elif created:
        withholding.refresh(account_id, [fact.id])
    return Placement(result=Result.DUPLICATE, reason=decided.reason, fact_id=fact.id, status=fact.status)


def _hide_with_forgotten(account_id: uuid.UUID, decided: Plan, said: Iterable[Evidence]) -> None:
    """Let forgotten facts cite what repeats them: its passages are withheld with theirs, and come back with them."""
    if decided.reason not in _FORGOTTEN:
        return
    Evidence.objects.bulk_create(
        (
            Evidence(
                account_id=account_id,
                fact_id=forgotten,
                event_id=one.event_id,
                passage_id=one.passage_id,
                quote=one.quote,
                human=one.human,
            )
            for forgotten in decided.targets
            for one in said
        ),
        ignore_conflicts=True,
    )
    withholding.refresh(account_id, decided.targets)


def reinforce(fact: Fact, said_at: datetime, *, actor: Actor, reason: str, group: uuid.UUID | None = None) -> Fact:
    """Count the human sources of a fact anew, and move its last confirmation forward, never back."""
    sources = Evidence.objects.filter(account_id=fact.account_id, fact=fact, human=True)
    # An edited message is a new event of the same source.
    changes: dict[str, Any] = {"corroboration": sources.values("event__source_key").distinct().count()}
    if fact.last_reinforced_at is None or said_at > fact.last_reinforced_at:
        changes["last_reinforced_at"] = max(said_at, fact.valid_from or said_at)
    return lifecycle.amend(
        fact.id,
        account_id=fact.account_id,
        actor=actor,
        action="fact.reinforced",
        changes=changes,
        reason=reason,
        group=group,
    )


def accept_if_settled(fact: Fact, *, actor: Actor, reason: str, group: uuid.UUID | None = None) -> Fact:
    """Place a fact that waited for more sources or for consent, once nothing is missing; nobody is asked any more."""
    waiting = Review.objects.filter(
        account_id=fact.account_id, fact=fact, kind=ReviewKind.NEW_FACT, status=ReviewStatus.PENDING
    )
    if fact.status not in {Status.PROVISIONAL, Status.HELD} or not waiting.exists():
        return fact
    verdict = judge(fact)
    if not verdict.accepted:
        return fact
    _record_verdict(fact, verdict, actor=actor)
    waiting.update(status=ReviewStatus.WITHDRAWN, decided_by=actor.as_json(), decided_at=now())
    return place_waiting(fact, actor=actor, action="gate.accepted", reason=reason, group=group)


def _place_new(fact: Fact, decided: Plan, submission: Submission, *, actor: Actor, group: uuid.UUID) -> Placement:
    """Write the fact with its evidence, and place it."""
    event = submission.event
    fact = lifecycle.insert(fact, actor=actor, action="fact.proposed", reason=decided.reason, group=group)
    Evidence.objects.create(
        account_id=fact.account_id,
        fact=fact,
        event=event,
        passage=submission.passage,
        quote=submission.candidate.quote,
        human=event.human,
    )
    write_vector(fact, submission.vector)
    return _judge_and_place(fact, decided, actor=actor, group=group)


def _judge_and_place(fact: Fact, decided: Plan, *, actor: Actor, group: uuid.UUID) -> Placement:
    """Ask both gates about a written fact, and do what they and the plan say."""
    verdict = ask_gates(fact, actor=actor)
    if verdict.rejected:
        reason = verdict.reasons_a[0]
        fact = lifecycle.transition(
            fact.id,
            account_id=fact.account_id,
            to=Status.REJECTED,
            actor=actor,
            action="gate.rejected",
            reason=reason,
            group=group,
        )
        return Placement(result=Result.REJECTED, reason=reason, fact_id=fact.id, status=fact.status)
    if not verdict.accepted:
        fact = _wait(fact, verdict, actor=actor, group=group)
        return Placement(result=Result.FACT, reason="waits_for_review", fact_id=fact.id, status=fact.status)
    changes = _revalidation(verdict.cell)
    fact = _carry_out(
        fact, decided, actor=actor, action="gate.accepted", reason=decided.reason, group=group, changes=changes
    )
    second_look.ask_for(fact, actor=actor)
    return Placement(result=Result.FACT, reason=decided.reason, fact_id=fact.id, status=fact.status)


def write_vector(fact: Fact, vector: Embedded | None) -> None:
    if vector is not None:
        index.write_fact_vectors(fact.account_id, vectors=[(fact.id, vector)])


def ask_gates(fact: Fact, *, actor: Actor) -> gates.Verdict:
    """Ask both gates about a written fact, and its subject if that is what is missing; keep both answers."""
    verdict = judge(fact)
    if gates.CONSENT_MISSING in verdict.reasons_b and not verdict.rejected:
        consent_records.ask(fact, target_id=fact.scope_id, actor=actor)
        verdict = judge(fact)
    _record_verdict(fact, verdict, actor=actor)
    return verdict


def judge(fact: Fact) -> gates.Verdict:
    """Return what both gates say of a fact, by the rule that holds for it now."""
    question = gates.Question(
        level=fact.level,
        sensitivity=fact.sensitivity,
        subject_kind=fact.subject.kind,
        kind=fact.kind,
        evidence_level=fact.evidence_level,
        origin_trust=fact.origin_trust,
        corroboration=fact.corroboration,
        consent_given=consent_records.needs_consent(fact) and consent_records.is_granted(fact),
    )
    cell = gates.find_cell(
        gates.rules_of(fact.account_id),
        scope_path=fact.scope.path,
        preset=fact.account.gate_preset,
        level=fact.level,
        sensitivity=fact.sensitivity,
        subject_kind=fact.subject.kind,
    )
    return gates.judge(question, cell)


def _record_verdict(fact: Fact, verdict: gates.Verdict, *, actor: Actor) -> None:
    record_gates(
        fact,
        outcomes={Gate.A: (verdict.gate_a, verdict.reasons_a), Gate.B: (verdict.gate_b, verdict.reasons_b)},
        cell=verdict.cell.as_json(),
        actor=actor,
    )


def record_gates(
    fact: Fact,
    *,
    outcomes: dict[str, tuple[str, Sequence[str]]],
    cell: dict[str, Any],
    actor: Actor,
) -> None:
    """Write the immutable row of each gate's answer."""
    GateDecision.objects.bulk_create(
        GateDecision(
            account_id=fact.account_id,
            fact=fact,
            gate=gate,
            outcome=outcome,
            cell=cell,
            reasons=list(reasons),
            actor=actor.as_json(),
        )
        for gate, (outcome, reasons) in outcomes.items()
    )


def revalidation_of(fact: Fact) -> dict[str, Any]:
    """Return when a fact that has just been confirmed is to be asked about again, as its rule says; ``None``: never."""
    return {"revalidate_after": None, **_revalidation(judge(fact).cell)}


def _revalidation(cell: gates.Cell) -> dict[str, Any]:
    if cell.revalidate_after_days is None:
        return {}
    return {"revalidate_after": now() + timedelta(days=cell.revalidate_after_days)}


def _wait(fact: Fact, verdict: gates.Verdict, *, actor: Actor, group: uuid.UUID) -> Fact:
    """Keep the fact for a person: its own subject may see it meanwhile at peer level, nobody above."""
    fact = lifecycle.transition(
        fact.id,
        account_id=fact.account_id,
        to=gates.placed_status(verdict, level=fact.level),
        actor=actor,
        action="gate.waits",
        reason=",".join([*verdict.reasons_a, *verdict.reasons_b]),
        group=group,
    )
    Review.objects.create(
        account_id=fact.account_id,
        kind=ReviewKind.NEW_FACT,
        fact=fact,
        fact_version=fact.version,
        reasons=[*verdict.reasons_a, *verdict.reasons_b],
        requested_by=actor.as_json(),
        due_at=now() + timedelta(days=verdict.cell.review_due_days),
    )
    return fact


def _merge_into(
    fact: Fact, decided: Plan, *, said_at: datetime, actor: Actor, action: str, reason: str, group: uuid.UUID
) -> Fact:
    """Let a waiting fact that says nothing new give its evidence to the one that says it already."""
    common = {"account_id": fact.account_id, "actor": actor, "action": action, "group": group}
    if decided.verb is Verb.DROP:
        _hide_with_forgotten(fact.account_id, decided, Evidence.objects.filter(account_id=fact.account_id, fact=fact))
        return lifecycle.transition(fact.id, to=Status.REJECTED, reason=decided.reason, **common)
    target = Fact.objects.get(account_id=fact.account_id, pk=decided.targets[0])
    taken = Evidence.objects.filter(account_id=fact.account_id, fact=target).values("event_id")
    moved = Evidence.objects.filter(account_id=fact.account_id, fact=fact).exclude(event_id__in=taken)
    if moved.update(fact=target) and decided.verb is Verb.REINFORCE:
        reinforce(target, said_at, actor=actor, reason=decided.reason, group=group)
    else:
        withholding.refresh(fact.account_id, [target.id])
    _supersedes(target, fact.id)
    return lifecycle.transition(
        fact.id,
        to=Status.SUPERSEDED,
        reason=reason or decided.reason,
        changes={"valid_to": fact.valid_from} if fact.valid_from else {},
        **common,
    )


def _carry_out(
    fact: Fact,
    decided: Plan,
    *,
    actor: Actor,
    action: str,
    reason: str,
    group: uuid.UUID,
    changes: dict[str, Any] | None = None,
) -> Fact:
    """Do what the plan says with an accepted fact, from whatever waiting status it has."""
    common = {"account_id": fact.account_id, "actor": actor, "reason": reason, "group": group}
    changes = {**(changes or {}), **_completed_value(fact, decided)}
    for ended in decided.ended:
        lifecycle.transition(ended, to=Status.EXPIRED, action="fact.ended", **common)
    match decided.verb:
        case Verb.CREATE:
            lifecycle.transition(fact.id, to=Status.ACTIVE, action=action, changes=changes, **common)
            _mark_possible(fact, decided.possible, actor=actor, group=group)
        case Verb.SUPERSEDE:
            for old in decided.targets:
                ends = {"valid_to": fact.valid_from, **({"valid_from": None} if old in decided.clears_start else {})}
                lifecycle.transition(old, to=Status.SUPERSEDED, action="fact.superseded", changes=ends, **common)
                _supersedes(fact, old)
            lifecycle.transition(fact.id, to=Status.ACTIVE, action=action, changes=changes, **common)
        case Verb.SCHEDULE:
            # What is left unsaid is carried over at the swap, from what holds then.
            _stay_or_become(fact, Status.HELD, {"starts_later": True}, action=action, common=common)
        case Verb.PLACE_IN_HISTORY:
            for earlier in decided.truncates:
                lifecycle.amend(earlier, action="fact.truncated", changes={"valid_to": fact.valid_from}, **common)
            over = {**changes, "valid_to": decided.ends_at}
            lifecycle.transition(fact.id, to=Status.SUPERSEDED, action=action, changes=over, **common)
            for newer in Fact.objects.filter(account_id=fact.account_id, pk__in=decided.targets):
                _supersedes(newer, fact.id)
        case Verb.OPEN_CONFLICT:
            if changes:
                lifecycle.amend(fact.id, action=action, changes=changes, **common)
            _open_conflict(fact, decided, actor=actor, group=group)
        case Verb.JOIN_CONFLICT:
            if changes:
                lifecycle.amend(fact.id, action=action, changes=changes, **common)
            conflict_sets.join(
                ConflictSet.objects.get(account_id=fact.account_id, pk=decided.set_id),
                fact_id=fact.id,
                withheld=decided.hides_candidate,
                kind=decided.kind,
                also_withheld=decided.withheld,
                actor=actor,
                group=group,
            )
    return _read_again(fact)


def _read_again(fact: Fact) -> Fact:
    """Return a fact as it is stored now; where it belongs is kept, which no plan changes."""
    account, scope, subject = fact.account, fact.scope, fact.subject
    fact.refresh_from_db()
    fact.account, fact.scope, fact.subject = account, scope, subject
    return fact


def _stay_or_become(fact: Fact, to: str, changes: dict[str, Any], *, action: str, common: dict[str, Any]) -> None:
    if fact.status == to:
        lifecycle.amend(fact.id, action=action, changes=changes, **common)
    else:
        lifecycle.transition(fact.id, to=to, action=action, changes=changes, **common)


def _completed_value(fact: Fact, decided: Plan) -> dict[str, Any]:
    """Return the change of value that makes a fact whole: what an update left unsaid, without the keys it removes."""
    if fact.value is None or decided.verb not in {Verb.CREATE, Verb.SUPERSEDE, Verb.PLACE_IN_HISTORY}:
        return {}
    stated = fact.value if decided.value is None else decided.value
    value = {key: item for key, item in stated.items() if item is not None}
    return {} if value == fact.value else {"value": value, "value_key": value_key(value, denies=fact.denies)}


def _supersedes(newer: Fact, older_id: uuid.UUID) -> None:
    Relation.objects.get_or_create(
        account_id=newer.account_id, source_id=newer.id, target_id=older_id, kind=RelationKind.SUPERSEDES
    )


def _open_conflict(fact: Fact, decided: Plan, *, actor: Actor, group: uuid.UUID) -> None:
    members = [(target, target in decided.withheld) for target in decided.targets]
    members.append((fact.id, decided.hides_candidate))
    conflict_sets.open_set(
        account_id=fact.account_id,
        scope_id=fact.scope_id,
        subject_id=fact.subject_id,
        kind=decided.kind,
        members=members,
        reason=decided.reason,
        identity_key=fact.identity_key,
        actor=actor,
        group=group,
    )


def _mark_possible(fact: Fact, possible: Sequence[uuid.UUID], *, actor: Actor, group: uuid.UUID) -> None:
    """Open one set over near matches that may contradict; it hides nothing."""
    if not possible:
        return
    conflict_sets.open_set(
        account_id=fact.account_id,
        scope_id=fact.scope_id,
        subject_id=fact.subject_id,
        kind=ConflictKind.POSSIBLE,
        members=[*((other, False) for other in possible), (fact.id, False)],
        reason="near_match",
        actor=actor,
        group=group,
    )


def due_starts(account_id: uuid.UUID, at: datetime) -> list[Fact]:
    """Return the held facts whose stated start has come: the sweep places them, and the old value ends."""
    return list(
        Fact.objects.filter(account_id=account_id, status=Status.HELD, starts_later=True, valid_from__lte=at).order_by(
            "valid_from", "id"
        )
    )
