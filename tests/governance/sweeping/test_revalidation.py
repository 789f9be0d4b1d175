"""Facts that a rule wants looked at again: asked about once, and never rejected by silence."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facts.models import Account, Fact
from facts.tenancy import account_transaction
from facts.vocabulary import Status
from governance.models import Review, ReviewKind, ReviewStatus
from governance.sweeping import ageing, revalidation
from tests.factories import JULY, MAY, AccountFactory, FactFactory, GateRuleFactory, SubjectFactory, submit


def test_a_fact_is_asked_about_once_by_the_terms_of_its_rule(account: Account, at) -> None:
    GateRuleFactory(account=account, review_due_days=3)
    fact = FactFactory(subject=SubjectFactory(account=account), revalidate_after=MAY)
    at(JULY)
    assert [revalidation.ask(), revalidation.ask()] == [1, 0]
    fact.refresh_from_db()
    assert (fact.status, fact.version) == (Status.NEEDS_REVALIDATION, 2)
    review = Review.objects.get()
    assert (review.kind, review.fact_id, review.fact_version) == (ReviewKind.REVALIDATION, fact.id, 2)
    assert (review.status, review.reasons) == (ReviewStatus.PENDING, ["revalidation_due"])
    assert review.due_at == JULY + timedelta(days=3)


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.ACTIVE}))
def test_only_what_is_current_is_asked_about(account: Account, at, status: str) -> None:
    FactFactory(subject=SubjectFactory(account=account), status=status, revalidate_after=MAY)
    at(JULY)
    assert revalidation.ask() == 0
    assert Review.objects.count() == 0


def test_not_before_its_time_and_not_what_has_expired_meanwhile(account: Account, at) -> None:
    ana = SubjectFactory(account=account)
    FactFactory(subject=ana, revalidate_after=MAY, expires_at=MAY)
    FactFactory(subject=ana, revalidate_after=MAY + timedelta(seconds=1))
    FactFactory(subject=ana)
    at(MAY)
    assert revalidation.ask() == 0


def test_a_side_of_an_open_conflict_waits_for_its_decision(account: Account, at) -> None:
    ana = SubjectFactory(account=account)
    submit(ana, {"city": "Lyon"})
    submit(ana, {"city": "Paris"})
    Fact.objects.update(revalidate_after=MAY)
    at(JULY)
    assert revalidation.ask() == 0


def test_silence_rejects_none(account: Account, at) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account), revalidate_after=MAY)
    at(JULY)
    revalidation.ask()
    for days in (30, 300, 3_000):
        at(JULY + timedelta(days=days))
        ageing.age()
        revalidation.ask()
    fact.refresh_from_db()
    review = Review.objects.get()
    assert (fact.status, review.status) == (Status.NEEDS_REVALIDATION, ReviewStatus.PENDING)
    assert review.escalated_at == JULY + timedelta(days=30)


@pytest.mark.django_db(transaction=True)
def test_asked_at_the_same_moment(at, together) -> None:
    account = AccountFactory()
    with account_transaction(account.id):
        for _ in range(3):
            FactFactory(subject=SubjectFactory(account=account), revalidate_after=MAY)
    at(JULY)
    assert together(revalidation.ask) == 3
    with account_transaction(account.id):
        assert Review.objects.count() == 3
        assert list(Fact.objects.values_list("status", "version")) == [(Status.NEEDS_REVALIDATION, 2)] * 3
