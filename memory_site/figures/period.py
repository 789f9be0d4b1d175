"""Which days a page of figures is about, and the same number of days before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from facts.clock import now

#: Spans to choose from, in days; the first is the default but one.
PRESETS = (7, 30, 90)
DEFAULT_DAYS = 30
#: Longest span. A day is a row of every table.
MOST_DAYS = 400


@dataclass(frozen=True, slots=True)
class Period:
    """The days from ``first`` to ``last``, both included, in UTC."""

    first: date
    last: date

    @property
    def days(self) -> list[date]:
        """All days, the oldest first."""
        return [self.first + timedelta(days=ahead) for ahead in range((self.last - self.first).days + 1)]

    @property
    def before(self) -> Period:
        """The period of the same length that ends where this one begins."""
        length = timedelta(days=len(self.days))
        return Period(self.first - length, self.last - length)


def chosen(query: Mapping[str, str]) -> tuple[Period, str]:
    """Return the period that ``days``, or ``from`` and ``to``, of an address name, and what was wrong with them.

    What cannot be understood gives the default, and is said.
    """
    today = now().date()
    default = Period(today - timedelta(days=DEFAULT_DAYS - 1), today)
    try:
        if query.get("from") or query.get("to"):
            last = min(date.fromisoformat(query["to"]), today) if query.get("to") else today
            first = date.fromisoformat(query["from"]) if query.get("from") else last
        else:
            days = int(query.get("days") or DEFAULT_DAYS)
            if not 1 <= days <= MOST_DAYS:
                return default, f"Choose from 1 to {MOST_DAYS} days; these are the last {DEFAULT_DAYS}."
            first, last = today - timedelta(days=days - 1), today
    except (ValueError, OverflowError):
        return default, f"That is no date or number of days; these are the last {DEFAULT_DAYS}."
    if first > last:
        return (
            default,
            f"The first day has to be before the last, and not after today; these are the last {DEFAULT_DAYS}.",
        )
    if (last - first).days >= MOST_DAYS:
        return Period(
            last - timedelta(days=MOST_DAYS - 1), last
        ), f"At most {MOST_DAYS} days are shown: the last of these."
    return Period(first, last), ""
