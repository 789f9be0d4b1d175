"""How the work of an account stands, and who is told."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts import long_jobs
from facts.clock import now
from facts.models import Account, Job, LongJob
from facts.models.records import JobStatus
from facts.tenancy import ensure_scope
from governance.access import Right
from governance.models import Role
from ingest.models import Delivery, DeliveryTarget
from memory_site import heartbeat, operations, schedules
from memory_site.models import ScheduledRun
from tests.api import caller_with_key, problem, signed_in
from tests.factories import SubjectFactory, maker_of, person_in

HEALTH = "/v1/stats/health"


def _delivery(account: Account, **fields: object) -> Delivery:
    target, _ = DeliveryTarget.objects.get_or_create(
        account=account, name="ops", defaults={"kind": "email", "address": "ops@example.org", "audience": "named"}
    )
    values = {"about": "action", "object_id": account.id, "key": str(Delivery.objects.count()), **fields}
    return Delivery.objects.create(account=account, target=target, **values)


def _job(account: Account, **fields: object) -> Job:
    return Job.objects.create(account=account, input_key=str(Job.objects.count()), **{"kind": "process", **fields})


def test_what_waits_and_what_was_given_up_is_told_by_kind(account: Account) -> None:
    at = now()
    _job(account, run_after=at - timedelta(minutes=5))
    _job(account, run_after=at + timedelta(days=1))
    _job(account, status=JobStatus.RUNNING)
    _job(account, kind="web.fetch", status=JobStatus.DEAD)
    _job(account, kind="done", status=JobStatus.DONE)
    _delivery(account)
    _delivery(account, state="dead")
    found = operations.of_account(account.id)
    assert [(jobs.kind, jobs.waiting, jobs.running, jobs.dead) for jobs in found.jobs] == [
        ("process", 1, 1, 0),
        ("web.fetch", 0, 0, 1),
    ]
    assert found.jobs[0].oldest_due == at - timedelta(minutes=5)
    assert (found.deliveries.waiting, found.dead_letters, found.dead_jobs) == (1, 1, 1)
    assert not found.is_sound


def test_work_that_has_gone_silent_is_told(account: Account) -> None:
    running = {"account": account, "unit": "days", "state": "running"}
    LongJob.objects.create(kind="a", updated_at=now() - 2 * long_jobs.SILENT, **running)
    LongJob.objects.create(kind="b", **running)
    found = operations.of_account(account.id)
    assert [job.kind for job in found.long_work] == ["b", "a"]
    assert [job.kind for job in found.silent_work] == ["a"]


def test_all_is_well_while_the_worker_lives_and_the_clock_runs(account: Account) -> None:
    schedules.sync()
    assert not operations.of_account(account.id).is_sound
    heartbeat.beat()
    assert operations.of_account(account.id).is_sound
    ScheduledRun.objects.filter(name="expire facts").update(completed_at=now() - timedelta(days=1))
    found = operations.of_account(account.id)
    assert (found.late, found.is_sound) == (["expire facts"], False)


def test_it_costs_the_same_for_any_amount_of_work(account: Account) -> None:
    with CaptureQueriesContext(connection) as few:
        operations.of_account(account.id)
    for number in range(6):
        _job(account, kind=f"kind {number}")
        _delivery(account)
        LongJob.objects.create(account=account, kind=f"work {number}", unit="days")
    with CaptureQueriesContext(connection) as many:
        found = operations.of_account(account.id)
    assert len(many) == len(few) == 9
    assert len(found.long_work) == operations.NAMED


def test_health_is_told_in_seconds_and_words(account: Account) -> None:
    schedules.sync()
    heartbeat.beat()
    _job(account, run_after=now() - timedelta(minutes=5))
    LongJob.objects.create(account=account, kind="backfill", unit="days", state="paused", done=3)
    body = caller_with_key(account, rights=[Right.DIAGNOSTICS]).get(HEALTH).json()
    assert (body["status"], body["worker"]["alive"], body["dead_letters"]) == ("ok", True, 0)
    assert 300 <= body["jobs"][0]["oldest_seconds"] < 330
    assert body["unread_events"] == {"waiting": 0, "oldest_seconds": None}
    assert [(work["kind"], work["done"], work["total"], work["silent"]) for work in body["long_work"]] == [
        ("backfill", 3, None, False)
    ]
    assert [run["name"] for run in body["schedules"]] == [entry.name for entry in schedules.TABLE]
    assert body["figures_counted_until"] is None


def test_an_account_is_not_told_of_the_work_of_others(account: Account) -> None:
    _job(account, status=JobStatus.DEAD)
    assert operations.of_account(account.id).dead_jobs == 1
    assert operations.of_account(SubjectFactory.build().id).jobs == []


@pytest.mark.parametrize(
    ("rights", "path", "told"),
    [
        ([Right.READ], None, (403, "missing_right")),
        ([Right.DIAGNOSTICS], "/support", (403, "forbidden_scope")),
    ],
)
def test_keys_need_the_right_to_diagnostics_in_the_whole_account(
    account: Account, rights: list[Right], path: str | None, told: tuple[int, str]
) -> None:
    limit = {"scope_limit": ensure_scope(account.id, path)} if path else {}
    assert problem(caller_with_key(account, rights=rights, **limit).get(HEALTH))[:2] == told


def test_people_have_to_be_administrators(account: Account) -> None:
    assert problem(signed_in(maker_of(person_in(account))).get(HEALTH))[:2] == (403, "forbidden_scope")
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    assert signed_in(maker_of(administrator)).get(HEALTH).status_code == 200
