"""Calendar arithmetic: days, months and quarters as half-open intervals ``(first, after)``."""

from __future__ import annotations

from datetime import date, timedelta


def quarter_span(today: date, number: int, year: str | None) -> tuple[date, date, bool]:
    """First day, day after the last, and whether the year had to be guessed, of "Q3" with or without its year."""
    chosen = int(year) if year else today.year + (number < (today.month - 1) // 3 + 1)
    return (*quarter_of(chosen, number - 1), not year)


def quarter_of(year: int, index: int) -> tuple[date, date]:
    """The quarter that many quarters after the first of the year; the index may be negative."""
    first, _ = month_span(year + index // 4, index % 4 * 3 + 1)
    return first, month_span(first.year, first.month + 2)[1]


def nearest(today: date, month: int, day: int, *, past: bool) -> date:
    """The date without its year: the one closest to today, never in the future behind "since"."""
    years = [today.year - 1, today.year] if past else [today.year - 1, today.year, today.year + 1]
    options = [candidate for year in years if (candidate := _valid(year, month, day)) is not None]
    if past:
        options = [candidate for candidate in options if candidate <= today]
    if not options:
        raise ValueError("no such day")
    return min(options, key=lambda candidate: abs((candidate - today).days))


def _valid(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def day_span(day: date) -> tuple[date, date]:
    """One day as a half-open interval."""
    return day, day + timedelta(days=1)


def month_span(year: int, month: int) -> tuple[date, date]:
    """One month as a half-open interval."""
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def shifted(today: date, amount: int, unit: str) -> tuple[date, date]:
    """Days and weeks name a day; months the same day of that month, at most its last; years likewise."""
    if unit in {"day", "week"}:
        return day_span(today + timedelta(days=amount * (7 if unit == "week" else 1)))
    months = today.year * 12 + today.month - 1 + amount * (12 if unit == "year" else 1)
    first, after = month_span(months // 12, months % 12 + 1)
    return day_span(min(first + timedelta(days=today.day - 1), after - timedelta(days=1)))
