"""Dates in English and French text, resolved against the moment a message was said.

Only bounded forms are read: absolute dates whose order of day and month is certain, and relative
phrases with one reading. Anything ambiguous ("12/03", "soon") is left alone. Days are those of the
speaker's time zone; instants are given in UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from facts import timezones
from ingest.extraction.calendar_spans import day_span, month_span, nearest, quarter_of, quarter_span, shifted
from ingest.extraction.date_words import MONTHS, NUMBERS, UNITS, WEEKDAYS

_MONTH = "|".join(sorted((name for name in MONTHS if name not in {"mai", "mar"}), key=len, reverse=True)) + "|mai"
_WEEKDAY = "|".join(sorted((n for n in WEEKDAYS if n not in {"mon", "sun", "sat", "wed"}), key=len, reverse=True))
_COUNT = r"\d{1,3}|" + "|".join(sorted(NUMBERS, key=len, reverse=True))
_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
_YEAR = r"(?:19|20)\d\d"
_ROLE = (
    r"(?:\b(?P<role>since|until|till|through|from|starting|starting on|starting from|as of|effective|by"
    r"|before|on|in|to"
    r"|due|depuis le|depuis|jusqu'au|jusqu'à|jusqu'en|à partir du|à partir de|à partir d'|à compter du|dès le|dès"
    r"|d'ici le|d'ici au|d'ici à|d'ici|avant le|avant|pour le|pour|au plus tard le|le|en|au|du)\s*(?:the\s+|la\s+)?)?"
)
_PATTERN = re.compile(
    _ROLE
    + rf"""\b(?:
      (?P<iso>{_YEAR}-\d\d-\d\d)
    | (?:(?:{_WEEKDAY}),?\s+)?(?:the\s+)?(?P<day1>\d{{1,2}})(?:st|nd|rd|th|er)?\s+(?:of\s+)?(?P<month1>{_MONTH})\b\.?
        (?:,?\s+(?P<year1>{_YEAR}))?
    | (?:(?:{_WEEKDAY}),?\s+)?(?P<month2>{_MONTH})\.?\s+(?:the\s+)?(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)
        (?:,?\s+(?P<year2>{_YEAR}))?
    | (?P<month3>{_MONTH})\.?\s+(?P<year3>{_YEAR})
    | (?P<near>day\s+after\s+tomorrow|day\s+before\s+yesterday|yesterday|tomorrow|today|tonight
        |this\s+(?:morning|afternoon|evening)|après-demain|avant-hier|hier|demain|aujourd'hui|ce\s+(?:soir|matin)|cet\s+après-midi|eod)
    | in\s+(?P<count1>{_COUNT})\s+(?P<unit1>{_UNIT})
    | dans\s+(?P<count2>{_COUNT})\s+(?P<unit2>{_UNIT})
    | (?P<count3>{_COUNT})\s+(?P<unit3>{_UNIT})\s+ago
    | il\s+y\s+a\s+(?P<count4>{_COUNT})\s+(?P<unit4>{_UNIT})
    | (?P<which>next|last|this|end\s+of\s+(?:the|this|next))\s+(?P<what>week|month|quarter|year|{_WEEKDAY}|{_MONTH})
    | (?P<whatfr>semaine|mois|année|an|{_WEEKDAY})\s+(?P<whichfr>prochaine?|derni[eè]re?|passée?)
    | (?P<endfr>fin\s+(?:de\s+la\s+semaine|de\s+semaine|du\s+mois|de\s+l'année))
    | (?P<quarter>[QT][1-4])(?:\s+(?P<yearq>{_YEAR}))?
    | (?P<weekday>{_WEEKDAY})
    | (?P<month4>{_MONTH})
    | (?P<year4>{_YEAR})
    )(?![\w-])""",
    re.IGNORECASE | re.VERBOSE,
)
_SINCE = ("since", "depuis", "from", "starting", "as of", "effective", "à partir", "à compter", "dès", "du")
_UNTIL = ("until", "till", "through", "jusqu")
_BY = ("by", "before", "due", "d'ici", "avant", "au plus tard", "pour")
_PAST = ("since", "depuis")
_RANGE = re.compile(
    r"\b(?:du|from(?: the)?|between(?: the)?)\s+(?P<day>[1-9]|[12]\d|3[01])(?:er|st|nd|rd|th)?\s+(?:au"
    r"|to|until|till|and|-)\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date in a text: where it stands, the days it covers (half-open), and what it does.

    ``role`` is ``since``, ``until``, ``by`` or ``at``; ``relative`` tells that the words alone do not
    name the day; ``fine`` that it names one day rather than a week, month or year.
    """

    start: int
    end: int
    first: date
    after: date
    role: str
    relative: bool
    word: str = ""

    @property
    def fine(self) -> bool:
        """Whether a single day is meant."""
        return (self.after - self.first).days == 1


def find(text: str, *, occurred_at: datetime, timezone: str) -> list[DateMention]:
    """Return the dates in ``text``, in order. Offsets are those of ``text``, the role word included."""
    try:
        today = occurred_at.astimezone(zone(timezone)).date()
    except OverflowError:
        return []
    mentions: list[DateMention] = []
    for match in _PATTERN.finditer(text):
        mention = _resolve(match, today)
        if mention is not None:
            mentions.extend(_as_range(text, mention, mentions))
    return mentions


def _as_range(text: str, mention: DateMention, before: list[DateMention]) -> list[DateMention]:
    """Read "from 30 March to 3 April" and "du 2 au 6 avril": what follows the start is the end."""
    opening = _RANGE.search(text[max(0, mention.start - 30) : mention.start + len(mention.word)])
    if opening and mention.fine:
        day = int(opening["day"])
        month = mention.first.replace(day=1)
        if day > mention.first.day:
            month = (month - timedelta(days=1)).replace(day=1)
        try:
            first = month.replace(day=day)
        except ValueError:
            return [mention]
        start = replace(mention, first=first, after=first + timedelta(days=1), role="since")
        return [start, replace(mention, role="until")]
    if mention.word in {"to", "au"} and before and before[-1].role == "since":
        return [replace(mention, role="until")]
    return [mention]


def zone(name: str) -> ZoneInfo:
    """Return the time zone of that IANA name, UTC for an unknown one."""
    return timezones.find(name) or ZoneInfo("UTC")


def instant(day: date, timezone: str) -> datetime:
    """Return the first instant of that day in the time zone, in UTC."""
    return datetime.combine(day, time.min, tzinfo=zone(timezone)).astimezone(UTC)


def _resolve(match: re.Match[str], today: date) -> DateMention | None:
    role_word = (match["role"] or "").lower()
    role = _role(role_word)
    past = role_word.startswith(_PAST)
    try:
        span = _span(match, today, past=past, bare=not role_word)
    except (ValueError, OverflowError):
        return None
    if span is None:
        return None
    first, after, relative = span
    return DateMention(match.start(), match.end(), first, after, role, relative, role_word)


def _role(word: str) -> str:
    if word.startswith(_SINCE):
        return "since"
    if word.startswith(_UNTIL):
        return "until"
    return "by" if word.startswith(_BY) else "at"


def _span(match: re.Match[str], today: date, *, past: bool, bare: bool) -> tuple[date, date, bool] | None:
    """First day, day after the last, and whether the words are relative; ``None`` when there is no one reading."""
    group = match.groupdict()
    if group["iso"]:
        return (*day_span(date.fromisoformat(group["iso"])), False)
    for number in "12":
        if group[f"day{number}"]:
            month, day = MONTHS[group[f"month{number}"].lower()], int(group[f"day{number}"])
            year = group[f"year{number}"]
            chosen = date(int(year), month, day) if year else nearest(today, month, day, past=past)
            return (*day_span(chosen), False)
    if group["month3"]:
        return (*month_span(int(group["year3"]), MONTHS[group["month3"].lower()]), False)
    if group["near"]:
        return (*day_span(today + timedelta(days=_near(group["near"].lower()))), True)
    for number, sign in (("1", 1), ("2", 1), ("3", -1), ("4", -1)):
        if group[f"count{number}"]:
            count = group[f"count{number}"].lower()
            amount = int(count) if count.isdigit() else NUMBERS[count]
            return (*shifted(today, sign * amount, UNITS[group[f"unit{number}"].lower()]), True)
    if group["which"]:
        return _named(today, " ".join(group["which"].lower().split()), group["what"].lower())
    if group["whatfr"]:
        which = "next" if group["whichfr"].lower().startswith("proch") else "last"
        what = {"semaine": "week", "mois": "month", "année": "year", "an": "year"}
        return _named(today, which, what.get(group["whatfr"].lower(), group["whatfr"].lower()))
    if group["endfr"]:
        unit = "week" if "semaine" in group["endfr"] else "month" if "mois" in group["endfr"] else "year"
        return _named(today, "end of the", unit)
    if group["quarter"]:
        return quarter_span(today, int(group["quarter"][1]), group["yearq"])
    if group["weekday"]:
        ahead = (WEEKDAYS[group["weekday"].lower()] - today.weekday()) % 7
        return (*day_span(today + timedelta(days=ahead - 7 if past and ahead else ahead)), True)
    if group["month4"]:
        return _bare_month(group["month4"], today, past=past, bare=bare)
    return None if bare else (date(int(group["year4"]), 1, 1), date(int(group["year4"]) + 1, 1, 1), False)


def _bare_month(word: str, today: date, *, past: bool, bare: bool) -> tuple[date, date, bool] | None:
    """A month without a day counts only behind a word like "since" or "in": "May" and "mars" are also other words."""
    if bare:
        return None
    month = MONTHS[word.lower()]
    year = today.year
    if past and month > today.month:
        year -= 1
    elif not past and month < today.month:
        year += 1
    return (*month_span(year, month), True)


def _near(word: str) -> int:
    if word.startswith(("day after", "après-demain")):
        return 2
    if word.startswith(("day before", "avant-hier")):
        return -2
    if word in {"yesterday", "hier"}:
        return -1
    return 1 if word in {"tomorrow", "demain"} else 0


def _named(today: date, which: str, what: str) -> tuple[date, date, bool]:
    """ "next week", "last Friday", "end of the month" and the like."""
    if what in WEEKDAYS:
        ahead = (WEEKDAYS[what] - today.weekday()) % 7
        if which == "last":
            ahead = ahead - 7
        elif which == "next":
            ahead = ahead or 7
        return (*day_span(today + timedelta(days=ahead)), True)
    if what in MONTHS:
        month = MONTHS[what]
        year = today.year + (which == "next" and month <= today.month) - (which == "last" and month >= today.month)
        return (*month_span(year, month), True)
    step = 1 if which.endswith("next") else -1 if which == "last" else 0
    if what == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
        first, after = monday, monday + timedelta(days=7)
        end = monday + timedelta(days=4)
    elif what == "quarter":
        first, after = quarter_of(today.year, (today.month - 1) // 3 + step)
        end = after - timedelta(days=1)
    elif what == "month":
        months = today.year * 12 + today.month - 1 + step
        first, after = month_span(months // 12, months % 12 + 1)
        end = after - timedelta(days=1)
    else:
        first, after = date(today.year + step, 1, 1), date(today.year + step + 1, 1, 1)
        end = after - timedelta(days=1)
    return (*day_span(end), True) if which.startswith("end") else (first, after, True)
