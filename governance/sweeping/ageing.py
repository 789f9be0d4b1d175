"""Reviews that nobody decides: all are escalated once, and proposals are rejected when that helps nothing.

Silence never turns into memory, and never into a verdict on what is believed already: a conflict, a contest, a
revalidation and a second look wait for a person however long it takes.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet

from facts import audit, conflict_sets, lifecycle, suppressions
from facts.actors import sweeper
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import Fact
from facts.models.conflicts import SuppressionCause
from facts.vocabulary import Status
from governance.gating.gates import GateOutcome
from governance.models import Gate, Review, ReviewDecision, ReviewKind, ReviewStatus, ReviewVerb
from governance.placement import record_gates
from governance.reviewing.reviews import withdraw_for
from governance.reviewing.second_look import SECOND_LOOK, is_second_look
from governance.sharing import promotion_records
from governance.sweeping.rounds import Sweep, run

ACTOR = sweeper("age_reviews")
REASON = "aged_out"

#: What asks for something new: without an answer it does not come to be.
PROPOSALS = frozenset({ReviewKind.NEW_FACT, ReviewKind.PROMOTION, ReviewKind.UNRESOLVED_SUBJECT, ReviewKind.DIRECTIVE})
_WAITING = frozenset({Status.CANDIDATE, Status.PROVISIONAL, Status.HELD})


def age() -> int:
    """Escalate what is overdue and reject proposals that are overdue again; return how many reviews changed.

    From the escalation on a proposal has ``REVIEW_GRACE_DAYS`` more, however late this runs. Raises
    ``SweepIncomplete``.
    """
    return run(Sweep(name=ACTOR.name, due=_due, settle=_settle))


def _due(account_id: uuid.UUID, at: datetime) -> QuerySet[Review]:
    return Review.objects.filter(_is_due(at), account_id=account_id)


def _is_due(at: datetime) -> Q:
    put_off = Q(deferred_until__gt=at)
    proposal = Q(kind__in=PROPOSALS) & ~Q(reasons__contains=[SECOND_LOOK])
    return Q(status=ReviewStatus.PENDING, due_at__lte=at) & ~put_off & (Q(escalated_at__isnull=True) | proposal)


def _settle(account_id: uuid.UUID, ids: Sequence[uuid.UUID], at: datetime) -> int:
    (review_id,) = ids
    fact = Fact.objects.filter(account_id=account_id, reviews=review_id).first()
    if fact is not None:
        lock_subject(fact.scope_id, fact.subject_id)
    review = Review.objects.select_for_update().filter(_is_due(at), account_id=account_id, pk=review_id).first()
    if review is None:
        return 0
    if review.escalated_at is None:
        _escalate(review, at)
        return 1
    return _reject(review, at)


def _escalate(review: Review, at: datetime) -> None:
    review.escalated_at = at
    if _is_proposal(review):
        review.due_at = at + timedelta(days=settings.REVIEW_GRACE_DAYS)
    review.save(update_fields=["escalated_at", "due_at"])
    _record(review, "review.escalated", group=new_id())


def _is_proposal(review: Review) -> bool:
    return review.kind in PROPOSALS and not is_second_look(review)


def _reject(review: Review, at: datetime) -> int:
    """Reject a proposal; one about a fact that is a side of an open conflict waits for the decision of that."""
    group = new_id()
    if review.kind == ReviewKind.PROMOTION:
        promotion_records.lapse(review, actor=ACTOR)
    elif review.fact_id is None:
        _close(review, ReviewStatus.REJECTED, at)
    else:
        fact = Fact.objects.get(account_id=review.account_id, pk=review.fact_id)
        if conflict_sets.is_contested(fact):
            return 0
        if fact.status not in _WAITING:
            _close(review, ReviewStatus.WITHDRAWN, at)
            return 1
        _reject_fact(review, fact, at, group=group)
    _record(review, "review.aged_out", group=group)
    return 1


def _reject_fact(review: Review, fact: Fact, at: datetime, *, group: uuid.UUID) -> None:
    """Reject as a person would, so that it can be undone in the same way."""
    before = fact.version
    outcomes = {Gate.A: (GateOutcome.REJECT, (REASON,)), Gate.B: (GateOutcome.WAIT, (REASON,))}
    record_gates(fact, outcomes=outcomes, cell={"review": str(review.id)}, actor=ACTOR)
    fact = lifecycle.transition(
        fact.id,
        account_id=fact.account_id,
        to=Status.REJECTED,
        actor=ACTOR,
        action="review.aged_out",
        reason=REASON,
        expected_version=before,
        group=group,
    )
    suppressions.suppress(fact, cause=SuppressionCause.REJECTED, actor=ACTOR, evidence_until=at)
    _close(review, ReviewStatus.REJECTED, at)
    withdraw_for([fact.id], account_id=fact.account_id, actor=ACTOR)
    ReviewDecision.objects.create(
        account_id=review.account_id,
        review=review,
        verb=ReviewVerb.REJECT,
        changes=[{"fact": str(fact.id), "from_version": before, "to_version": fact.version}],
        actor=ACTOR.as_json(),
        decided_at=at,
        group=group,
    )


def _close(review: Review, status: str, at: datetime) -> None:
    review.status, review.decided_by, review.decided_at = status, ACTOR.as_json(), at
    review.rationale = REASON
    review.save(update_fields=["status", "decided_by", "decided_at", "rationale"])


def _record(review: Review, action: str, *, group: uuid.UUID) -> None:
    audit.record(
        review.account_id,
        action=action,
        object_type="review",
        object_id=review.id,
        actor=ACTOR,
        group=group,
        metadata={"kind": review.kind, **({"fact": str(review.fact_id)} if review.fact_id else {})},
    )
