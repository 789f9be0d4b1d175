"""Which channel messages a model reads together. Decided when they are captured, one capture after the other.

A batch is full with ``CONTEXT_BATCH_SIZE`` messages, and over ``CONTEXT_BATCH_QUIET_MINUTES`` after the last one,
whether or not anybody looked at the clock then: a later message belongs to the next. So no worker has a say in it. A
closed batch has one job, and takes nothing more.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.conf import settings

from facts import jobs
from facts.clock import now
from facts.models import Event
from ingest.models import EventOutcome, MessageBatch, OutcomeResult
from ingest.reasons import WAITS_FOR_BATCH

READ = "ingest.read_batch"


def assign(account_id: uuid.UUID, events: Sequence[Event]) -> dict[uuid.UUID, uuid.UUID]:
    """Put new channel messages into batches, in the order in which they were said; returns event → batch.

    Nothing where the local rules read: they gain nothing by waiting; nor of a backfill, which is read when all of it is
    there (:func:`assign_held`). Runs in the capturing transaction and locks the account's open batch until its end; the
    lock of the audit chain comes after it (``audit.gathered``).
    """
    return _place(account_id, [event for event in events if not event.recorded_claims.get("backfill")])


def assign_held(account_id: uuid.UUID, events: Sequence[Event]) -> int:
    """Put messages into batches that were captured before and held back, and let them wait there; returns how many.

    In the caller's transaction. Those of the last batch wait until that is full or quiet, as live ones do.
    """
    placed = _place(account_id, events)
    by_batch: dict[uuid.UUID, list[uuid.UUID]] = {}
    for event_id, batch_id in placed.items():
        by_batch.setdefault(batch_id, []).append(event_id)
    waiting = EventOutcome.objects.filter(account_id=account_id, result=OutcomeResult.PENDING)
    return sum(
        waiting.filter(event_id__in=event_ids).update(batch=batch_id, waits_for_batch=True, reason=WAITS_FOR_BATCH)
        for batch_id, event_ids in by_batch.items()
    )


def _place(account_id: uuid.UUID, events: Sequence[Event]) -> dict[uuid.UUID, uuid.UUID]:
    """Fill batches with those of the events that are read together; returns event → batch."""
    shared = sorted(filter(_is_shared, events), key=lambda event: (event.occurred_at, event.id))
    if not shared or settings.EXTRACTION_PROVIDER == "rules" or settings.CONTEXT_BATCH_SIZE <= 1:
        return {}
    at = now()
    batch = _open(account_id)
    if _is_quiet(batch, at):
        _close(batch, at)
        batch = _open(account_id)
    placed = {}
    for event in shared:
        if batch.size >= settings.CONTEXT_BATCH_SIZE:
            _close(batch, at)
            batch = _open(account_id)
        batch.size, batch.last_at = batch.size + 1, at
        placed[event.id] = batch.id
    if batch.size >= settings.CONTEXT_BATCH_SIZE:
        _close(batch, at)
    else:
        batch.save(update_fields=["size", "last_at"])
    return placed


def close_quiet(account_id: uuid.UUID) -> bool:
    """Close the account's open batch if its time has come, and queue its reading; ``False`` when there is none."""
    at = now()
    ripe = MessageBatch.objects.filter(account_id=account_id, closed_at__isnull=True, size__gt=0)
    for batch in ripe.select_for_update(skip_locked=True):
        if _is_quiet(batch, at):
            _close(batch, at)
            return True
    return False


def _is_shared(event: Event) -> bool:
    return bool(event.channel_id) and event.human


def _is_quiet(batch: MessageBatch, at: datetime) -> bool:
    return batch.size > 0 and batch.last_at + timedelta(minutes=settings.CONTEXT_BATCH_QUIET_MINUTES) <= at


def _open(account_id: uuid.UUID) -> MessageBatch:
    """Return the account's open batch, locked."""
    while True:
        # Waits for whoever is opening one; a batch that somebody closed meanwhile is found closed under its lock.
        MessageBatch.objects.bulk_create([MessageBatch(account_id=account_id)], ignore_conflicts=True)
        found: Iterable[MessageBatch] = MessageBatch.objects.filter(account_id=account_id, closed_at__isnull=True)
        for batch in found.select_for_update():
            return batch


def _close(batch: MessageBatch, at: datetime) -> None:
    batch.closed_at = at
    batch.job = jobs.submit(batch.account_id, kind=READ, input_key=str(batch.id))
    batch.save(update_fields=["size", "last_at", "closed_at", "job"])
