"""The circuit of each way out, kept in the database because every worker has to know: a place that is down delays
what goes there and drops nothing."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from facts.clock import now
from ingest.models import BlockedWay

#: Failures in a row that block a way.
FAILURES = 5
#: How long a way is blocked at first; doubled with every failed look up to the longest.
FIRST_BLOCK = timedelta(minutes=1)
LONGEST_BLOCK = timedelta(minutes=30)
#: While one delivery looks whether the way works again, the others wait so long.
PROBE = timedelta(minutes=5)


def wait_until(account_id: uuid.UUID, way: str) -> datetime | None:
    """Return until when nothing goes this way; ``None`` where one delivery may go now.

    On a way that was blocked that one is the probe, and takes its place in the caller's transaction.
    """
    row = BlockedWay.objects.select_for_update().filter(account_id=account_id, way=way).first()
    if row is None or row.blocked_until is None:
        return None
    at = now()
    if row.blocked_until > at:
        return row.blocked_until
    row.blocked_until = at + PROBE
    row.save(update_fields=["blocked_until"])
    return None


def works(account_id: uuid.UUID, way: str) -> None:
    """Open the way: the receiver answered, whatever it said."""
    BlockedWay.objects.filter(account_id=account_id, way=way).delete()


def fails(account_id: uuid.UUID, way: str) -> bool:
    """Count a failure of the way; tell whether it is blocked now, so that the failure is not the delivery's own."""
    BlockedWay.objects.get_or_create(account_id=account_id, way=way)
    row = BlockedWay.objects.select_for_update().get(account_id=account_id, way=way)
    row.failures += 1
    blocked = row.failures >= FAILURES
    pause = min(FIRST_BLOCK * 2 ** min(max(row.failures - FAILURES, 0), 10), LONGEST_BLOCK)
    row.blocked_until = now() + pause if blocked else None
    row.save(update_fields=["failures", "blocked_until"])
    return blocked


def rests(account_id: uuid.UUID, way: str, *, seconds: float) -> None:
    """Let the way alone for a while, as the receiver asks."""
    BlockedWay.objects.update_or_create(
        account_id=account_id, way=way, defaults={"blocked_until": now() + timedelta(seconds=seconds)}
    )
