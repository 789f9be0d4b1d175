"""When each thing that runs by the clock was last completed: a run that fails, or leaves something, does not count."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from facts.clock import now
from memory_site.models import ScheduledRun
from memory_site.schedules import TABLE, Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How one thing stands. ``settled``: how many things its last run dealt with, where it counts them."""

    name: str
    completed_at: datetime | None
    settled: int | None
    is_late: bool


def completed(name: str, *, settled: int | None) -> None:
    """Note that a run has come to its end."""
    at = now()
    ScheduledRun.objects.update_or_create(
        name=name,
        defaults={"completed_at": at, "settled": settled},
        create_defaults={"scheduled_at": at, "completed_at": at, "settled": settled},
    )


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
    )
