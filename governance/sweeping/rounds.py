"""Going through all accounts for what is due, in small transactions, so that one thing that fails stops no other."""

from __future__ import annotations

import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Model, QuerySet

from facts.clock import now
from facts.models import Account
from facts.tenancy import account_transaction

logger = logging.getLogger(__name__)

#: Rows looked up at once; the accounts take turns after so many.
BATCH = 200
#: Part of the time of a task after which a sweep leaves the rest to its next run.
SHARE_OF_TASK = 0.75


class SweepIncomplete(Exception):
    """Something was left: it failed, or time was up. All else is done, and the next run tries again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What is due, and what is done about it.

    ``due(account_id, at)`` returns the rows, ``settle(account_id, ids, at)`` settles those of them that still are due,
    in a transaction of its own, and returns how many were. It is given up to ``together`` ids, in ascending order, and
    must stand others settling the same ones at the same time.
    """

    name: str
    due: Callable[[uuid.UUID, datetime], QuerySet[Model]]
    settle: Callable[[uuid.UUID, Sequence[uuid.UUID], datetime], int]
    together: int = 1


def run(sweep: Sweep) -> int:
    """Settle everything that is due now, in every account; return how many rows were settled.

    Each row is looked at once. Raises :class:`SweepIncomplete`.
    """
    at, stop_at = now(), time.monotonic() + SHARE_OF_TASK * settings.MEMORY_TASK_SECONDS
    turns = deque((account_id, uuid.UUID(int=0)) for account_id in Account.objects.values_list("id", flat=True))
    settled = failed = 0
    while turns:
        account_id, after = turns.popleft()
        with account_transaction(account_id):
            due = sweep.due(account_id, at).filter(pk__gt=after).order_by("pk")
            ids = list(due.values_list("pk", flat=True)[:BATCH])
        for start in range(0, len(ids), sweep.together):
            if time.monotonic() >= stop_at:
                raise SweepIncomplete(f"{sweep.name}: {settled} settled, then time was up")
            try:
                with account_transaction(account_id):
                    settled += sweep.settle(account_id, ids[start : start + sweep.together], at)
            except Exception:
                failed += 1
                logger.exception("not_swept", extra={"sweep": sweep.name, "first": str(ids[start])})
        if len(ids) == BATCH:
            turns.append((account_id, ids[-1]))
    if failed:
        raise SweepIncomplete(f"{sweep.name}: {settled} settled, {failed} failed")
    return settled
