"""What ran by the clock is noted when it was completed, and only then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django_q.models import Schedule

from facts.models import User
from governance.models import Role
from memory_site import queue, scheduled_runs, schedules
from memory_site.models import ScheduledRun
from memory_site.schedules import Entry
from tests.admin_scene import sign_in
from tests.factories import person_in

MOMENT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def three() -> int:
    return 3


def nothing() -> None:
    return None


def fail() -> int:
    raise RuntimeError("no")


def _at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    monkeypatch.setattr(scheduled_runs, "now", lambda: moment)
    monkeypatch.setattr(schedules, "now", lambda: moment)


@pytest.mark.django_db
def test_a_completed_run_is_noted_with_what_it_dealt_with(monkeypatch) -> None:
    _at(monkeypatch, MOMENT)
    queue.run_scheduled("sweep", f"{__name__}.three")
    assert ScheduledRun.objects.values_list("name", "completed_at", "settled").get() == ("sweep", MOMENT, 3)
    _at(monkeypatch, MOMENT + timedelta(hours=1))
    queue.run_scheduled("sweep", f"{__name__}.nothing")
    run = ScheduledRun.objects.get()
    assert (run.scheduled_at, run.completed_at, run.settled) == (MOMENT, MOMENT + timedelta(hours=1), None)


@pytest.mark.django_db
def test_a_run_that_fails_is_not_completed(monkeypatch) -> None:
    _at(monkeypatch, MOMENT)
    queue.run_scheduled("sweep", f"{__name__}.three")
    _at(monkeypatch, MOMENT + timedelta(hours=1))
    with pytest.raises(queue.TaskFailed):
        queue.run_scheduled("sweep", f"{__name__}.fail")
    run = ScheduledRun.objects.get()
    later = MOMENT + timedelta(hours=1)
    assert (run.completed_at, run.failed_at, run.error_class) == (MOMENT, later, "RuntimeError")
    table = (Entry("sweep", "a.b", minutes=5),)
    schedules.sync(table)
    (one,) = scheduled_runs.planned(at=later, table=table)
    assert (one.state.is_failing, one.next_at, one.entry.rhythm) == (True, later, "every 5 minutes")
    queue.run_scheduled("sweep", f"{__name__}.three")
    assert not scheduled_runs.states(at=later, table=table)[0].is_failing


@pytest.mark.django_db
def test_what_runs_by_the_clock_can_be_looked_at_and_run_soon(monkeypatch, account, client) -> None:
    _at(monkeypatch, MOMENT)
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    sign_in(client, administrator)
    schedules.sync()
    with pytest.raises(queue.TaskFailed):
        queue.run_scheduled("expire facts", f"{__name__}.fail")
    page = client.get("/admin/schedules/")
    assert page.context["failing"] == ["expire facts"]
    assert b"<code>RuntimeError</code>" in page.content
    assert [does for _, does in page.context["planned"] if not does] == []
    Schedule.objects.update(next_run=MOMENT + timedelta(days=1))
    assert client.post("/admin/schedules/", {"name": "expire facts"}).status_code == 403
    User.objects.filter(memberships__id=administrator.membership_id).update(is_superuser=True)
    assert client.post("/admin/schedules/", {"name": "no such"}).status_code == 404
    assert client.post("/admin/schedules/", {"name": "expire facts"}).status_code == 302
    assert list(Schedule.objects.filter(next_run=MOMENT).values_list("name", flat=True)) == ["expire facts"]
    sign_in(client, person_in(account))
    assert client.get("/admin/schedules/").status_code == 403


@pytest.mark.django_db
def test_what_never_ran_is_late_three_periods_after_it_was_scheduled(monkeypatch) -> None:
    table = (Entry("hourly", "a.b", cron="5 * * * *"), Entry("daily", "a.b", cron="5 3 * * *"))
    states = scheduled_runs.states(at=MOMENT, table=table)
    assert [(state.completed_at, state.is_late) for state in states] == [(None, False)] * 2
    _at(monkeypatch, MOMENT)
    schedules.sync(table)
    for hours, late in ((3, []), (3.1, ["hourly"]), (73, ["hourly", "daily"])):
        states = scheduled_runs.states(at=MOMENT + timedelta(hours=hours), table=table)
        assert [state.name for state in states if state.is_late] == late


@pytest.mark.django_db
def test_synchronising_again_forgets_no_run_but_those_that_are_scheduled_no_more() -> None:
    schedules.sync((Entry("kept", "a.b", minutes=1), Entry("gone", "a.b", minutes=1)))
    ScheduledRun.objects.update(completed_at=MOMENT)
    schedules.sync((Entry("kept", "a.b", minutes=1), Entry("new", "a.b", minutes=1)))
    assert list(ScheduledRun.objects.order_by("name").values_list("name", "completed_at")) == [
        ("kept", MOMENT),
        ("new", None),
    ]


def test_every_sweep_runs_every_hour_or_day() -> None:
    periods = {entry.function: entry.period for entry in schedules.TABLE}
    hour = timedelta(hours=1)
    for name in ("expire_facts", "ask_to_revalidate", "age_reviews"):
        assert periods[f"governance.tasks.{name}"] == hour
    assert periods["governance.tasks.remove_raw_text"] == timedelta(days=1)
    assert periods["ingest.tasks.requeue_waiting"] == timedelta(minutes=1)
