"""Deciding what waits: approval places, rejection blocks, contests are refused or upheld, nobody judges their own."""

from __future__ import annotations

import pytest

from facts import lifecycle
from facts.actors import Actor, pipeline
from facts.audience import Posture, Reader
from facts.clock import now
from facts.errors import Conflicting, NotFound, Refused
from facts.models import ConflictSet, Evidence, Fact, Suppression
from facts.vocabulary import Status
from governance import feedback, forgetting
from governance.access import Delegation
from governance.models import GateDecision, Review, Role
from governance.reviewing import reviews
from tests.factories import (
    JANUARY,
    MARCH,
    MAY,
    FactFactory,
    GateRuleFactory,
    SubjectFactory,
    key_principal,
    maker_of,
    person_in,
    submit,
    submitted_fact,
    unknown_id,
)


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
    """Everything about persons waits for a person."""
    return GateRuleFactory(account=account, gate_a="human")


def review_of(fact: Fact) -> Review:
    """Return the pending review of a fact."""
    return Review.objects.get(fact=fact, status="pending")


def status(fact: Fact) -> str:
    """Return the present status."""
    return Fact.objects.get(pk=fact.pk).status


def test_approval_counts_as_both_gates_and_places(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    review = reviews.approve(curator, review_of(waiting).id, rationale="Known.")
    assert (review.status, review.rationale, status(waiting)) == ("approved", "Known.", "active")
    assert review.decided_by["membership_id"] == str(curator.membership_id)
    passed = GateDecision.objects.filter(outcome="pass", actor__membership_id=str(curator.membership_id))
    assert list(passed.values_list("gate", flat=True)) == ["A", "B"]


def test_it_is_planned_against_what_is_believed_by_then(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    rule.delete()
    current = submitted_fact(ada, {"city": "Paris"}, at=MARCH)
    reviews.approve(curator, review_of(waiting).id)
    assert (status(waiting), status(current)) == ("provisional", "active")
    assert ConflictSet.objects.get().kind == "contradiction"
    assert Fact.objects.get(pk=current.pk).withheld == "conflict_open"


def test_an_approved_change_ends_the_old_value(ada, curator, rule):
    current = FactFactory(subject=ada, predicate="lives_in", value={"city": "Lyon"}, valid_from=JANUARY)
    waiting = submitted_fact(ada, {"city": "Paris"}, at=MARCH, update_marker="now")
    reviews.approve(curator, review_of(waiting).id)
    assert (status(current), status(waiting)) == ("superseded", "active")


def test_an_approved_repetition_gives_its_evidence_away(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    current = FactFactory(subject=ada, predicate="lives_in", value={"city": "Lyon"}, valid_from=MARCH)
    reviews.approve(curator, review_of(waiting).id)
    assert (status(waiting), status(current)) == ("superseded", "active")
    assert Evidence.objects.filter(fact=current).count() == 2
    assert Fact.objects.get(pk=current.pk).corroboration == 2


def test_a_held_change_to_come_can_be_approved(account, curator):
    team = SubjectFactory(account=account, kind="topic")
    FactFactory(subject=team, predicate="lives_in", value={"city": "Lyon"}, valid_from=JANUARY)
    GateRuleFactory(account=account, level="scope", sensitivity="internal", gate_a="human")
    start = now().replace(year=now().year + 1)
    waiting = submitted_fact(team, {"city": "Paris"}, valid_from=start, start_stated=True, update_marker="from")
    assert waiting.status == "held"
    reviews.approve(curator, review_of(waiting).id)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.starts_later) == ("held", True)


def test_rejection_blocks_what_was_said_up_to_now(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    assert reviews.reject(curator, review_of(waiting).id).status == "rejected"
    assert status(waiting) == "rejected"
    assert Suppression.objects.get().cause == "rejected"
    assert submit(ada, {"city": "Lyon"}, at=MAY).reason == "suppressed_rejected"
    assert submit(ada, {"city": "Lyon"}, at=now()).reason == "waits_for_review"


def test_a_repetition_does_not_make_a_review_stale(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    submit(ada, {"city": "Lyon"}, at=MARCH)
    reviews.approve(curator, review_of(waiting).id)
    assert status(waiting) == "active"


def test_what_has_changed_is_looked_at_again(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    lifecycle.amend(
        waiting.id, account_id=ada.account_id, actor=pipeline(), action="x", changes={"sensitivity": "public"}
    )
    for decide in (reviews.approve, reviews.reject):
        with pytest.raises(Conflicting) as refused:
            decide(curator, review_of(waiting).id)
        assert refused.value.code == "stale_version"


def test_it_is_decided_once(ada, curator, rule):
    review = review_of(submitted_fact(ada, {"city": "Lyon"}))
    reviews.approve(curator, review.id)
    with pytest.raises(Conflicting) as refused:
        reviews.reject(curator, review.id)
    assert refused.value.code == "review_decided"


def test_an_unknown_review(curator):
    with pytest.raises(NotFound) as refused:
        reviews.approve(curator, unknown_id())
    assert refused.value.code == "review_not_found"


def test_who_may_decide(account, ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    review = review_of(waiting)
    with pytest.raises(Refused) as refused:
        reviews.approve(key_principal(account), review.id)
    assert refused.value.code == "human_required"
    for stranger in (person_in(account, role=Role.MEMBER), person_in(account, path="/sales")):
        with pytest.raises(Refused) as refused:
            reviews.approve(stranger, review.id)
        assert refused.value.code == "forbidden_scope"
    key = key_principal(account, delegated=[Delegation.RESOLVE], maker=maker_of(curator))
    decided = reviews.approve(key, review.id)
    assert (decided.decided_by["key_id"], decided.decided_by["membership_id"]) == (
        str(key.key_id),
        str(curator.membership_id),
    )


def test_nobody_decides_about_their_own(account, ada, curator):
    mine = FactFactory(subject=ada, status=Status.PROVISIONAL, actor=curator.actor)
    review = Review.objects.create(account=account, kind="new_fact", fact=mine, fact_version=1)
    with pytest.raises(Refused) as refused:
        reviews.approve(curator, review.id)
    assert refused.value.code == "own_request"
    Review.objects.update(requested_by=curator.actor.as_json())
    key = key_principal(account, delegated=[Delegation.RESOLVE], maker=maker_of(curator))
    with pytest.raises(Refused) as refused:
        reviews.approve(key, review.id)
    assert refused.value.code == "own_request"
    assert reviews.approve(person_in(account), review.id).status == "approved"


# Contests


def contest(fact: Fact, *, actor: Actor | None = None) -> Review:
    """Let the fact's subject say that it is wrong, through whoever acts."""
    feedback.rate(
        account_id=fact.account_id,
        reader=Reader(Posture.PEER, fact.subject_id),
        actor=actor or pipeline(),
        rating="incorrect",
        fact_id=fact.id,
    )
    return Review.objects.get(fact=fact, kind="contest")


def test_nobody_decides_about_a_contest_that_they_raised_through_a_key(account, ada, curator):
    maker = maker_of(curator)
    raising = key_principal(account, maker=maker)
    deciding = {"delegated": [Delegation.RESOLVE]}
    mine = [curator, *(key_principal(account, maker=maker, **deciding) for _ in range(2))]
    other = person_in(account)
    others = [other, key_principal(account, maker=maker_of(other), **deciding)]
    for asker in (raising, mine[1]):
        for decide, person in zip((reviews.approve, reviews.reject), others, strict=True):
            review = contest(FactFactory(subject=ada), actor=asker.actor)
            for own in mine:
                with pytest.raises(Refused) as refused:
                    decide(own, review.id)
                assert (refused.value.code, refused.value.status) == ("own_request", 403)
            assert decide(person, review.id).status in {"approved", "rejected"}


def test_a_refused_contest_restores_what_was(ada, curator):
    fact = submitted_fact(ada, {"city": "Lyon"})
    review = contest(fact)
    assert status(fact) == "disputed"
    reviews.approve(curator, review.id)
    assert status(fact) == "active"


def test_an_upheld_contest_rejects(ada, curator):
    fact = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    reviews.reject(curator, contest(fact).id)
    assert status(fact) == "rejected"
    assert submit(ada, {"city": "Lyon"}, at=MARCH).reason == "suppressed_rejected"


def test_a_contested_provisional_fact_still_waits_afterwards(ada, curator, rule):
    fact = submitted_fact(ada, {"city": "Lyon"})
    waiting = review_of(fact)
    contested = contest(fact)
    with pytest.raises(Conflicting):
        reviews.approve(curator, waiting.id)
    reviews.approve(curator, contested.id)
    assert status(fact) == "provisional"
    reviews.approve(curator, waiting.id)
    assert status(fact) == "active"


def test_a_contested_fact_whose_place_was_taken_comes_back_to_wait(ada, curator):
    fact = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    review = contest(fact)
    taken = submitted_fact(ada, {"city": "Paris"}, at=MARCH)
    assert taken.status == "active"
    reviews.approve(curator, review.id)
    assert (status(fact), ConflictSet.objects.get().reason) == ("candidate", "identity_taken")


def test_a_forgotten_fact_is_asked_about_no_more_until_it_returns(account, ada, curator, rule):
    fact = submitted_fact(ada, {"city": "Lyon"})
    review = review_of(fact)
    receipt = forgetting.disable(curator, fact_id=fact.id)
    review.refresh_from_db()
    assert (review.status, receipt.counters["reviews_withdrawn"]) == ("withdrawn", 1)
    forgetting.enable(curator, receipt.id)
    reviews.approve(curator, review.id)
    assert status(fact) == "active"
