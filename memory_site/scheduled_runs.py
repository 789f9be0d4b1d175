"""When each thing that runs by the clock was last completed, and when and why it failed last.

A run that fails, or leaves something, does not count as completed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django_q.models import Schedule

from facts.clock import now
from memory_site.models import ScheduledRun
from memory_site.schedules import TABLE, Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How one thing stands. ``settled``: how many things its last run dealt with, where it counts them; ``error_class``
    why it failed at ``failed_at``, the last time it did."""

    name: str
    completed_at: datetime | None
    settled: int | None
    is_late: bool
    failed_at: datetime | None = None
    error_class: str = ""

    @property
    def is_failing(self) -> bool:
        """Whether it has failed since it was last completed."""
        return self.failed_at is not None and (self.completed_at is None or self.failed_at > self.completed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One thing with its place in the table, how it stands, and when it runs next (``None``: it is not scheduled)."""

    entry: Entry
    state: State
    next_at: datetime | None


def completed(name: str, *, settled: int | None) -> None:
    """Note that a run has come to its end."""
    at = now()
    ScheduledRun.objects.update_or_create(
        name=name,
        defaults={"completed_at": at, "settled": settled},
        create_defaults={"scheduled_at": at, "completed_at": at, "settled": settled},
    )


def failed(name: str, *, error_class: str) -> None:
    """Note that a run has failed."""
    at = now()
    said = {"failed_at": at, "error_class": error_class[:128]}
    ScheduledRun.objects.update_or_create(name=name, defaults=said, create_defaults={"scheduled_at": at, **said})


def planned(*, at: datetime, table: tuple[Entry, ...] = TABLE) -> list[Planned]:
    """Return everything in the table with its next run; two queries."""
    upcoming = dict(Schedule.objects.filter(name__in=[entry.name for entry in table]).values_list("name", "next_run"))
    return [
        Planned(entry=entry, state=state, next_at=upcoming.get(entry.name))
        for entry, state in zip(table, states(at=at, table=table), strict=True)
    ]


def states(*, at: datetime, table: tuple[Entry, ...] = TABLE) -> list[State]:
    """Return the state of everything in the table, in its order; one query.

    Late is what was not completed for three times as long as it should take, be it that it never was since it was
    scheduled.
    """
    known = ScheduledRun.objects.in_bulk([entry.name for entry in table])
    return [_state(entry, known.get(entry.name), at) for entry in table]


def _state(entry: Entry, run: ScheduledRun | None, at: datetime) -> State:
    since = (run.completed_at or run.scheduled_at) if run else None
    return State(
        name=entry.name,
        completed_at=run.completed_at if run else None,
        settled=run.settled if run else None,
        is_late=since is not None and at - since > 3 * entry.period,
        failed_at=run.failed_at if run else None,
        error_class=run.error_class if run else "",
    )
