"""Days and months that a question names by where it stands in time: "yesterday", "last month", "le mois dernier".

What was said is indexed with the words of its date (``facts.textindex.prepare_passage``); a question finds them when it
holds the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from facts.textindex import MONTHS

_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "a": 1, "un": 1, "une": 1,
            "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7}  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: A longer way back is no day that anybody means.
_MOST_DAYS = 400


def spelt_out(question: str, *, at: datetime) -> str:
    """Return the date words (UTC, English) that ``question``, asked at ``at``, means; empty for none."""
    today = at.astimezone(UTC).date()
    lowered = question.lower().replace("’", "'")
    found = [
        words for pattern, meant in _MEANINGS for match in pattern.finditer(lowered) if (words := meant(match, today))
    ]
    return " ".join(dict.fromkeys(found))


def _day(moment: date) -> str:
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"


def _month(moment: date) -> str:
    return f"{MONTHS[moment.month - 1]} {moment.year}"


def _back(today: date, days: int) -> str:
    """Return the day so many days ago; empty when there is none."""
    if days > _MOST_DAYS or today.toordinal() <= days:
        return ""
    return _day(today - timedelta(days=days))


def _count(written: str) -> int:
    return _NUMBERS[written] if written in _NUMBERS else int(written)


def _month_before(today: date) -> str:
    first = today.replace(day=1)
    return _month(first - timedelta(days=1)) if first > date.min else ""


def _weekday(name: str, today: date) -> str:
    return _back(today, (today.weekday() - _DAYS.index(name) - 1) % 7 + 1)


def _meaning(pattern: str, meant: Callable[[re.Match[str], date], str]) -> tuple[re.Pattern[str], Callable[..., str]]:
    return re.compile(rf"\b(?:{pattern})\b"), meant


_COUNT = rf"(\d{{1,3}}|{'|'.join(_NUMBERS)})"
_MEANINGS = (
    _meaning("today|tonight|this (?:morning|afternoon|evening)|aujourd'hui", lambda match, today: _day(today)),
    _meaning("(?<!before )yesterday|last night|(?<!avant-)hier", lambda match, today: _back(today, 1)),
    _meaning("the day before yesterday|avant-hier", lambda match, today: _back(today, 2)),
    _meaning(
        rf"{_COUNT} days? ago|il y a {_COUNT} jours?", lambda match, today: _back(today, _count(match[1] or match[2]))
    ),
    _meaning(rf"last ({'|'.join(_DAYS)})", lambda match, today: _weekday(match[1], today)),
    _meaning("this month|ce mois(?:-ci)?", lambda match, today: _month(today)),
    _meaning("last month|le mois dernier", lambda match, today: _month_before(today)),
    _meaning("this year|cette année", lambda match, today: str(today.year)),
    _meaning("last year|l'an dernier|l'année dernière", lambda match, today: str(today.year - 1)),
)
