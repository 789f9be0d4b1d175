"""The monthly partitions of the trace table.

Ids are version-7 UUIDs, so a month is a range of ids. Traces of a month without a partition go to the
default one, and move when their month's partition is made: a late schedule loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper

from facts import rls
from facts.clock import now
from facts.ids import lower_bound

TABLE = "retrieval_trace"
DEFAULT = f"{TABLE}_default"
MONTHS_AHEAD = 3


def ensure_trace_partitions(*, using: str = "owner") -> list[str]:
    """Make the partitions of this month and the next three; return the names of those that were missing.

    Runs as the owner of the tables, over the database alias ``using``.
    """
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        return create_partitions(cursor, first=now().date())


def create_partitions(cursor: CursorWrapper, *, first: date) -> list[str]:
    """Make the missing partitions of the month of ``first`` and the three after it; return their names."""
    made = []
    for start, end in _months(first):
        name = f"{TABLE}_{start:%Y_%m}"
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
        if not cursor.fetchone()[0]:
            _create(cursor, name, start, end)
            made.append(name)
    return made


def drop_partitions_before(moment: datetime, *, using: str = "owner") -> list[str]:
    """Drop the partitions whose traces are all older than ``moment``; return their names."""
    oldest_kept = f"{TABLE}_{moment.astimezone(UTC):%Y_%m}"
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            " WHERE i.inhparent = %s::regclass AND c.relname < %s AND c.relname ~ '_[0-9]{4}_[0-9]{2}$'"
            " ORDER BY 1",
            [TABLE, oldest_kept],
        )
        names = [row[0] for row in cursor.fetchall()]
        for name in names:
            cursor.execute(f"DROP TABLE {name}")
    return names


def _months(first: date) -> Iterator[tuple[datetime, datetime]]:
    for ahead in range(MONTHS_AHEAD + 1):
        yield _month(first, ahead), _month(first, ahead + 1)


def _month(first: date, ahead: int) -> datetime:
    """Return the first instant of the month ``ahead`` months after that of ``first``."""
    years, month = divmod(first.month - 1 + ahead, 12)
    return datetime(first.year + years, month + 1, 1, tzinfo=UTC)


def _create(cursor: CursorWrapper, name: str, start: datetime, end: datetime) -> None:
    low, high = str(lower_bound(start)), str(lower_bound(end))
    cursor.execute(f"CREATE TABLE {name} (LIKE {TABLE} INCLUDING ALL)")
    # Forced row-level security would hide the rows to move from an owner that is not a superuser.
    cursor.execute(f"ALTER TABLE {DEFAULT} NO FORCE ROW LEVEL SECURITY")
    cursor.execute(
        f"WITH moved AS (DELETE FROM {DEFAULT} WHERE id >= %s AND id < %s RETURNING *)"
        f" INSERT INTO {name} SELECT * FROM moved",
        [low, high],
    )
    cursor.execute(f"ALTER TABLE {DEFAULT} FORCE ROW LEVEL SECURITY")
    cursor.execute(f"ALTER TABLE {TABLE} ATTACH PARTITION {name} FOR VALUES FROM ('{low}') TO ('{high}')")
    # The policy of the parent does not bind who names the partition itself.
    cursor.execute(rls.protect(name).sql)
