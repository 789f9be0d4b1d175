"""Figures by day: written every few minutes by the worker, read together with what has happened since.

A day is counted anew until it is well over, so that a run may be repeated, come late or happen on two machines at
once: the figures of a day replace those before. What was counted stays when its rows are gone.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import connection

from facts.clock import now
from facts.isolation import each_account
from facts.locks import Lock, try_lock_account
from facts.models import Account, CountedUntil, DayFigure
from facts.spread import Spread, added
from facts.tenancy import account_transaction

#: What happened in the last minute may not be committed yet, and waits for the next run.
LAG = timedelta(minutes=1)
#: A day is counted again until it is over for so long.
SETTLED_AFTER = timedelta(hours=1)
#: Days of one account and source that one run counts; the next one goes on.
DAYS_AT_ONCE = 62
#: Longest time after the last run of which readers count by themselves.
LIVE_SPAN = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One thing that is counted by day.

    ``write`` replaces the figures of a day with those of what happened before an instant of it, and returns how many
    rows it wrote. ``first`` is the first day of an account of which there is anything to count, if any.
    """

    name: str
    write: Callable[[uuid.UUID, date, datetime], int]
    first: Callable[[uuid.UUID], date | None]


#: Counts what happened in an account from an instant until another: unsaved rows, one a day, scope, name and key.
Counting = Callable[[uuid.UUID, datetime, datetime], list[DayFigure]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A source whose figures are :class:`~facts.models.DayFigure`, named ``names``."""

    name: str
    names: tuple[str, ...]
    count: Counting


@dataclass(slots=True)
class Sums:
    """Figures of some days: by (name, key), by (name, day), and the spreads by (name, key)."""

    by_key: Counter[tuple[str, str]] = field(default_factory=Counter)
    by_day: Counter[tuple[str, date]] = field(default_factory=Counter)
    spreads: dict[tuple[str, str], Spread] = field(default_factory=dict)

    def keys_of(self, name: str) -> dict[str, int]:
        """Return the numbers of a figure by its keys, the greatest first."""
        found = {key: number for (named, key), number in self.by_key.items() if named == name}
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def total(self, name: str) -> int:
        """Return the number of a figure, all keys together."""
        return sum(self.keys_of(name).values())

    def spread_of(self, name: str, key: str | None = None) -> Spread:
        """Return how long each took: of one key, or of all."""
        return added(spread for (named, its), spread in self.spreads.items() if named == name and key in (None, its))

    def add(self, row: DayFigure) -> None:
        """Add one row."""
        self.by_key[row.name, row.key] += row.number
        self.by_day[row.name, row.day] += row.number
        if row.spread:
            kept = self.spreads.get((row.name, row.key), {})
            self.spreads[row.name, row.key] = added([kept, row.spread])


_counted: dict[str, Counted] = {}


def register(counted: Counted) -> None:
    """Let these figures be written by the worker, and be added to what is read."""
    _counted[counted.name] = counted


def registered() -> list[Source]:
    """Return the sources of all registered figures, to be brought up to date by :func:`roll_up_everywhere`."""
    return [
        Source(
            name=counted.name,
            write=lambda account_id, day, until, counted=counted: _replace(counted, account_id, day, until),
            first=_account_began,
        )
        for counted in _counted.values()
    ]


def roll_up_everywhere(sources: Sequence[Source]) -> int:
    """Bring every source of every account up to date; return the number of rows written.

    Raises :class:`facts.isolation.Incomplete` after the last account when it failed for any.
    """
    accounts = list(Account.objects.values_list("id", flat=True))
    return each_account(
        accounts, lambda account_id: sum(roll_up(account_id, source) for source in sources), name="keep statistics"
    )


def roll_up(account_id: uuid.UUID, source: Source) -> int:
    """Bring one source of one account up to date, day by day; return the number of rows written.

    Each day is a transaction. Where another process is at it, the rest is left to that one.
    """
    end = now() - LAG
    rows = 0
    with account_transaction(account_id):
        counted = counted_until(account_id, source.name)
        first = (counted - SETTLED_AFTER).date() if counted else source.first(account_id)
    if first is None or first > end.date():
        first = end.date()
    for ahead in range(min((end.date() - first).days + 1, DAYS_AT_ONCE)):
        day = first + timedelta(days=ahead)
        until = min(midnight(day + timedelta(days=1)), end)
        with account_transaction(account_id):
            if not try_lock_account(Lock.FIGURES, account_id):
                return rows
            rows += source.write(account_id, day, until)
            _note(account_id, source.name, until)
    return rows


def counted_until(account_id: uuid.UUID, source: str) -> datetime | None:
    """Return up to when a source is counted; ``None`` when it never was."""
    return CountedUntil.objects.filter(account_id=account_id, source=source).values_list("until", flat=True).first()


def live_span(counted: datetime | None) -> tuple[datetime, datetime]:
    """Return from when until when readers count by themselves what is not written yet."""
    at = now()
    start = counted or at - LIVE_SPAN
    return start, min(at, start + LIVE_SPAN)


#: Numbers by key and by day in one walk over the rows of the window.
_SUMS = """
SELECT name, key, day, sum(number)::bigint
FROM facts_dayfigure
WHERE account_id = %(account)s AND name = ANY(%(names)s) AND day BETWEEN %(first)s AND %(last)s
  AND (%(paths)s::text[] IS NULL OR scope_path = ANY(%(paths)s))
GROUP BY GROUPING SETS ((name, key), (name, day))
"""
_SPREADS = """
SELECT name, key, b.bucket, sum(b.number::bigint)::bigint
FROM facts_dayfigure, LATERAL jsonb_each_text(spread) AS b(bucket, number)
WHERE account_id = %(account)s AND name = ANY(%(names)s) AND day BETWEEN %(first)s AND %(last)s
  AND (%(paths)s::text[] IS NULL OR scope_path = ANY(%(paths)s))
GROUP BY 1, 2, 3
"""


def sums(
    account_id: uuid.UUID, *, names: Iterable[str], first: date, last: date, paths: Sequence[str] | None = None
) -> Sums:
    """Return the figures of the days ``first`` to ``last``, in the scopes ``paths`` (``None``: in all), with what has
    happened since they were written. Runs in the account's transaction."""
    wanted = [str(name) for name in names]
    window = {"account": account_id, "names": wanted, "first": first, "last": last, "paths": paths and list(paths)}
    found = Sums()
    if paths is not None and not paths:
        return found
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, window)
        for name, key, day, number in cursor.fetchall():
            if day is None:
                found.by_key[name, key] += number
            else:
                found.by_day[name, day] += number
        cursor.execute(_SPREADS, window)
        for name, key, bucket, number in cursor.fetchall():
            found.spreads.setdefault((name, key), {})[int(bucket)] = number
    for counted in _counted.values():
        if set(counted.names) & set(wanted):
            for row in _live(account_id, counted, last=last):
                if row.name in wanted and first <= row.day <= last and (paths is None or row.scope_path in paths):
                    found.add(row)
    return found


def gathered(account_id: uuid.UUID, rows: Iterable[Sequence[Any]]) -> list[DayFigure]:
    """Return unsaved figures from rows of (day, scope path, name, key, bucket or ``None``, number)."""
    numbers: Counter[tuple[Any, ...]] = Counter()
    spreads: dict[tuple[Any, ...], Spread] = defaultdict(dict)
    for *place, bucket, number in rows:
        numbers[tuple(place)] += number
        if bucket is not None:
            spread = spreads[tuple(place)]
            spread[bucket] = spread.get(bucket, 0) + number
    return [
        DayFigure(
            account_id=account_id,
            day=day,
            scope_path=path,
            name=name,
            key=key,
            number=number,
            spread=spreads.get((day, path, name, key), {}),
        )
        for (day, path, name, key), number in numbers.items()
    ]


def midnight(day: date) -> datetime:
    """Return the first instant of a day, UTC."""
    return datetime.combine(day, time.min, tzinfo=UTC)


def _live(account_id: uuid.UUID, counted: Counted, *, last: date) -> list[DayFigure]:
    start, end = live_span(counted_until(account_id, counted.name))
    return counted.count(account_id, start, end) if start.date() <= last else []


def _replace(counted: Counted, account_id: uuid.UUID, day: date, until: datetime) -> int:
    rows = counted.count(account_id, midnight(day), until)
    DayFigure.objects.filter(account_id=account_id, name__in=counted.names, day=day).delete()
    DayFigure.objects.bulk_create(rows)
    return len(rows)


def _account_began(account_id: uuid.UUID) -> date:
    return Account.objects.values_list("created_at", flat=True).get(pk=account_id).date()


def _note(account_id: uuid.UUID, source: str, until: datetime) -> None:
    """Note how far it was counted; never less far than another process has."""
    row, _ = CountedUntil.objects.get_or_create(account_id=account_id, source=source, defaults={"until": until})
    if row.until < until:
        row.until = until
        row.save(update_fields=["until"])
