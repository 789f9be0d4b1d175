"""The way onto the background queue, and how a queued task is run.

The queue delivers at least once: a task may run twice or late, and must be written for that. What it is given
is kept as it is in the database, so arguments are identifiers, never content.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.utils.module_loading import import_string
from django_q.brokers import Broker
from django_q.conf import Conf
from django_q.models import OrmQ, Task
from django_q.tasks import async_task

from facts.clock import now
from memory_site import heartbeat

logger = logging.getLogger(__name__)

RUNNER = "memory_site.queue.run"
SCHEDULED_RUNNER = "memory_site.queue.run_scheduled"
SUCCESSES_KEPT = timedelta(days=1)
FAILURES_KEPT = timedelta(days=30)


class TaskFailed(Exception):
    """A task raised. Names the class of the error only: the message may quote what was stored."""

    def __init__(self, function_path: str, error_class: str) -> None:
        super().__init__(f"{function_path}: {error_class}")
        self.error_class = error_class


def enqueue(function_path: str, *arguments: str | int) -> None:
    """Queue a call of the function at `function_path`, as part of the running transaction.

    With `TASKS_EAGER` (tests) the function is called at once instead.
    """
    if settings.TASKS_EAGER:
        import_string(function_path)(*arguments)
        return
    async_task(RUNNER, function_path, *arguments, group=function_path)


def dispatch_jobs(function_path: str, calls: Sequence[tuple[str, str]]) -> None:
    """Queue jobs of the ledger (job, account), all in one statement; registered with `facts.jobs`."""
    if settings.TASKS_EAGER or len(calls) == 1:
        for call in calls:
            enqueue(function_path, *call)
        return
    packages = _Packages(list_key=Conf.PREFIX)
    for call in calls:
        async_task(RUNNER, function_path, *call, group=function_path, broker=packages)
    moment = now()
    OrmQ.objects.bulk_create(OrmQ(key=packages.list_key, payload=packed, lock=moment) for packed in packages.packed)


class _Packages(Broker):
    """Takes packages as the queue's broker does, to be written together."""

    def __init__(self, list_key: str) -> None:
        self.list_key = list_key
        self.packed: list[str] = []

    def enqueue(self, task: str) -> None:
        """Keep one package."""
        self.packed.append(task)


def run(function_path: str, *arguments: str | int) -> None:
    """Call a queued function in the worker; raise `TaskFailed` in place of whatever it raises."""
    _call(function_path, *arguments)


def run_scheduled(name: str, function_path: str) -> None:
    """Call a function whose time has come, as `run` does, and note that it was completed and how much it dealt with,
    or that it failed."""
    from memory_site import scheduled_runs

    try:
        result = _call(function_path)
    except TaskFailed as failure:
        with suppress(DatabaseError):  # where the database is what failed, the queue's own record has to do
            scheduled_runs.failed(name, error_class=failure.error_class)
        raise
    scheduled_runs.completed(name, settled=result if isinstance(result, int) else None)


def _call(function_path: str, *arguments: str | int) -> Any:
    heartbeat.beat()
    try:
        return import_string(function_path)(*arguments)
    except Exception as error:
        logger.exception("task_failed", extra={"function": function_path})
        raise TaskFailed(function_path, type(error).__name__) from None


def show_life() -> None:
    """Do nothing: running at all is the sign of life (see `run`)."""


def prune_results() -> None:
    """Delete the queue's records of what ran: they are of use only to whoever looks into a recent failure."""
    moment = now()
    Task.objects.filter(success=True, stopped__lt=moment - SUCCESSES_KEPT).delete()
    Task.objects.filter(success=False, stopped__lt=moment - FAILURES_KEPT).delete()
