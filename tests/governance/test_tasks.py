"""Background work of governance: starts that have come, and facts that are planned anew."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from facts import conflict_sets, jobs
from facts.clock import now
from facts.errors import DomainError
from facts.models import Account, ConflictSet, Fact, Job
from facts.tenancy import account_transaction
from governance import forgetting, placement, tasks
from tests.factories import (
    JANUARY,
    MARCH,
    MAY,
    AccountFactory,
    SubjectFactory,
    person_in,
    submit,
    submitted_fact,
)

SOON = timedelta(days=9)


def announce(ada, city: str, start: datetime, *, said: datetime = MARCH) -> Fact:
    """Say that a change of what holds now will come."""
    submit(ada, {"city": "Lyon"}, at=JANUARY)
    return submitted_fact(ada, {"city": city}, at=said, valid_from=start, start_stated=True, update_marker="from")


def sweep(account: Account, monkeypatch, at: datetime) -> None:
    """Run the sweep at an instant, in the account that the test is in."""
    monkeypatch.setattr(tasks, "now", lambda: at)
    tasks.start_due_facts()


@pytest.fixture
def ada(account):
    """A person who is spoken about."""
    return SubjectFactory(account=account)


def test_the_swap_at_the_stated_start(account, ada, monkeypatch):
    start = now() + SOON
    lyon = submitted_fact(ada, {"city": "Lyon", "country": "FR"}, at=JANUARY)
    paris = announce(ada, "Paris", start)
    sweep(account, monkeypatch, now())
    assert Fact.objects.get(pk=paris.pk).status == "held"
    # The planner asks for the time as well: it has come.
    monkeypatch.setattr(placement, "now", lambda: start)
    for _ in range(2):
        sweep(account, monkeypatch, start)
        lyon.refresh_from_db()
        paris.refresh_from_db()
        assert (lyon.status, lyon.valid_from, lyon.valid_to) == ("superseded", JANUARY, start)
        assert (paris.status, paris.starts_later, paris.valid_from, paris.version) == ("active", False, start, 3)
        assert paris.value == {"city": "Paris", "country": "FR"}


def test_the_old_value_repeated_meanwhile_gives_way(account, ada, monkeypatch):
    start = now() + SOON
    lyon = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    paris = announce(ada, "Paris", start)
    assert submit(ada, {"city": "Lyon"}, at=MAY).fact_id == lyon.id
    monkeypatch.setattr(placement, "now", lambda: start)
    sweep(account, monkeypatch, start)
    assert [Fact.objects.get(pk=fact.pk).status for fact in (lyon, paris)] == ["superseded", "active"]


def test_another_change_announced_meanwhile_is_for_people(account, ada, monkeypatch):
    start = now() + SOON
    paris = announce(ada, "Paris", start)
    nice = submitted_fact(ada, {"city": "Nice"}, at=MAY, update_marker="now")
    monkeypatch.setattr(placement, "now", lambda: start)
    for _ in range(2):
        sweep(account, monkeypatch, start)
    paris.refresh_from_db()
    assert (paris.status, paris.starts_later, paris.withheld) == ("held", False, "conflict_open")
    assert ConflictSet.objects.get().version == 1
    assert Fact.objects.get(pk=nice.pk).withheld == "conflict_open"


def test_a_forgotten_plan_does_not_start(account, ada, monkeypatch):
    start = now() + SOON
    paris = announce(ada, "Paris", start)
    curator = person_in(account)
    receipt = forgetting.disable(curator, fact_id=paris.id)
    monkeypatch.setattr(placement, "now", lambda: start)
    sweep(account, monkeypatch, start)
    assert Fact.objects.get(pk=paris.pk).status == "disabled"
    forgetting.enable(curator, receipt.id)
    sweep(account, monkeypatch, start)
    assert Fact.objects.get(pk=paris.pk).status == "active"


def test_one_that_fails_stops_no_other(account, ada, monkeypatch):
    start = now() + SOON
    plans = [announce(SubjectFactory(account=account), "Paris", start + timedelta(seconds=n)) for n in range(2)]
    place = tasks.place_waiting

    def fails_once(fact: Fact, **how):
        if fact.id == plans[0].id:
            raise DomainError("no")
        return place(fact, **how)

    monkeypatch.setattr(tasks, "place_waiting", fails_once)
    later = start + timedelta(days=1)
    monkeypatch.setattr(placement, "now", lambda: later)
    sweep(account, monkeypatch, later)
    assert [Fact.objects.get(pk=plan.pk).status for plan in plans] == ["held", "active"]
    assert Fact.objects.filter(value__city="Lyon", status="superseded").count() == 1


def test_a_failing_job_is_tried_again(account, ada, monkeypatch):
    submit(ada, {"city": "Lyon"}, at=JANUARY)
    paris = submitted_fact(ada, {"city": "Paris"}, at=MARCH)
    forgetting.disable(person_in(account), fact_id=Fact.objects.order_by("id").first().id)
    job = Job.objects.get(kind=conflict_sets.PLACE_AGAIN)

    def fails(*args, **kwargs):
        raise DomainError("no")

    with monkeypatch.context() as patched:
        patched.setattr(tasks, "place_waiting", fails)
        with pytest.raises(DomainError):
            tasks.place_again(str(job.id), str(account.id))
    job.refresh_from_db()
    assert (job.status, job.attempts, job.error_class) == ("queued", 1, "DomainError")
    Job.objects.update(run_after=now())
    tasks.place_again(str(job.id), str(account.id))
    job.refresh_from_db()
    assert (job.status, Fact.objects.get(pk=paris.pk).status) == ("done", "active")
    assert jobs.claim(account.id, job.id) is None


@pytest.mark.django_db(transaction=True)
def test_the_sweep_goes_through_all_accounts(monkeypatch):
    plans = []
    for _ in range(2):
        account = AccountFactory()
        with account_transaction(account.id):
            plans.append((account, announce(SubjectFactory(account=account), "Paris", now() + SOON)))
    later = now() + 2 * SOON
    monkeypatch.setattr(placement, "now", lambda: later)
    sweep(plans[0][0], monkeypatch, later)
    for account, plan in plans:
        with account_transaction(account.id):
            assert Fact.objects.get(pk=plan.pk).status == "active"
