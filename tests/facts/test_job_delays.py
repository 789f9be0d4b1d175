"""Jobs that wait for something outside: what does not count, what is kept, and who may hurry them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facts import jobs
from facts.clock import now
from facts.jobs import Claim
from facts.models import Account, Job
from facts.models.records import JobStatus


@pytest.fixture
def claim(account: Account, monkeypatch: pytest.MonkeyPatch) -> Claim:
    monkeypatch.setattr(jobs, "_dispatcher", lambda *arguments: None)
    monkeypatch.setitem(jobs._runners, "work", "somewhere")
    jobs.submit(account.id, kind="work", input_key="1", payload={"own": 1})
    return claimed(account)


def claimed(account: Account) -> Claim:
    Job.objects.update(run_after=now())
    taken = jobs.claim(account.id, Job.objects.get().id)
    assert taken is not None
    return taken


def test_a_postponed_try_does_not_count(account: Account, claim: Claim) -> None:
    for number in range(1, 9):
        job = jobs.postpone(claim, error_class="outage")
        assert (job.status, job.attempts, job.claim_token) == (JobStatus.QUEUED, 0, None)
        assert (job.error_class, job.payload) == ("outage", {"own": 1, jobs.POSTPONED: number})
        claim = claimed(account)
    assert claim.job.attempts == 1
    jobs.finish(claim)
    assert Job.objects.get().payload == {"own": 1}


@pytest.mark.parametrize(
    ("before", "pause", "at_once", "least"),
    [
        (0, 0, False, 30),
        (3, 0, False, 240),
        (40, 0, False, 900),
        (0, 3_600, False, 3_600),
        (5, 0, True, 0),
        (5, 10, True, 10),
    ],
)
def test_how_long_it_waits(account: Account, claim: Claim, before: int, pause: int, at_once: bool, least: int) -> None:
    Job.objects.update(payload={jobs.POSTPONED: before})
    began = now()
    job = jobs.postpone(claim, error_class="outage", pause=timedelta(seconds=pause), at_once=at_once)
    waits = (job.run_after - began).total_seconds()
    assert least <= waits <= least * 1.2 + 5
    assert job.payload[jobs.POSTPONED] == (0 if at_once else before + 1)


def test_a_lost_claim_postpones_and_keeps_nothing(account: Account, claim: Claim) -> None:
    Job.objects.update(claim_token=None, status=JobStatus.DONE)
    jobs.keep(claim, "a", 1)
    job = jobs.postpone(claim, error_class="outage")
    assert (job.status, job.payload) == (JobStatus.DONE, {"own": 1})


def test_what_is_kept_outlives_the_try_and_goes_with_the_end(account: Account, claim: Claim) -> None:
    assert jobs.kept(claim, "a") is None
    jobs.keep(claim, "a", {"text": "costly"})
    jobs.keep(claim, "b", 2)
    jobs.fail(claim, error_class="crash")
    again = claimed(account)
    assert (jobs.kept(again, "a"), jobs.kept(again, "b")) == ({"text": "costly"}, 2)
    jobs.finish(again)
    assert Job.objects.get().payload == {"own": 1}


def test_what_pauses_can_be_hurried(account: Account, claim: Claim) -> None:
    assert not jobs.may_retry(claim.job)
    assert jobs.retry(account.id, claim.job.id) is None
    paused = jobs.fail(claim, error_class="crash")
    assert jobs.may_retry(paused)
    hurried = jobs.retry(account.id, paused.id)
    assert hurried is not None
    assert (hurried.status, hurried.attempts) == (JobStatus.QUEUED, 0)
    assert hurried.run_after <= now()
    assert not jobs.may_retry(hurried)
