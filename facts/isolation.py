"""Doing several things of which one that fails stops no other, while it is seen all the same that it failed."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable

from django.db import connection

logger = logging.getLogger(__name__)


class Incomplete(Exception):
    """Something failed, as the log says; all the rest was done. The message names what, and holds no content."""


def each_account(account_ids: Iterable[uuid.UUID], work: Callable[[uuid.UUID], int], *, name: str) -> int:
    """Do ``work``, called ``name`` in the log, for every account; return the sum of what it returns.

    Raises :class:`Incomplete` after the last one when it failed for any.
    """
    total = 0
    failed: list[str] = []
    for account_id in account_ids:
        try:
            total += work(account_id)
        except Exception as error:
            _note(name, error, account=str(account_id))
            failed.append(str(account_id))
    if failed:
        raise Incomplete(f"{name} failed for {len(failed)} accounts, the first is {failed[0]}")
    return total


def steps(*works: Callable[[], object]) -> None:
    """Do one after another; raises :class:`Incomplete` after the last when any failed."""
    failed: list[str] = []
    for work in works:
        try:
            work()
        except Exception as error:
            name = getattr(getattr(work, "func", work), "__name__", type(work).__name__)
            if not isinstance(error, Incomplete):
                _note(name, error)
            failed.append(str(error) if isinstance(error, Incomplete) else f"{name} failed: {type(error).__name__}")
    if failed:
        raise Incomplete("; ".join(failed))


def _note(name: str, error: Exception, **where: str) -> None:
    """Log the class of an error, which tells no content, and give up a connection that is broken."""
    logger.error("work_failed", extra={"work": name, "error_class": type(error).__name__, **where})
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()
