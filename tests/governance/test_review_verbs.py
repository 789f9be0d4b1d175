"""What else people do about what waits: confirm, end, reword, merge, name, put off; and what keeps them from it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facts import lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import Evidence, Fact, Relation, Suppression
from facts.vocabulary import Status
from governance import placement
from governance.models import GateDecision, Review, ReviewDecision, Role
from governance.reviewing import review_claims, reviews, second_look
from governance.reviewing.review_queue import in_queue, with_risk
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
    """Everything personal about persons waits for a person, and is asked about again after ninety days."""
    return GateRuleFactory(account=account, gate_a="human", revalidate_after_days=90)


def review_of(fact: Fact) -> Review:
    """Return the pending review of a fact."""
    return Review.objects.get(fact=fact, status="pending")


def fresh(fact: Fact) -> Fact:
    """Return the fact as it is now."""
    return Fact.objects.get(pk=fact.pk)


def refused(error: type[DomainError], decide, *args, **fields) -> str:
    """Return the code with which a decision is refused."""
    with pytest.raises(error) as caught:
        decide(*args, **fields)
    return caught.value.code


def to_be_confirmed(subject, **fields) -> tuple[Fact, Review]:
    """Return a fact that has to be confirmed, and the review that asks for it."""
    fact = FactFactory(subject=subject, **fields)
    fact = lifecycle.transition(
        fact.id, account_id=fact.account_id, to=Status.NEEDS_REVALIDATION, actor=pipeline(), action="x"
    )
    review = Review.objects.create(
        account_id=fact.account_id, kind="revalidation", fact=fact, fact_version=fact.version, reasons=["due"]
    )
    return fact, review


# Confirming and ending


def test_what_is_confirmed_is_current_again_and_asked_about_later(ada, curator, rule):
    fact, review = to_be_confirmed(ada)
    reviews.approve(curator, review.id)
    confirmed = fresh(fact)
    assert confirmed.status == "active"
    assert timedelta(days=89) < confirmed.revalidate_after - now() < timedelta(days=91)
    assert now() - confirmed.last_reinforced_at < timedelta(minutes=1)
    assert not GateDecision.objects.exists()


def test_without_a_rule_it_is_not_asked_about_again(ada, curator):
    fact, review = to_be_confirmed(ada, revalidate_after=MARCH)
    reviews.approve(curator, review.id)
    assert fresh(fact).revalidate_after is None


def test_what_has_ended_was_true_until_now(ada, curator):
    fact, review = to_be_confirmed(ada)
    assert reviews.end(curator, review.id).status == "rejected"
    ended = fresh(fact)
    assert ended.status == "expired"
    assert now() - ended.valid_to < timedelta(minutes=1)
    assert not Suppression.objects.exists()


def test_what_was_never_true_is_rejected(ada, curator):
    fact, review = to_be_confirmed(ada)
    reviews.reject(curator, review.id)
    assert (fresh(fact).status, Suppression.objects.get().cause) == ("rejected", "rejected")


def test_only_what_had_to_be_confirmed_can_end(ada, curator, rule):
    review = review_of(submitted_fact(ada, {"city": "Lyon"}))
    assert refused(DomainError, reviews.end, curator, review.id) == "verb_unfit"


# Other words


def test_an_edit_is_a_new_fact_through_the_gates(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyons"})
    decided = reviews.edit(
        curator, review_of(waiting).id, statement="Ada lives in Lyon.", value={"city": "Lyon"}, rationale="Spelling."
    )
    old, new = fresh(waiting), Fact.objects.exclude(pk=waiting.pk).get()
    assert (decided.status, old.status, old.statement) == ("approved", "superseded", waiting.statement)
    assert (new.statement, new.value, new.status) == ("Ada lives in Lyon.", {"city": "Lyon"}, "provisional")
    assert Relation.objects.filter(source=new, target=old, kind="supersedes").exists()
    assert set(Evidence.objects.filter(fact=old).values_list("event_id", flat=True)) < set(
        Evidence.objects.filter(fact=new).values_list("event_id", flat=True)
    )
    own = review_of(new)
    assert refused(Refused, reviews.approve, curator, own.id) == "own_request"
    reviews.approve(person_in(ada.account), own.id)
    assert fresh(new).status == "active"


def test_an_edit_that_the_gates_let_through_is_current_at_once(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyons"})
    rule.delete()
    reviews.edit(curator, review_of(waiting).id, statement="Ada lives in Lyon.", value={"city": "Lyon"})
    assert Fact.objects.exclude(pk=waiting.pk).get().status == "active"


def test_an_edit_of_words_alone_keeps_the_claim(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    reviews.edit(curator, review_of(waiting).id, statement="  Ada  lives in\nLyon. ")
    new = Fact.objects.exclude(pk=waiting.pk).get()
    assert (new.statement, new.predicate, new.value) == ("Ada lives in Lyon.", "lives_in", {"city": "Lyon"})


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ({"statement": "   "}, "statement_missing"),
        ({"statement": "x" * 1_001}, "invalid_payload"),
        ({"statement": "a\x07b"}, "invalid_payload"),
        ({"statement": "The speaker has lives_in Lyon."}, "edit_changes_nothing"),
        ({"statement": "Ada lives there.", "value": {}}, "invalid_payload"),
    ],
)
def test_what_cannot_be_said(ada, curator, rule, typed, code):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    assert refused(DomainError, reviews.edit, curator, review_of(waiting).id, **typed) == code
    assert (fresh(waiting).status, Fact.objects.count()) == ("provisional", 1)


def test_what_was_forgotten_is_not_said_again_by_an_edit(ada, curator, rule):
    gone = submitted_fact(ada, {"city": "Paris"}, at=JANUARY)
    Suppression.objects.create(
        account=ada.account,
        subject=ada,
        fact_id=gone.id,
        cause="forgotten",
        identity_key=gone.identity_key,
        value_key=gone.value_key,
        statement_hash=gone.statement_hash,
    )
    waiting = submitted_fact(ada, {"city": "Lyon"}, at=MARCH)
    words = {"statement": "Ada lives in Paris.", "value": {"city": "Paris"}}
    assert refused(Conflicting, reviews.edit, curator, review_of(waiting).id, **words) == "suppressed"
    assert fresh(waiting).status == "provisional"


# Merging


def test_merging_joins_the_evidence_and_counts_sources_anew(ada, curator, rule):
    known = FactFactory(subject=ada, statement="Ada is in Lyon.", valid_from=JANUARY)
    waiting = submitted_fact(ada, {"city": "Lyon"}, at=MAY)
    reviews.merge(curator, review_of(waiting).id, into=known.id)
    merged, target = fresh(waiting), fresh(known)
    assert (merged.status, merged.valid_to) == ("superseded", merged.valid_from)
    assert (target.status, target.corroboration, target.last_reinforced_at) == ("active", 2, MAY)
    assert Evidence.objects.filter(fact=known).count() == 2
    assert Relation.objects.filter(source=known, target=waiting, kind="supersedes").exists()


def test_nothing_is_merged_into_what_cannot_take_it(account, ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    review = review_of(waiting)
    ended = FactFactory(subject=ada, status=Status.SUPERSEDED)
    for target in (waiting, ended):
        assert refused(Conflicting, reviews.merge, curator, review.id, into=target.id) == "merge_target_unfit"
    elsewhere = FactFactory(subject=SubjectFactory(account=account))
    assert refused(NotFound, reviews.merge, curator, review.id, into=elsewhere.id) == "fact_not_found"
    assert fresh(waiting).status == "provisional"


# Somebody whom nobody could name


def asked_who(ada, **fields) -> Review:
    """Return a review of a statement of Ada about somebody unknown."""
    said = candidate({"city": "Lyon"}, about="Bob", statement="Bob lives in Lyon.", **fields)
    return placement.report_unresolved(say(ada, "Bob lives in Lyon."), said, actor=pipeline())


def test_a_named_subject_gets_the_whole_claim(account, ada, curator):
    bob = SubjectFactory(account=account, key="bob")
    review = asked_who(ada, confidence=0.8, valid_from=JANUARY, start_stated=True)
    assert reviews.name_subject(curator, review.id, subject_key="bob").status == "approved"
    fact = Fact.objects.get()
    assert (fact.subject, fact.statement, fact.predicate, fact.value) == (
        bob,
        "Bob lives in Lyon.",
        "lives_in",
        {"city": "Lyon"},
    )
    assert (fact.confidence, fact.valid_from, fact.start_assumed, fact.evidence_level) == (
        0.8,
        JANUARY,
        False,
        "indirect",
    )
    assert Evidence.objects.get(fact=fact).passage.text == "Bob lives in Lyon."


def test_it_is_not_remembered_when_rejected_and_not_approved_without_a_name(ada, curator):
    review = asked_who(ada)
    assert refused(DomainError, reviews.approve, curator, review.id) == "subject_missing"
    assert refused(NotFound, reviews.name_subject, curator, review.id, subject_key="nobody") == "subject_not_found"
    assert reviews.reject(curator, review.id).status == "rejected"
    assert not Fact.objects.exists()


def test_only_an_unknown_subject_is_named(ada, curator, rule):
    review = review_of(submitted_fact(ada, {"city": "Lyon"}))
    assert refused(DomainError, reviews.name_subject, curator, review.id, subject_key="ada") == "verb_unfit"


# Later


def test_what_is_put_off_is_in_no_queue_until_then(ada, curator, rule):
    review = review_of(submitted_fact(ada, {"city": "Lyon"}))
    until = now() + timedelta(days=30)
    put_off = reviews.defer(curator, review.id, until=until)
    assert (put_off.status, put_off.deferred_until, put_off.due_at) == ("pending", until, until)
    assert not in_queue(Review.objects.all()).exists()
    Review.objects.update(deferred_until=MARCH)
    assert in_queue(Review.objects.all()).exists()
    assert refused(DomainError, reviews.defer, curator, review.id, until=MARCH) == "invalid_date"


# What was seen


def test_a_decision_names_the_version_that_was_seen(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    review = review_of(waiting)
    changed = lifecycle.amend(
        waiting.id, account_id=ada.account_id, actor=pipeline(), action="x", changes={"confidence": 0.6}
    )
    for seen in (None, waiting.version, 99):
        assert refused(Conflicting, reviews.approve, curator, review.id, expected_version=seen) == "stale_version"
    reviews.approve(curator, review.id, expected_version=changed.version)
    assert fresh(waiting).status == "active"


def test_what_waits_no_more_is_only_put_away(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    review = review_of(waiting)
    ended = lifecycle.transition(waiting.id, account_id=ada.account_id, to=Status.EXPIRED, actor=pipeline(), action="x")
    seen = {"expected_version": ended.version}
    assert refused(Conflicting, reviews.approve, curator, review.id, **seen) == "stale_version"
    assert refused(Conflicting, reviews.edit, curator, review.id, statement="Other.", **seen) == "stale_version"
    assert reviews.reject(curator, review.id, **seen).status == "rejected"
    assert (fresh(waiting).status, Suppression.objects.count()) == ("expired", 0)


# In whose hands


def test_what_somebody_has_taken_can_be_taken_over_and_keeps_nobody_off(account, ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    review = review_of(waiting)
    other = person_in(account)
    assert review_claims.claim(other, review.id).assignee_id == other.membership_id
    assert refused(Conflicting, review_claims.claim, curator, review.id) == "review_claimed"
    review_claims.assign(curator, review.id, to=curator.membership_id)
    assert Review.objects.get(pk=review.pk).assignee_id == curator.membership_id
    assert reviews.approve(other, review.id).status == "approved"
    assert refused(Conflicting, review_claims.claim, other, review.id) == "review_decided"


def test_a_review_is_given_only_to_who_may_decide_it(account, ada, curator, rule):
    review = review_of(submitted_fact(ada, {"city": "Lyon"}))
    reader = person_in(account, role=Role.MEMBER)
    for stranger in (reader.membership_id, ada.id):
        assert refused(NotFound, review_claims.assign, curator, review.id, to=stranger) == "assignee_not_found"
    assert refused(Refused, review_claims.claim, reader, review.id) == "forbidden_scope"
    assert [member.id for member in review_claims.deciders(review)] == [curator.membership_id]
    review_claims.claim(curator, review.id)
    assert review_claims.assign(curator, review.id, to=None).assignee_id is None


# A second look


def test_a_share_of_what_the_gates_placed_is_looked_at_again(account, ada, curator):
    account.second_look_percent = 100
    account.save()
    placed = submitted_fact(ada, {"city": "Lyon"})
    review = review_of(placed)
    assert (placed.status, review.kind, review.reasons) == ("active", "new_fact", ["second_look"])
    reviews.approve(curator, review.id)
    assert (fresh(placed).status, fresh(placed).version) == ("active", placed.version)
    other = submitted_fact(ada, {"song": "one"}, predicate="likes")
    again = review_of(other)
    assert refused(DomainError, reviews.edit, curator, again.id, statement="Other.") == "verb_unfit"
    assert refused(DomainError, reviews.merge, curator, again.id, into=placed.id) == "verb_unfit"
    reviews.reject(curator, again.id)
    assert fresh(other).status == "rejected"


def test_nothing_is_sampled_by_default_or_while_it_waits(account, ada, rule):
    assert submit(ada, {"city": "Lyon"}).status == "provisional"
    assert Review.objects.get().reasons == ["rule_wants_a_person"]
    rule.delete()
    assert submitted_fact(ada, {"song": "one"}, predicate="likes").status == "active"
    assert Review.objects.count() == 1


def test_the_sample_is_the_same_every_time_and_about_as_large_as_asked():
    hashes = [f"{number * 2654435761 % 2**32:064x}" for number in range(1_000)]
    taken = [statement for statement in hashes if second_look.is_sampled(statement, percent=10)]
    assert len(taken) == 100
    assert all(second_look.is_sampled(statement, percent=11) for statement in taken)
    assert not any(second_look.is_sampled(statement, percent=0) for statement in hashes)
    assert all(second_look.is_sampled(statement, percent=100) for statement in [*hashes, "f" * 64])


# What comes first


def test_the_riskiest_come_first(account, ada, curator, rule):
    plain = review_of(submitted_fact(ada, {"song": "one"}, predicate="likes"))
    overdue = review_of(submitted_fact(ada, {"song": "two"}, predicate="hums"))
    contested = Review.objects.create(
        account=account, kind="contest", fact=FactFactory(subject=ada), fact_version=1, due_at=now() + timedelta(days=1)
    )
    Review.objects.filter(pk=overdue.pk).update(due_at=MARCH)
    ranked = with_risk(Review.objects.all()).order_by("-risk", "id").values_list("id", "risk")
    assert list(ranked) == [(overdue.id, 65), (contested.id, 60), (plain.id, 40)]
    Review.objects.filter(pk=plain.pk).update(escalated_at=now())
    assert with_risk(Review.objects.all()).order_by("-risk").first().id == plain.id


def test_every_decision_is_kept_and_audited(ada, curator, rule):
    waiting = submitted_fact(ada, {"city": "Lyon"})
    reviews.approve(curator, review_of(waiting).id)
    decision = ReviewDecision.objects.get()
    assert (decision.verb, decision.changes) == (
        "approve",
        [{"fact": str(waiting.id), "from_version": waiting.version, "to_version": waiting.version + 1}],
    )
    assert decision.actor["membership_id"] == str(curator.membership_id)
