"""Queueing is part of the transaction; running names the error and not its message; the clock's table is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django_q.models import OrmQ, Schedule, Task

from facts import jobs
from memory_site import checks, heartbeat, queue, schedules, watchdog
from memory_site.models import Heartbeat

MOMENT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
called: list[tuple[object, ...]] = []


def remember(*arguments: object) -> None:
    called.append(arguments)


def fail(*arguments: object) -> None:
    raise ValueError("Ada lives in Lyon")


@pytest.fixture(autouse=True)
def _forget() -> None:
    called.clear()


@pytest.mark.django_db
def test_queues_the_function_with_its_arguments() -> None:
    queue.enqueue(f"{__name__}.remember", "job", 7)
    task = OrmQ.objects.get().task
    assert (task["func"], task["args"]) == ("memory_site.queue.run", (f"{__name__}.remember", "job", 7))
    assert task["group"] == f"{__name__}.remember"
    assert called == []


@pytest.mark.django_db
def test_a_rolled_back_transaction_queues_nothing() -> None:
    with transaction.atomic():
        queue.enqueue(f"{__name__}.remember")
        assert OrmQ.objects.count() == 1
        transaction.set_rollback(True)
    assert OrmQ.objects.count() == 0


@pytest.mark.django_db
def test_eager_calls_at_once(settings) -> None:
    settings.TASKS_EAGER = True
    queue.enqueue(f"{__name__}.remember", "job")
    assert called == [("job",)]
    assert OrmQ.objects.count() == 0


@pytest.mark.django_db
def test_running_calls_the_function_and_beats() -> None:
    queue.run(f"{__name__}.remember", "job", 7)
    assert called == [("job", 7)]
    assert heartbeat.is_fresh(heartbeat.last_beat(), at=queue.now())


@pytest.mark.django_db
def test_a_failure_names_the_error_and_keeps_its_message_to_itself() -> None:
    with pytest.raises(queue.TaskFailed) as raised:
        queue.run(f"{__name__}.fail")
    assert str(raised.value) == f"{__name__}.fail: ValueError"
    assert raised.value.__suppress_context__


@pytest.mark.django_db
def test_the_job_ledger_reaches_the_queue() -> None:
    assert jobs._dispatcher is queue.dispatch_jobs
    queue.dispatch_jobs("ingest.tasks.run", [("job-id", "account-id")])
    assert OrmQ.objects.get().task["args"] == ("ingest.tasks.run", "job-id", "account-id")


@pytest.mark.django_db
def test_many_jobs_reach_the_queue_as_one_does(django_assert_num_queries) -> None:
    queue.dispatch_jobs("ingest.tasks.run", [("one", "account-id")])
    with django_assert_num_queries(1):
        queue.dispatch_jobs("ingest.tasks.run", [("two", "account-id"), ("three", "account-id")])
    one, *many = OrmQ.objects.order_by("id")
    assert [row.task["args"] for row in many] == [
        ("ingest.tasks.run", "two", "account-id"),
        ("ingest.tasks.run", "three", "account-id"),
    ]
    assert {row.key for row in many} == {one.key}
    assert {key: value for key, value in many[0].task.items() if key not in {"id", "name", "args", "started"}} == {
        key: value for key, value in one.task.items() if key not in {"id", "name", "args", "started"}
    }
    assert all(row.lock <= queue.now() for row in many)


@pytest.mark.django_db
def test_the_poll_has_its_index() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'memory_site_queue_poll'")
        assert cursor.fetchone()[0].endswith("(key, lock, id)")


@pytest.mark.django_db
def test_results_are_pruned_by_age(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "now", lambda: MOMENT)
    ages = {"new": timedelta(hours=23), "old": timedelta(hours=25), "ancient": timedelta(days=31)}
    for name, age in ages.items():
        for success in (True, False):
            task = {"id": f"{name}{success}", "name": name, "func": "f", "success": success}
            Task.objects.create(**task, started=MOMENT - age, stopped=MOMENT - age)
    queue.prune_results()
    assert sorted(Task.objects.values_list("id", flat=True)) == ["newFalse", "newTrue", "oldFalse"]


@pytest.mark.django_db
def test_schedules_become_those_of_the_table() -> None:
    Schedule.objects.create(name="left over", func="f")
    call_command("sync_schedules")
    rows = Schedule.objects.filter(name="heartbeat").values_list("func", "args", "schedule_type", "minutes", "repeats")
    assert list(rows) == [
        ("memory_site.queue.run_scheduled", "('heartbeat', 'memory_site.queue.show_life')", "I", 1, -1)
    ]
    assert sorted(Schedule.objects.values_list("name", flat=True)) == sorted(e.name for e in schedules.TABLE)


@pytest.mark.django_db
def test_an_unchanged_schedule_keeps_its_next_run_and_a_changed_one_does_not() -> None:
    kept = schedules.Entry("kept", "a.b", minutes=5)
    schedules.sync((kept, schedules.Entry("changed", "a.b", minutes=5)))
    Schedule.objects.update(next_run=MOMENT)
    Schedule.objects.create(name="kept", func="twice")
    schedules.sync((kept, schedules.Entry("changed", "a.b", cron="0 3 * * *")))
    assert Schedule.objects.get(name="kept").next_run == MOMENT
    changed = Schedule.objects.get(name="changed")
    assert (changed.schedule_type, changed.minutes, changed.cron) == ("C", None, "0 3 * * *")
    assert (changed.next_run.hour, changed.next_run.minute) == (3, 0)


@pytest.mark.django_db
def test_beats_are_written_at_most_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    for seconds, expected in ((0, 0), (9, 0), (10, 0), (11, 11)):
        monkeypatch.setattr(heartbeat, "now", lambda at=seconds: MOMENT + timedelta(seconds=at))
        heartbeat.beat()
        assert heartbeat.last_beat() == MOMENT + timedelta(seconds=expected)


@pytest.mark.django_db
def test_the_oldest_waiting_task_is_known() -> None:
    assert heartbeat.oldest_due(at=MOMENT) is None
    for minutes in (-4, -9, 2):
        OrmQ.objects.create(key="memory", payload="x", lock=MOMENT + timedelta(minutes=minutes))
    assert heartbeat.oldest_due(at=MOMENT) == MOMENT - timedelta(minutes=9)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("beat_seconds_ago", "started_seconds_ago", "stuck"),
    [(None, 180, False), (None, 181, True), (181, 200, True), (181, 20, False), (180, 500, False), (1, 500, False)],
)
def test_a_queue_without_progress_for_three_minutes_is_stuck(
    monkeypatch: pytest.MonkeyPatch, beat_seconds_ago: int | None, started_seconds_ago: int, stuck: bool
) -> None:
    monkeypatch.setattr(watchdog, "now", lambda: MOMENT)
    if beat_seconds_ago is not None:
        Heartbeat.objects.create(name="worker", beat_at=MOMENT - timedelta(seconds=beat_seconds_ago))
    assert watchdog.is_stuck(started=MOMENT - timedelta(seconds=started_seconds_ago)) is stuck


def test_the_settings_of_the_queue_hold(settings) -> None:
    assert checks.shortest_retry(settings.Q_CLUSTER) == 120 * 3 + 30
    assert checks.check_queue() == []
    assert checks.check_schedules() == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"timeout": None}, "memory_site.E001"),
        ({"timeout": 2.5}, "memory_site.E001"),
        ({"retry": 389}, "memory_site.E002"),
        ({"queue_limit": 4}, "memory_site.E002"),
        ({"timeout": 30}, "memory_site.E003"),
        ({"orm": "owner"}, "memory_site.E004"),
    ],
)
def test_settings_that_would_run_a_task_twice_or_forever_are_found(settings, change, found) -> None:
    settings.Q_CLUSTER = {**settings.Q_CLUSTER, **change}
    assert [message.id for message in checks.check_queue()] == [found]
    with pytest.raises(checks.ImproperlyConfigured):
        checks.refuse_errors(worker=False)


def test_a_worker_refuses_a_pool(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"]["OPTIONS"], "pool", True)
    checks.refuse_errors(worker=False)
    with pytest.raises(checks.ImproperlyConfigured, match="must not be set for a worker"):
        checks.refuse_errors(worker=True)


def test_a_schedule_of_a_function_that_does_not_exist_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "TABLE", (schedules.Entry("lost", "memory_site.queue.lost", minutes=1),))
    assert [message.id for message in checks.check_schedules()] == ["memory_site.E006"]
