"""Reviews that nobody decides: escalated, then proposals are rejected; everything else waits for a person."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from facts import audit, conflict_sets
from facts.actors import pipeline
from facts.models import Account, AuditEntry, Fact, Suppression
from facts.tenancy import account_transaction
from facts.vocabulary import ConflictKind, Sensitivity, Status
from governance.models import GateDecision, Review, ReviewDecision, ReviewKind, ReviewStatus
from governance.reviewing import review_undo
from governance.sweeping import ageing
from tests.factories import JULY, MAY, AccountFactory, FactFactory, SubjectFactory, person_in, say, submit
from tests.governance.sharing_scene import scene_in

GRACE = timedelta(days=7)
LATER = MAY + GRACE

WAITING = {"predicate": "has_condition", "sensitivity": Sensitivity.RESTRICTED}


def _proposal(account: Account, *, due: datetime = MAY) -> Review:
    """Return the pending review of a fact that the gates left to a person."""
    placed = submit(SubjectFactory(account=account), {"condition": "asthma"}, **WAITING)
    Review.objects.filter(fact=placed.fact_id).update(due_at=due)
    return Review.objects.get(fact=placed.fact_id)


def _age(at, *moments: datetime) -> list[int]:
    changed = []
    for moment in moments:
        at(moment)
        changed.append(ageing.age())
    return changed


def test_a_proposal_is_escalated_when_due_and_rejected_after_the_grace(account: Account, at) -> None:
    review = _proposal(account)
    almost = timedelta(microseconds=1)
    assert _age(at, MAY - almost, MAY, MAY, LATER - almost) == [0, 1, 0, 0]
    review.refresh_from_db()
    assert (review.status, review.escalated_at, review.due_at) == (ReviewStatus.PENDING, MAY, LATER)
    assert _age(at, LATER, LATER, LATER + timedelta(days=900)) == [1, 0, 0]
    review.refresh_from_db()
    fact = Fact.objects.get()
    assert (review.status, review.decided_at, review.rationale) == (ReviewStatus.REJECTED, LATER, "aged_out")
    assert review.decided_by == {"kind": "sweeper", "name": "age_reviews"}
    assert fact.status == Status.REJECTED
    assert Suppression.objects.get().evidence_until == LATER
    said = GateDecision.objects.filter(actor__name="age_reviews").order_by("gate")
    assert list(said.values_list("gate", "outcome", "reasons")) == [
        ("A", "reject", ["aged_out"]),
        ("B", "wait", ["aged_out"]),
    ]
    decision = ReviewDecision.objects.get()
    assert decision.changes == [{"fact": str(fact.id), "from_version": fact.version - 1, "to_version": fact.version}]
    about = AuditEntry.objects.filter(object_type="review", object_id=str(review.id)).order_by("seq")
    assert list(about.values_list("action", flat=True)) == ["review.escalated", "review.aged_out"]
    assert list(audit.verify(account.id)) == []


def test_who_was_away_for_a_year_rejects_nothing_without_escalation(account: Account, at, settings) -> None:
    settings.REVIEW_GRACE_DAYS = 2
    review = _proposal(account)
    year = timedelta(days=365)
    assert _age(at, MAY + year, MAY + year + timedelta(days=1)) == [1, 0]
    review.refresh_from_db()
    assert (review.status, review.due_at) == (ReviewStatus.PENDING, MAY + year + timedelta(days=2))


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (ReviewKind.CONTEST, Status.DISPUTED),
        (ReviewKind.REVALIDATION, Status.NEEDS_REVALIDATION),
        (ReviewKind.CONFLICT, Status.HELD),
        (ReviewKind.POSSIBLE_CONFLICT, Status.ACTIVE),
    ],
)
def test_nothing_but_a_proposal_is_decided_by_its_age(account: Account, at, kind: str, status: str) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account), status=status)
    review = Review.objects.create(account=account, kind=kind, fact=fact, fact_version=1, due_at=MAY)
    assert _age(at, MAY, LATER, LATER + timedelta(days=900)) == [1, 0, 0]
    review.refresh_from_db()
    assert (review.status, review.escalated_at, review.due_at) == (ReviewStatus.PENDING, MAY, MAY)
    fact.refresh_from_db()
    assert (fact.status, fact.version) == (status, 1)


def test_a_second_look_at_what_was_placed_is_no_proposal(account: Account, at) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account))
    review = Review.objects.create(
        account=account,
        kind=ReviewKind.NEW_FACT,
        fact=fact,
        fact_version=1,
        due_at=MAY,
        reasons=[ageing.SECOND_LOOK],
    )
    assert _age(at, MAY, JULY, JULY) == [1, 0, 0]
    review.refresh_from_db()
    fact.refresh_from_db()
    assert (review.status, fact.status) == (ReviewStatus.PENDING, Status.ACTIVE)


def test_what_was_put_off_does_not_age(account: Account, at) -> None:
    review = _proposal(account)
    Review.objects.update(deferred_until=JULY)
    assert _age(at, JULY - timedelta(seconds=1), JULY) == [0, 1]
    review.refresh_from_db()
    assert review.escalated_at == JULY


@pytest.mark.parametrize("status", [ReviewStatus.APPROVED, ReviewStatus.REJECTED, ReviewStatus.WITHDRAWN])
def test_what_is_decided_stays_decided(account: Account, at, status: str) -> None:
    review = _proposal(account)
    Review.objects.update(status=status)
    assert _age(at, MAY, JULY) == [0, 0]
    review.refresh_from_db()
    assert (review.status, review.escalated_at) == (status, None)


def test_a_proposal_in_a_conflict_waits_for_the_decision_of_that(account: Account, at) -> None:
    review = _proposal(account)
    other = FactFactory(subject=review.fact.subject, scope=review.fact.scope)
    conflict = conflict_sets.open_set(
        account_id=account.id,
        scope_id=other.scope_id,
        subject_id=other.subject_id,
        kind=ConflictKind.CONTRADICTION,
        members=[(review.fact_id, True), (other.id, True)],
        reason="values_differ",
        actor=pipeline(),
    )
    before = list(Fact.objects.order_by("id").values_list("status", "version"))
    _age(at, MAY, JULY, JULY + timedelta(days=900))
    assert list(Fact.objects.order_by("id").values_list("status", "version")) == before
    conflict.refresh_from_db()
    assert conflict.status == "open"


def test_a_question_about_a_fact_that_waits_no_more_is_withdrawn(account: Account, at) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account))
    review = Review.objects.create(account=account, kind=ReviewKind.NEW_FACT, fact=fact, fact_version=1, due_at=MAY)
    _age(at, MAY, JULY)
    review.refresh_from_db()
    fact.refresh_from_db()
    assert (review.status, fact.status) == (ReviewStatus.WITHDRAWN, Status.ACTIVE)


def test_a_statement_about_nobody_known_is_let_go(account: Account, at) -> None:
    event = say(SubjectFactory(account=account))
    review = Review.objects.create(
        account=account,
        kind=ReviewKind.UNRESOLVED_SUBJECT,
        event=event,
        due_at=MAY,
        requested_by=pipeline().as_json(),
    )
    assert _age(at, MAY, LATER) == [1, 1]
    review.refresh_from_db()
    assert review.status == ReviewStatus.REJECTED


@pytest.mark.django_db(transaction=True)
def test_aged_at_the_same_moment(at, together) -> None:
    account = AccountFactory()
    with account_transaction(account.id):
        for _ in range(3):
            _proposal(account)
    at(MAY)
    assert together(ageing.age) == 3
    at(LATER)
    assert together(ageing.age) == 3
    with account_transaction(account.id):
        assert list(Review.objects.values_list("status", flat=True)) == [ReviewStatus.REJECTED] * 3
        assert ReviewDecision.objects.count() == Suppression.objects.count() == 3
        assert list(audit.verify(account.id)) == []


def test_what_is_brought_back_after_it_aged_out_ages_from_the_beginning(account: Account, at) -> None:
    review = _proposal(account)
    _age(at, MAY, LATER)
    review_undo.undo(person_in(account), ReviewDecision.objects.get().id)
    fact = Fact.objects.get()
    assert fact.status == Status.PROVISIONAL
    assert Suppression.objects.get().lifted_at is not None
    assert _age(at, JULY, JULY + GRACE - timedelta(seconds=1)) == [1, 0]
    review.refresh_from_db()
    assert (review.status, review.escalated_at, review.due_at) == (ReviewStatus.PENDING, JULY, JULY + GRACE)
    assert _age(at, JULY + GRACE) == [1]


def test_a_request_to_promote_lapses(account: Account, at) -> None:
    scene = scene_in(account)
    fact = scene.fact()
    promotion = scene.request(fact)
    Review.objects.update(due_at=MAY)
    assert _age(at, MAY, LATER) == [1, 1]
    promotion.refresh_from_db()
    review = Review.objects.get()
    assert (promotion.status, review.status, review.rationale) == ("rejected", ReviewStatus.REJECTED, "aged_out")
    fact.refresh_from_db()
    assert (fact.status, Fact.objects.count()) == (Status.ACTIVE, 1)
    assert _age(at, JULY) == [0]
