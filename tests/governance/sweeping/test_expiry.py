"""Facts expire when their own time is over, once, however often and late somebody looks."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facts import audit, conflict_sets
from facts.actors import pipeline
from facts.models import Account, ConflictSet, Fact, FactRevision
from facts.tenancy import account_transaction
from facts.vocabulary import ConflictKind, ConflictStatus, Sensitivity, Status
from governance.models import Review, ReviewStatus
from governance.sweeping import expiry, rounds
from governance.sweeping.rounds import SweepIncomplete
from tests.factories import JULY, MAY, AccountFactory, FactFactory, SubjectFactory, submit

#: Each status and what it is after its time was over.
AFTERWARDS = {status: Status.EXPIRED if status in expiry._EXPIRING else status for status in Status}


@pytest.mark.parametrize("status", Status)
def test_what_may_expire_does_and_nothing_else(account: Account, at, status: Status) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account), status=status, expires_at=MAY)
    at(MAY)
    assert expiry.expire() == (1 if status in expiry._EXPIRING else 0)
    fact.refresh_from_db()
    assert fact.status == AFTERWARDS[status]


def test_a_fact_expires_at_its_time_and_not_before(account: Account, at) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account), expires_at=MAY)
    FactFactory(subject=fact.subject)
    at(MAY - timedelta(microseconds=1))
    assert expiry.expire() == 0
    at(MAY)
    assert expiry.expire() == 1
    assert Fact.objects.filter(status=Status.ACTIVE).count() == 1


def test_twice_and_late_is_the_same_as_once(account: Account, at) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account), expires_at=MAY)
    at(JULY + timedelta(days=900))
    assert [expiry.expire(), expiry.expire()] == [1, 0]
    last = FactRevision.objects.filter(fact=fact).order_by("version").last()
    assert (last.version, last.status, last.action) == (2, Status.EXPIRED, "fact.expired")
    assert last.actor == {"kind": "sweeper", "name": "expire_facts"}
    assert list(audit.verify(account.id)) == []


def test_nobody_is_asked_any_more_about_what_has_expired(account: Account, at) -> None:
    ana = SubjectFactory(account=account)
    placed = submit(ana, {"condition": "asthma"}, predicate="has_condition", sensitivity=Sensitivity.RESTRICTED)
    Fact.objects.filter(pk=placed.fact_id).update(expires_at=MAY)
    at(MAY)
    assert expiry.expire() == 1
    assert Review.objects.get().status == ReviewStatus.WITHDRAWN


def test_time_decides_no_conflict(account: Account, at) -> None:
    ana = SubjectFactory(account=account)
    submit(ana, {"city": "Lyon"})
    submit(ana, {"city": "Paris"})
    before = sorted(Fact.objects.values_list("id", "status", "version"))
    Fact.objects.update(expires_at=MAY)
    at(JULY)
    assert expiry.expire() == 0
    assert sorted(Fact.objects.values_list("id", "status", "version")) == before
    assert ConflictSet.objects.get().status == ConflictStatus.OPEN


def test_a_possible_conflict_hides_nothing_and_holds_up_nothing(account: Account, at) -> None:
    facts = [FactFactory(subject=SubjectFactory(account=account), expires_at=MAY) for _ in range(2)]
    conflict_sets.open_set(
        account_id=account.id,
        scope_id=facts[0].scope_id,
        subject_id=facts[0].subject_id,
        kind=ConflictKind.POSSIBLE,
        members=[(fact.id, False) for fact in facts],
        reason="near_match",
        actor=pipeline(),
    )
    at(MAY)
    assert expiry.expire() == 2


def test_one_that_fails_stops_no_other_and_is_reported(account: Account, at, monkeypatch) -> None:
    ana = SubjectFactory(account=account)
    bad, good = (FactFactory(subject=ana, expires_at=MAY) for _ in range(2))
    real = expiry.lifecycle.transition

    def transition(fact_id, **options):
        if fact_id == bad.id:
            raise RuntimeError("no")
        return real(fact_id, **options)

    monkeypatch.setattr(expiry.lifecycle, "transition", transition)
    at(MAY)
    with pytest.raises(SweepIncomplete, match="1 settled, 1 failed"):
        expiry.expire()
    assert [Fact.objects.get(pk=fact.pk).status for fact in (bad, good)] == [Status.ACTIVE, Status.EXPIRED]
    monkeypatch.setattr(expiry.lifecycle, "transition", real)
    assert expiry.expire() == 1


def test_what_there_is_no_time_for_is_done_the_next_time(account: Account, at, monkeypatch) -> None:
    FactFactory(subject=SubjectFactory(account=account), expires_at=MAY)
    at(MAY)
    monkeypatch.setattr(rounds, "SHARE_OF_TASK", 0)
    with pytest.raises(SweepIncomplete, match="0 settled, then time was up"):
        expiry.expire()
    monkeypatch.setattr(rounds, "SHARE_OF_TASK", 1)
    assert expiry.expire() == 1


def test_more_than_are_looked_up_at_once(account: Account, at, monkeypatch) -> None:
    monkeypatch.setattr(rounds, "BATCH", 2)
    ana = SubjectFactory(account=account)
    for _ in range(5):
        FactFactory(subject=ana, expires_at=MAY)
    at(MAY)
    assert expiry.expire() == 5


@pytest.mark.django_db(transaction=True)
def test_sweeps_at_the_same_moment_in_all_accounts(at, together) -> None:
    accounts = [AccountFactory(), AccountFactory()]
    for account in accounts:
        with account_transaction(account.id):
            for _ in range(3):
                FactFactory(subject=SubjectFactory(account=account), expires_at=MAY)
    at(MAY)
    assert together(expiry.expire) == 6
    for account in accounts:
        with account_transaction(account.id):
            assert list(Fact.objects.values_list("status", "version")) == [(Status.EXPIRED, 2)] * 3
            assert list(audit.verify(account.id)) == []
