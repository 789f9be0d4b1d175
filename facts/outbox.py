"""What happened to facts, told to whoever must react: written with the change, read afterwards, in order.

Who must react registers a handler. A batch of entries goes to every handler in one transaction and is delivered when
all of them are done with it; if one fails, all get it again. A handler must therefore stand being told twice.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from facts.clock import now
from facts.locks import Lock, try_lock_account
from facts.models import Account, OutboxEntry
from facts.tenancy import account_transaction

logger = logging.getLogger(__name__)

#: Entries told in one transaction.
BATCH = 500
#: Batches of one account in one round, so that a big import keeps nobody else waiting for long.
BATCHES = 20
#: How long delivered entries are kept to look at.
KEPT = timedelta(days=7)

Handler = Callable[[uuid.UUID, Sequence[OutboxEntry]], None]

_handlers: dict[str, Handler] = {}


def register(name: str, handler: Handler) -> None:
    """Have ``handler`` told of every entry, with the account and inside it; a name registers once."""
    _handlers[name] = handler


def publish(
    account_id: uuid.UUID, *, topic: str, object_id: uuid.UUID, payload: Mapping[str, Any] | None = None
) -> None:
    """Write one entry in the caller's transaction. ``payload`` holds ids and states, never text."""
    OutboxEntry.objects.create(account_id=account_id, topic=topic, object_id=object_id, payload=dict(payload or {}))


def deliver(account_id: uuid.UUID) -> int:
    """Tell the handlers of an account's new entries, oldest first; return how many were told.

    Two deliveries of one account exclude each other: the one that comes second leaves the entries to the first.
    """
    told = 0
    for _ in range(BATCHES):
        with account_transaction(account_id):
            batch = _deliver_batch(account_id)
        told += batch
        if batch < BATCH:
            break
    return told


def deliver_everywhere() -> int:
    """Do :func:`deliver` for every account; return how many entries were told.

    A handler that fails for one account stops no other; its entries wait for the next round.
    """
    told = 0
    for account_id in Account.objects.values_list("id", flat=True):
        try:
            told += deliver(account_id)
        except Exception:
            logger.exception("outbox_not_delivered", extra={"account": str(account_id)})
    return told


def prune_everywhere() -> int:
    """Delete the entries that were delivered long ago; return their number."""
    before = now() - KEPT
    pruned = 0
    for account_id in Account.objects.values_list("id", flat=True):
        with account_transaction(account_id):
            old = OutboxEntry.objects.filter(account_id=account_id, delivered_at__lt=before)
            pruned += old.delete()[0]
    return pruned


def _deliver_batch(account_id: uuid.UUID) -> int:
    if not try_lock_account(Lock.OUTBOX, account_id):
        return 0
    waiting = OutboxEntry.objects.filter(account_id=account_id, delivered_at__isnull=True).order_by("id")
    entries = list(waiting[:BATCH])
    if not entries:
        return 0
    for handler in _handlers.values():
        handler(account_id, entries)
    OutboxEntry.objects.filter(account_id=account_id, pk__in=[entry.pk for entry in entries]).update(delivered_at=now())
    return len(entries)
