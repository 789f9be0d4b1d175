"""On which day something is due, as its fact says."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from facts.models import Fact
from facts.timezones import zone_of

#: Where extractors put a day: the local one writes "due", models any of these.
KEYS = ("due", "due_on", "due_date", "deadline", "date", "until", "value")


def due_on(fact: Fact, *, timezone: str) -> date | None:
    """Return the day in the account's time zone; ``None`` where the fact names none.

    A plain date is a day wherever one is; an instant is looked at in that zone. Without either, the end that the fact
    states for itself counts: its last moment, not the first one after it.
    """
    zone = zone_of(timezone)
    value = fact.value if isinstance(fact.value, dict) else {}
    for key in KEYS:
        found = _day(value.get(key), zone)
        if found is not None:
            return found
    if fact.valid_to is not None and fact.valid_to > (fact.valid_from or datetime.min.replace(tzinfo=UTC)):
        return datetime.fromtimestamp(fact.valid_to.timestamp() - 1, tz=zone).date()
    return None


def _day(value: object, zone: ZoneInfo) -> date | None:
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    try:
        return moment.astimezone(zone).date() if moment.tzinfo is not None else moment.date()
    except (OverflowError, OSError):
        return None
