"""Taking decisions about reviews back: everything is as before, unless something has built on them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facts import lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.errors import Conflicting, NotFound, Refused
from facts.models import ConflictSet, Evidence, Fact, Relation
from governance import placement
from governance.models import Review, ReviewDecision, Role
from governance.reviewing import review_undo, reviews
from tests.factories import (
    JANUARY,
    MARCH,
    MAY,
    FactFactory,
    GateRuleFactory,
    SubjectFactory,
    candidate,
    person_in,
    say,
    submit,
    submitted_fact,
    unknown_id,
)

#: What of a fact an undo brings back.
NAMES = ("status", "valid_from", "valid_to", "corroboration", "last_reinforced_at", "revalidate_after")


@pytest.fixture
def ada(account):
    """A person who is spoken about."""
    return SubjectFactory(account=account, key="ada")


@pytest.fixture
def curator(account):
    """A person who may decide everywhere in the account."""
    return person_in(account)


@pytest.fixture
def rule(account):
    """Everything personal about persons waits for a person."""
    return GateRuleFactory(account=account, gate_a="human")


def state(*facts: Fact) -> list[tuple]:
    """Return what an undo has to bring back, of each fact as it is now."""
    return [tuple(getattr(Fact.objects.get(pk=fact.pk), name) for name in NAMES) for fact in facts]


def undo_last(curator, review: Review) -> ReviewDecision:
    """Take back the last decision about a review."""
    return review_undo.undo(curator, review_undo.last_decision(review.account_id, review.id).id)


def pending(fact: Fact) -> Review:
    """Return the pending review of a fact."""
    return Review.objects.get(fact=fact, status="pending")


def test_an_approval_that_ended_another_value(ada, curator, rule):
    current = FactFactory(subject=ada, predicate="lives_in", value={"city": "Lyon"}, valid_from=JANUARY)
    waiting = submitted_fact(ada, {"city": "Paris"}, at=MARCH, update_marker="now")
    review, before = pending(waiting), state(current, waiting)
    reviews.approve(curator, review.id, rationale="Yes.")
    assert state(current, waiting) != before
    decision = undo_last(curator, review)
    assert state(current, waiting) == before
    assert not Relation.objects.exists()
    assert decision.undone_by["membership_id"] == str(curator.membership_id)
    review.refresh_from_db()
    assert (review.status, review.rationale, review.decided_by) == ("pending", "", None)
    reviews.approve(curator, review.id)
    assert [row[0] for row in state(current, waiting)] == ["superseded", "active"]


def test_an_approval_that_opened_a_conflict(ada, curator, rule):
    current = FactFactory(subject=ada, predicate="lives_in", value={"city": "Paris"}, valid_from=MARCH)
    waiting = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    review = pending(waiting)
    reviews.approve(curator, review.id)
    assert Fact.objects.get(pk=current.pk).withheld == "conflict_open"
    undo_last(curator, review)
    assert ConflictSet.objects.get().status == "dissolved"
    assert (Fact.objects.get(pk=current.pk).withheld, state(waiting)[0][0]) == ("", "provisional")


def test_a_rejection(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    review, before = pending(waiting), state(waiting)
    reviews.reject(curator, review.id)
    undo_last(curator, review)
    assert state(waiting) == before
    assert submit(ada, {"city": "Lyon"}, at=MARCH).status == "provisional"
    assert pending(waiting) == review


def test_what_a_rejection_closed_is_asked_again(account, ada, curator):
    fact = FactFactory(subject=ada)
    look = Review.objects.create(account=account, kind="new_fact", fact=fact, fact_version=1, reasons=["second_look"])
    other = Review.objects.create(account=account, kind="directive", fact=fact, fact_version=1)
    reviews.reject(curator, look.id)
    assert Review.objects.get(pk=other.pk).status == "withdrawn"
    undo_last(curator, look)
    assert set(Review.objects.values_list("status", flat=True)) == {"pending"}
    assert state(fact)[0][0] == "active"


def test_a_merge(ada, curator, rule):
    known = FactFactory(subject=ada, statement="Ada is in Lyon.", valid_from=JANUARY)
    waiting = submitted_fact(ada, {"city": "Lyon"}, at=MAY)
    review, before = pending(waiting), state(known, waiting)
    reviews.merge(curator, review.id, into=known.id)
    undo_last(curator, review)
    assert state(known, waiting) == before
    assert (Evidence.objects.filter(fact=known).count(), Relation.objects.count()) == (1, 0)


def test_an_edit(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyons"})
    review, before = pending(waiting), state(waiting)
    reviews.edit(curator, review.id, statement="Ada lives in Lyon.", value={"city": "Lyon"})
    made = Fact.objects.exclude(pk=waiting.pk).get()
    undo_last(curator, review)
    assert state(waiting) == before
    assert state(made)[0][0] == "rejected"
    assert not Review.objects.filter(fact=made, status="pending").exists()
    assert submit(ada, {"city": "Lyon"}, at=MAY).reason == "waits_for_review"


def test_the_naming_of_a_subject(account, ada, curator):
    SubjectFactory(account=account, key="bob")
    said = candidate({"city": "Lyon"}, about="Bob")
    review = placement.report_unresolved(say(ada), said, actor=pipeline())
    reviews.name_subject(curator, review.id, subject_key="bob")
    fact = Fact.objects.get()
    assert fact.status == "active"
    undo_last(curator, review)
    assert state(fact)[0][0] == "rejected"
    reviews.name_subject(curator, review.id, subject_key="ada")
    assert Fact.objects.get(subject=ada).status == "active"


def test_the_confirmation_and_the_end_of_a_fact(account, ada, curator):
    fact = FactFactory(subject=ada, revalidate_after=MAY)
    fact = lifecycle.transition(fact.id, account_id=account.id, to="needs_revalidation", actor=pipeline(), action="x")
    review = Review.objects.create(account=account, kind="revalidation", fact=fact, fact_version=fact.version)
    before = state(fact)
    for decide in (reviews.approve, reviews.end):
        decide(curator, review.id)
        undo_last(curator, review)
        assert state(fact) == before


def test_the_putting_off(ada, curator, rule):
    review = pending(submitted_fact(ada, {"city": "Lyon"}))
    reviews.defer(curator, review.id, until=now() + timedelta(days=30))
    undo_last(curator, review)
    again = Review.objects.get(pk=review.pk)
    assert (again.due_at, again.deferred_until) == (review.due_at, None)


# When it is too late


def refused(curator, review: Review) -> str:
    """Return the code with which taking back the newest decision about a review is refused."""
    with pytest.raises(Conflicting) as caught:
        review_undo.undo(curator, ReviewDecision.objects.filter(review=review).first().id)
    return caught.value.code


def test_only_once(ada, curator, rule):
    review = pending(submitted_fact(ada, {"city": "Lyon"}))
    reviews.approve(curator, review.id)
    undo_last(curator, review)
    assert refused(curator, review) == "decision_undone"


def test_not_when_the_fact_has_changed_since(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    review = pending(waiting)
    reviews.approve(curator, review.id)
    lifecycle.amend(waiting.id, account_id=ada.account_id, actor=pipeline(), action="x", changes={"confidence": 0.6})
    assert refused(curator, review) == "decision_built_upon"


def test_not_when_something_was_derived_from_it(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    review = pending(waiting)
    reviews.approve(curator, review.id)
    derived = FactFactory(subject=ada)
    Relation.objects.create(account=ada.account, source=derived, target=waiting, kind="derived_from")
    assert refused(curator, review) == "decision_built_upon"


def test_not_when_the_conflict_was_joined_or_the_fact_forgotten(ada, curator, rule):
    FactFactory(subject=ada, predicate="lives_in", value={"city": "Paris"}, valid_from=MARCH)
    review = pending(submitted_fact(ada, {"city": "Lyon"}, at=JANUARY))
    reviews.approve(curator, review.id)
    other = pending(submitted_fact(ada, {"city": "Rome"}, at=MAY))
    reviews.approve(curator, other.id)
    assert refused(curator, review) == "decision_built_upon"
    assert refused(curator, other) == "decision_built_upon"


def test_not_when_it_was_put_off_and_then_decided(ada, curator, rule):
    review = pending(submitted_fact(ada, {"city": "Lyon"}))
    reviews.defer(curator, review.id, until=now() + timedelta(days=30))
    deferral = ReviewDecision.objects.get()
    reviews.approve(curator, review.id)
    assert not review_undo.may_undo(deferral)
    assert review_undo.may_undo(review_undo.last_decision(ada.account_id, review.id))


def test_who_may_not_decide_does_not_undo(account, ada, curator, rule):
    review = pending(submitted_fact(ada, {"city": "Lyon"}))
    reviews.approve(curator, review.id)
    decision = ReviewDecision.objects.get()
    with pytest.raises(Refused):
        review_undo.undo(person_in(account, role=Role.MEMBER), decision.id)
    with pytest.raises(NotFound):
        review_undo.undo(curator, unknown_id())
