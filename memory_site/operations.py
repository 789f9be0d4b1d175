"""How the work of an account stands: its jobs, what is unread, long work, deliveries, and the machinery behind them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Q

from facts import day_figures, long_jobs
from facts.clock import now
from facts.models import Job, LongJob
from facts.models.long_jobs import OPEN_STATES
from facts.models.records import JobStatus
from ingest.models import Delivery, DeliveryState, EventOutcome, OutcomeResult
from memory_site import heartbeat, scheduled_runs
from memory_site.scheduled_runs import State
from retrieval import read_stats

#: Long work that is named; rarely is there more than one.
NAMED = 5


@dataclass(frozen=True, slots=True)
class Jobs:
    """Jobs of one kind: how many wait, since when the oldest could have begun, how many are being done or given up."""

    kind: str
    waiting: int
    oldest_due: datetime | None
    running: int
    dead: int


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits somewhere, and since when the oldest does."""

    waiting: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """The state of an account's work. ``last_beat``, ``oldest_task`` and ``schedules`` are of the installation.

    ``unread``: events that are not read for facts yet. ``dead_letters``: deliveries that were given up and wait for a
    person. ``silent_work``: long work that should go on and gives no sign of life. ``counted_until``: up to when the
    figures by day are written.
    """

    at: datetime
    last_beat: datetime | None
    worker_lives: bool
    oldest_task: datetime | None
    jobs: list[Jobs]
    unread: Queue
    deliveries: Queue
    dead_letters: int
    long_work: list[LongJob]
    silent_work: list[LongJob]
    schedules: list[State]
    counted_until: datetime | None

    @property
    def dead_jobs(self) -> int:
        """Jobs that were given up."""
        return sum(each.dead for each in self.jobs)

    @property
    def late(self) -> list[str]:
        """What should have run by the clock, and has not."""
        return [state.name for state in self.schedules if state.is_late]

    @property
    def is_sound(self) -> bool:
        """Whether nothing waits for a person: all is alive and nothing was given up."""
        trouble = self.dead_jobs or self.dead_letters or self.silent_work or self.late
        return self.worker_lives and not trouble


def of_account(account_id: uuid.UUID) -> Operations:
    """Return how things stand, in the same number of queries for any amount of work. Runs in the account's
    transaction."""
    at = now()
    beat = heartbeat.last_beat()
    work = list(LongJob.objects.filter(account_id=account_id, state__in=OPEN_STATES).order_by("-updated_at")[:NAMED])
    return Operations(
        at=at,
        last_beat=beat,
        worker_lives=heartbeat.is_fresh(beat, at=at),
        oldest_task=heartbeat.oldest_due(at=at),
        jobs=_jobs(account_id, at),
        unread=_unread(account_id),
        deliveries=_deliveries(account_id),
        dead_letters=Delivery.objects.filter(account_id=account_id, state=DeliveryState.DEAD).count(),
        long_work=work,
        silent_work=[job for job in work if long_jobs.is_silent(job)],
        schedules=scheduled_runs.states(at=at),
        counted_until=day_figures.counted_until(account_id, read_stats.SOURCE),
    )


def _jobs(account_id: uuid.UUID, at: datetime) -> list[Jobs]:
    """Return the kinds of which anything is left; a job whose time has not come waits for nobody."""
    due = Q(status=JobStatus.QUEUED, run_after__lte=at)
    left = Job.objects.filter(account_id=account_id, status__in=[JobStatus.QUEUED, JobStatus.RUNNING, JobStatus.DEAD])
    found = (
        left.order_by("kind")
        .values("kind")
        .annotate(
            due=Count("pk", filter=due),
            oldest=Min("run_after", filter=due),
            running=Count("pk", filter=Q(status=JobStatus.RUNNING)),
            dead=Count("pk", filter=Q(status=JobStatus.DEAD)),
        )
    )
    return [Jobs(row["kind"], row["due"], row["oldest"], row["running"], row["dead"]) for row in found]


def _unread(account_id: uuid.UUID) -> Queue:
    waiting = EventOutcome.objects.filter(account_id=account_id, result=OutcomeResult.PENDING).order_by()
    found = waiting.aggregate(number=Count("pk"), oldest=Min("created_at"))
    return Queue(found["number"], found["oldest"])


def _deliveries(account_id: uuid.UUID) -> Queue:
    waiting = Delivery.objects.filter(account_id=account_id, state=DeliveryState.PENDING).order_by()
    found = waiting.aggregate(number=Count("pk"), oldest=Min("created_at"))
    return Queue(found["number"], found["oldest"])
