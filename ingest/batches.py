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
from ingest.models import MessageBatch

READ = "ingest.read_batch"


def assign(account_id: uuid.UUID, events: Sequence[Event]) -> dict[uuid.UUID, uuid.UUID]:
    """Put new channel messages into batches, in the order in which they were said; returns event → batch.

    Nothing where the local rules read: they gain nothing by waiting. Runs in the capturing transaction and locks the
    account's open batch until its end; take the lock of the audit chain after it (``audit.gathered``).
    """
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
