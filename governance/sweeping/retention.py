"""Words that are kept no longer are removed; what came of them stays."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime

from facts import audit, raw_text
from facts.actors import sweeper
from facts.ids import new_id
from facts.models import Event
from governance import retention
from governance.sweeping.rounds import Sweep, run

ACTOR = sweeper("remove_raw_text")

#: Events whose words go in one transaction, with one audit entry.
TOGETHER = 100


def remove() -> int:
    """Remove all raw text whose time is over; return of how many events. Raises ``SweepIncomplete``."""
    return run(Sweep(name=ACTOR.name, due=retention.expired, settle=_settle, together=TOGETHER))


def _settle(account_id: uuid.UUID, ids: Sequence[uuid.UUID], at: datetime) -> int:
    """Events are locked first, as when they are written up or withdrawn; whoever comes second finds nothing due."""
    locked = Event.objects.select_for_update(no_key=True).filter(account_id=account_id, pk__in=ids).order_by("pk")
    list(locked.values_list("pk", flat=True))
    due = list(retention.expired(account_id, at).filter(pk__in=ids).values_list("pk", flat=True))
    if not due:
        return 0
    counts = raw_text.remove(account_id, due, at=at)
    audit.record(
        account_id,
        action="retention.raw_text_removed",
        object_type="account",
        object_id=account_id,
        actor=ACTOR,
        group=new_id(),
        metadata=counts,
    )
    return counts["events"]
