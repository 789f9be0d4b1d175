"""What ran by the clock is noted when it was completed, and only then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memory_site import queue, scheduled_runs, schedules
from memory_site.models import ScheduledRun
from memory_site.schedules import Entry

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
    assert ScheduledRun.objects.get().completed_at == MOMENT


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
