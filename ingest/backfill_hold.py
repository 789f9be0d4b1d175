"""Holding back the reading for facts of what a backfill takes in, until all channels are read.

What is said later may end or correct what was said before: an order of events that is whole gives better facts than one
that arrives from behind, page by page. Held events pause like those that wait for another try, so they hold up nobody.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from facts.clock import now
from facts.models import Event, Job
from facts.models.records import JobStatus
from ingest import batches, line
from ingest.models import EventOutcome, OutcomeResult

#: When held jobs would come due; nothing else is ever that late.
HELD = datetime(9999, 1, 1, tzinfo=UTC)


def hold(account_id: uuid.UUID, *, work_id: uuid.UUID, source_keys: list[str]) -> int:
    """Hold back the events of these keys that this work brought and nobody has read; returns how many.

    Runs in the transaction that captured them.
    """
    waiting = EventOutcome.objects.filter(
        account_id=account_id,
        result=OutcomeResult.PENDING,
        event__source_key__in=source_keys,
        event__recorded_claims__import=str(work_id),
    )
    return Job.objects.filter(
        account_id=account_id, kind=line.PROCESS, status=JobStatus.QUEUED, pk__in=waiting.values("job_id")
    ).update(run_after=HELD)


def release(account_id: uuid.UUID) -> int:
    """Let everything that is held in the account be read, in the caller's transaction; returns how many events.

    Where a model reads messages in batches, they are put into batches now.
    """
    held = Job.objects.filter(account_id=account_id, kind=line.PROCESS, status=JobStatus.QUEUED, run_after=HELD)
    outcomes = EventOutcome.objects.filter(account_id=account_id, job__in=held)
    events = list(Event.objects.filter(account_id=account_id, pk__in=outcomes.values("event_id")).defer("payload"))
    if not events:
        return 0
    released = held.update(run_after=now())
    batches.assign_held(account_id, events)
    line.requeue(account_id)
    return released
