"""What the home page shows: how much waits, how old it is, and whether the machinery runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Q, QuerySet
from django.utils.safestring import SafeString

from facts.clock import now
from facts.models import ConflictSet, Event, Job
from facts.models.records import JobStatus
from facts.vocabulary import ConflictStatus
from governance.models import Review, Role
from governance.reviewing.review_queue import in_queue
from memory_site import heartbeat, scheduled_runs
from memory_site.admin_pages.conflict_summary import in_short, with_sides
from memory_site.admin_pages.sight import Sight
from memory_site.scheduled_runs import State
from retrieval import statistics
from retrieval.models import Trace

#: Span of the injection rate.
RATE_DAYS = 7
#: Counts in the navigation stop here.
COUNTED = 1_000
#: Rows of the short lists.
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queue in figures. ``oldest`` is ``None`` when it is empty."""

    count: int
    oldest: datetime | None
    overdue: int


@dataclass(frozen=True, slots=True)
class Rate:
    """The share of context calls that served at least one fact; ``value`` is ``None`` when there were none."""

    value: float | None
    calls: int
    days: int


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything on the home page. Queues count what this person may decide."""

    conflicts: Waiting
    next_conflicts: list[tuple[ConflictSet, SafeString]]
    reviews: Waiting
    injection: Rate
    last_beat: datetime | None
    worker_lives: bool
    oldest_queued: datetime | None
    dead_jobs: int
    traces: list[Trace]
    has_evidence: bool
    is_curator: bool
    decides_everywhere: bool
    sees_jobs: bool
    schedules: list[State]


def figures(eyes: Sight) -> Figures:
    """Return the figures for a person."""
    at = now()
    account_id = eyes.principal.account_id
    beat = heartbeat.last_beat()
    sees_jobs = eyes.has_role_at_root(Role.ACCOUNT_ADMIN)
    return Figures(
        conflicts=_waiting(open_conflicts(eyes, at=at), "opened_at", at=at),
        next_conflicts=[
            (conflict, in_short(conflict))
            for conflict in with_sides(eyes, open_conflicts(eyes, at=at)).select_related("subject", "scope")[:SHOWN]
        ],
        reviews=_waiting(pending_reviews(eyes), "created_at", at=at),
        injection=_injection(eyes),
        last_beat=beat,
        worker_lives=heartbeat.is_fresh(beat, at=at),
        oldest_queued=heartbeat.oldest_due(at=at),
        dead_jobs=Job.objects.filter(account_id=account_id, status=JobStatus.DEAD).count(),
        traces=list(eyes.traces()[:SHOWN]),
        has_evidence=Event.objects.filter(account_id=account_id).exists(),
        is_curator=eyes.is_curator,
        decides_everywhere=eyes.has_role_at_root(Role.CURATOR),
        sees_jobs=sees_jobs,
        schedules=scheduled_runs.states(at=at) if sees_jobs else [],
    )


def waiting_counts(eyes: Sight) -> dict[str, int]:
    """Return what waits, by the name of the model whose list shows it; at most :data:`COUNTED` of each."""
    return {
        "ConflictSet": open_conflicts(eyes, at=now())[:COUNTED].count(),
        "Review": pending_reviews(eyes)[:COUNTED].count(),
    }


def open_conflicts(eyes: Sight, *, at: datetime) -> QuerySet[ConflictSet]:
    """Return the conflict sets that wait for this person, oldest first: open ones that were not put off."""
    put_off = Q(deferred_until__gt=at)
    return eyes.conflicts().filter(status=ConflictStatus.OPEN).exclude(put_off).order_by("opened_at", "id")


def pending_reviews(eyes: Sight) -> QuerySet[Review]:
    """Return the reviews that wait for this person, those due first in front."""
    return in_queue(eyes.reviews()).order_by("due_at", "id")


def _waiting(queue: QuerySet, since: str, *, at: datetime) -> Waiting:
    found = queue.aggregate(count=Count("pk"), oldest=Min(since), overdue=Count("pk", filter=Q(due_at__lt=at)))
    return Waiting(found["count"], found["oldest"], found["overdue"])


def _injection(eyes: Sight) -> Rate:
    found = statistics.overview(
        account_id=eyes.principal.account_id, scopes=eyes.scopes, reader=eyes.reader, window_days=RATE_DAYS
    )
    return Rate(found.total.injection_rate, found.total.calls, RATE_DAYS)
