"""Two people at the same moment: of any two decisions about one review exactly one is taken."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from facts import audit, lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.errors import Conflicting
from facts.models import Account, Fact
from facts.tenancy import account_transaction
from governance import placement
from governance.access import Principal
from governance.models import Review, ReviewDecision
from governance.reviewing import review_claims, review_undo, reviews
from tests.factories import (
    AccountFactory,
    FactFactory,
    GateRuleFactory,
    SubjectFactory,
    candidate,
    person_in,
    say,
    submitted_fact,
)


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Run all at the same moment, each on its own connection; return results and errors in order."""
    barrier = threading.Barrier(len(works))
    results: list[Any] = [None] * len(works)

    def run(position: int) -> None:
        try:
            barrier.wait(timeout=10)
            results[position] = works[position]()
        except Exception as error:
            results[position] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(position,)) for position in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return results


def _waiting(account: Account, number: int) -> Review:
    subject = SubjectFactory(account=account)
    return Review.objects.get(fact=submitted_fact(subject, {"city": f"City {number}"}))


def _to_be_confirmed(account: Account, number: int) -> Review:
    fact = FactFactory(subject=SubjectFactory(account=account))
    fact = lifecycle.transition(fact.id, account_id=account.id, to="needs_revalidation", actor=pipeline(), action="x")
    return Review.objects.create(account=account, kind="revalidation", fact=fact, fact_version=fact.version)


def _about_somebody(account: Account, number: int) -> Review:
    said = say(SubjectFactory(account=account))
    return placement.report_unresolved(said, candidate({"city": "Lyon"}, about="Bob"), actor=pipeline())


def _merge(who: Principal, review: Review) -> Review:
    return reviews.merge(who, review.id, into=review.target_id)


#: The verb, what makes a review for it, how it is called, and which other decision the second person takes.
CASES: list[tuple[str, Callable[..., Review], Callable[[Principal, Review], Any]]] = [
    ("approve", _waiting, lambda who, review: reviews.approve(who, review.id)),
    ("reject", _waiting, lambda who, review: reviews.reject(who, review.id)),
    ("edit", _waiting, lambda who, review: reviews.edit(who, review.id, statement="In other words.")),
    ("merge", _waiting, _merge),
    ("end", _to_be_confirmed, lambda who, review: reviews.end(who, review.id)),
    ("name_subject", _about_somebody, lambda who, review: reviews.name_subject(who, review.id, subject_key="bob")),
]


@pytest.mark.django_db(transaction=True)
def test_each_decision_is_taken_once_and_taken_back_once():
    account = AccountFactory()
    with account_transaction(account.id):
        people = [person_in(account), person_in(account)]
        SubjectFactory(account=account, key="bob")
        GateRuleFactory(account=account, gate_a="human")
        asked = []
        for number, (verb, make, decide) in enumerate(CASES):
            review = make(account, number)
            if verb == "merge":
                review.target_id = FactFactory(subject=review.fact.subject, scope=review.fact.scope).id
            asked.append((verb, review, decide))
    for verb, review, decide in asked:
        results = at_once(
            lambda decide=decide, review=review: decide(people[0], review),
            lambda review=review: reviews.reject(people[1], review.id),
        )
        with account_transaction(account.id):
            decision = ReviewDecision.objects.get(review=review)
            assert decision.verb in {verb, "reject"}
        (refused,) = [result for result in results if isinstance(result, Exception)]
        assert (type(refused), refused.code) == (Conflicting, "review_decided"), verb
        undone = at_once(*[lambda who=who, decision=decision: review_undo.undo(who, decision.id) for who in people])
        (refused,) = [result for result in undone if isinstance(result, Exception)]
        assert (type(refused), refused.code) == (Conflicting, "decision_undone"), verb
        with account_transaction(account.id):
            assert Review.objects.get(pk=review.pk).status == "pending"
    with account_transaction(account.id):
        assert list(audit.verify(account.id)) == []


@pytest.mark.django_db(transaction=True)
def test_a_review_is_taken_in_hand_by_one_and_put_off_before_or_after():
    account = AccountFactory()
    with account_transaction(account.id):
        people = [person_in(account), person_in(account)]
        GateRuleFactory(account=account, gate_a="human")
        claimed, put_off = _waiting(account, 1), _waiting(account, 2)
    results = at_once(*[lambda who=who: review_claims.claim(who, claimed.id) for who in people])
    (refused,) = [result for result in results if isinstance(result, Exception)]
    assert (type(refused), refused.code) == (Conflicting, "review_claimed")
    until = now() + timedelta(days=3)
    results = at_once(
        lambda: reviews.defer(people[0], put_off.id, until=until), lambda: reviews.approve(people[1], put_off.id)
    )
    refusals = [result.code for result in results if isinstance(result, Exception)]
    with account_transaction(account.id):
        assert Review.objects.get(pk=put_off.pk).status == "approved"
        assert Fact.objects.get(pk=put_off.fact_id).status == "active"
    assert refusals in ([], ["review_decided"])
