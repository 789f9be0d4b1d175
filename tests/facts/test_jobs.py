"""The job ledger: done once, claimed by one, retried with patience, given up at last."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection

from facts import jobs
from facts.clock import now
from facts.models import Account, Job
from facts.tenancy import account_transaction
from tests.factories import AccountFactory, unknown_id


@pytest.fixture
def dispatched(monkeypatch) -> list[tuple[str, str, str]]:
    """What reaches the queue, which is not asked to do anything."""
    calls: list[tuple[str, str, str]] = []
    monkeypatch.setattr(jobs, "_dispatcher", lambda path, waiting: calls.extend((path, *call) for call in waiting))
    monkeypatch.setitem(jobs._runners, "test.work", "tests.run")
    return calls


def submit(account: Account, key: str = "1", **more) -> Job:
    """Submit a job."""
    return jobs.submit(account.id, kind="test.work", input_key=key, **more)


def later(job: Job, seconds: float) -> None:
    """Let time pass for one job."""
    passed = timedelta(seconds=seconds)
    Job.objects.filter(pk=job.pk).update(run_after=now() - passed, claimed_at=now() - passed)


def test_the_same_input_is_one_job(account, dispatched):
    first = submit(account, payload={"id": "7"})
    assert submit(account).id == first.id
    assert submit(account, recipe="2").id != first.id
    assert dispatched[0] == ("tests.run", str(first.id), str(account.id))
    assert len(dispatched) == 2


def test_a_job_is_claimed_held_and_finished_once(account, dispatched):
    job = submit(account)
    claim = jobs.claim(account.id, job.id)
    assert (claim.job.attempts, claim.job.status) == (1, "running")
    assert jobs.claim(account.id, job.id) is None
    assert jobs.holds(claim)
    assert jobs.finish(claim)
    assert not jobs.holds(claim)
    assert not jobs.finish(claim)
    assert jobs.claim(account.id, job.id) is None
    assert Job.objects.get().status == "done"


def test_an_unknown_job_is_not_claimed(account):
    assert jobs.claim(account.id, unknown_id()) is None


def test_a_dead_workers_claim_is_taken_over(account, dispatched):
    job = submit(account)
    lost = jobs.claim(account.id, job.id)
    later(job, jobs.CLAIM_LASTS.total_seconds() - 5)
    assert jobs.claim(account.id, job.id) is None
    later(job, jobs.CLAIM_LASTS.total_seconds() + 5)
    taken = jobs.claim(account.id, job.id)
    assert taken.job.attempts == 2
    assert not jobs.holds(lost)
    assert not jobs.finish(lost)
    jobs.fail(lost, error_class="Late")
    assert (Job.objects.get().status, Job.objects.get().error_class) == ("running", "")
    assert jobs.finish(taken)


def test_failures_wait_longer_each_time_and_end(account, dispatched):
    job = submit(account, max_attempts=4)
    pauses = []
    for _ in range(3):
        later(job, 1)
        before = now()
        failed = jobs.fail(jobs.claim(account.id, job.id), error_class="TimeoutError", error="took too long")
        assert failed.status == "queued"
        assert jobs.claim(account.id, job.id) is None
        pauses.append(round((failed.run_after - before).total_seconds()))
    assert pauses == [5, 20, 80]
    later(job, 1)
    dead = jobs.fail(jobs.claim(account.id, job.id), error_class="TimeoutError")
    assert (dead.status, dead.attempts, dead.error_class) == ("dead", 4, "TimeoutError")
    assert dead.finished_at is not None


def test_what_cannot_help_is_not_tried_again(account, dispatched):
    job = submit(account)
    assert jobs.fail(jobs.claim(account.id, job.id), error_class="Refused", retryable=False).status == "dead"


def test_a_poisoned_input_whose_workers_die_is_given_up(account, dispatched):
    job = submit(account, max_attempts=2)
    for _ in range(2):
        assert jobs.claim(account.id, job.id) is not None
        later(job, jobs.CLAIM_LASTS.total_seconds() + 5)
    assert jobs.claim(account.id, job.id) is None
    job.refresh_from_db()
    assert (job.status, job.error_class) == ("dead", "attempts_used_up")


def test_only_a_dead_job_is_revived(account, dispatched):
    job = submit(account, max_attempts=1)
    assert jobs.retry(account.id, job.id) is None
    jobs.fail(jobs.claim(account.id, job.id), error_class="X")
    revived = jobs.retry(account.id, job.id)
    assert (revived.status, revived.attempts, revived.finished_at) == ("queued", 0, None)
    assert len(dispatched) == 2
    assert jobs.claim(account.id, job.id).job.attempts == 1


def test_what_is_due_and_in_nobodys_hands_is_queued_again(account, dispatched):
    due, paused, held, lost, done = (submit(account, key=str(number)) for number in range(5))
    for job in (held, lost, done):
        claim = jobs.claim(account.id, job.id)
    jobs.finish(claim)
    later(lost, jobs.CLAIM_LASTS.total_seconds() + 5)
    Job.objects.filter(pk=paused.pk).update(run_after=now() + timedelta(minutes=1))
    dispatched.clear()
    assert jobs.requeue_waiting(account.id) == 2
    assert {job_id for _, job_id, _ in dispatched} == {str(due.id), str(lost.id)}


@pytest.mark.django_db(transaction=True)
def test_two_claimants_at_the_same_moment(dispatched):
    account = AccountFactory()
    with account_transaction(account.id):
        job = submit(account)
    start, claims = threading.Barrier(3), []

    def work() -> None:
        try:
            start.wait(timeout=10)
            with account_transaction(account.id):
                claims.append(jobs.claim(account.id, job.id))
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(claims) == 3
    assert len([claim for claim in claims if claim is not None]) == 1


def test_another_accounts_job_is_not_claimed(account, dispatched):
    job = submit(account)
    assert jobs.claim(unknown_id(), job.id) is None
