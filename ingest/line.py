"""The waiting line: what is left to process, in the order in which it was said.

Every event has its own job, so that one that cannot be processed holds up nobody. A delivery of any job is a turn to
work on its subject's line, and always serves the front: candidates of a subject are taken in event-time order although
the queue knows no order, and a thousand events of one subject need one delivery.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from facts import jobs
from facts.clock import now
from facts.models import Event, Job
from facts.models.records import JobStatus
from facts.tenancy import ROOT
from ingest.models import EventOutcome, OutcomeResult
from ingest.reasons import WAITS_FOR_BATCH

PROCESS = "ingest.process"
#: Names how events are processed; another recipe may process the same events again.
RECIPE = "extract-1"


def join(
    account_id: uuid.UUID, events: Sequence[Event], *, batches: Mapping[uuid.UUID, uuid.UUID] | None = None
) -> dict[uuid.UUID, Job]:
    """Queue new events, in the caller's transaction; returns each event's job. Every line gets one delivery.

    Those in ``batches`` (event → batch) keep their place and wait until their batch was read.
    """
    batches = batches or {}
    first: dict[tuple[uuid.UUID, uuid.UUID], Event] = {}
    for event in sorted(events, key=lambda event: (event.occurred_at, event.id)):
        if event.id not in batches:
            first.setdefault((event.scope_id, event.subject_id), event)
    by_input = jobs.submit_all(
        account_id,
        kind=PROCESS,
        input_keys=[str(event.id) for event in events],
        recipe=RECIPE,
        deliver=[str(event.id) for event in first.values()],
    )
    queued = {event.id: by_input[str(event.id)] for event in events}
    EventOutcome.objects.bulk_create(
        EventOutcome(
            account_id=account_id,
            event=event,
            recipe=RECIPE,
            job=queued[event.id],
            batch_id=batches.get(event.id),
            waits_for_batch=event.id in batches,
            reason=WAITS_FOR_BATCH if event.id in batches else "",
            scope_id=event.scope_id,
            subject_id=event.subject_id,
            occurred_at=event.occurred_at,
        )
        for event in events
    )
    return queued


def go_on(account_id: uuid.UUID, outcomes: Collection[EventOutcome]) -> None:
    """Let messages whose batch was read, or given up, take their turns; every line gets one delivery.

    ``outcomes`` come with their jobs. Runs in the transaction that ends the batch.
    """
    freed = EventOutcome.objects.filter(account_id=account_id, pk__in=[outcome.pk for outcome in outcomes])
    freed.update(waits_for_batch=False)
    freed.filter(result=OutcomeResult.PENDING).update(reason="", error_class="")
    first: dict[tuple[uuid.UUID, uuid.UUID], EventOutcome] = {}
    for outcome in sorted(outcomes, key=lambda outcome: (outcome.occurred_at, outcome.event_id)):
        if outcome.result == OutcomeResult.PENDING:
            first.setdefault((outcome.scope_id, outcome.subject_id), outcome)
    jobs.dispatch_all([outcome.job for outcome in first.values()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of an account's line: one scope's, one subject's, or that of a scope and those below it (``under``)."""

    account_id: uuid.UUID
    scope_id: uuid.UUID | None = None
    subject_id: uuid.UUID | None = None
    under: str | None = None


def pending(part: Part) -> QuerySet[EventOutcome]:
    """Return what waits there, in order."""
    waiting = EventOutcome.objects.filter(account_id=part.account_id, result=OutcomeResult.PENDING)
    if part.scope_id is not None:
        waiting = waiting.filter(scope_id=part.scope_id)
    if part.subject_id is not None:
        waiting = waiting.filter(subject_id=part.subject_id)
    if part.under is not None and part.under != ROOT:
        waiting = waiting.filter(Q(scope__path=part.under) | Q(scope__path__startswith=f"{part.under}/"))
    return waiting.order_by("occurred_at", "event_id")


def front(waiting: QuerySet[EventOutcome]) -> EventOutcome | None:
    """Return the first of ``waiting`` that anybody may work on now."""
    return waiting.filter(_free()).select_related("job").first()


def _free() -> Q:
    """Return the condition that a job is due and in nobody's hands, and its message was read if others share that."""
    at = now()
    due = Q(job__status=JobStatus.QUEUED, job__run_after__lte=at)
    dead = Q(job__status=JobStatus.RUNNING, job__claimed_at__lt=at - jobs.CLAIM_LASTS)
    return Q(waits_for_batch=False) & (due | dead)


def requeue(account_id: uuid.UUID) -> int:
    """Deliver every line again that has something due and nobody working on it. Returns how many.

    One delivery a line, however long it is: a backlog must not fill the queue with its own repeats.
    """
    busy = pending(Part(account_id=account_id)).filter(
        job__status=JobStatus.RUNNING, job__claimed_at__gte=now() - jobs.CLAIM_LASTS
    )
    worked_on = set(busy.order_by().values_list("scope_id", "subject_id").distinct())
    fronts = (
        pending(Part(account_id=account_id))
        .filter(_free())
        .order_by("scope_id", "subject_id", "occurred_at", "event_id")
        .distinct("scope_id", "subject_id")
        .select_related("job")
    )
    idle = [front for front in fronts if (front.scope_id, front.subject_id) not in worked_on]
    for outcome in idle:
        jobs.dispatch(outcome.job)
    return len(idle)


def line_of(outcome: EventOutcome) -> Part:
    """Return the line in which an event stands: that of its subject in its scope."""
    return Part(account_id=outcome.account_id, scope_id=outcome.scope_id, subject_id=outcome.subject_id)


def is_overtaking(outcome: EventOutcome) -> bool:
    """Tell whether an earlier event of the same line is in other hands or due; those that pause hold up nobody.

    Also while it lies in the hands of a worker that died: until then nobody knows, and afterwards it is first.
    """
    earlier = Q(occurred_at__lt=outcome.occurred_at) | Q(occurred_at=outcome.occurred_at, event_id__lt=outcome.event_id)
    return soon(pending(line_of(outcome)).filter(earlier)).exists()


def soon(waiting: QuerySet[EventOutcome]) -> QuerySet[EventOutcome]:
    """Return those of ``waiting`` that are due or in somebody's hands.

    The others pause before another try, or wait until a model has read their batch.
    """
    due = Q(job__status=JobStatus.QUEUED, job__run_after__lte=now())
    return waiting.filter(Q(job__status=JobStatus.RUNNING) | due, waits_for_batch=False)
