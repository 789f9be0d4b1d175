"""What the readers of all forms yield: a record understood, a record refused, or nothing worth keeping. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from facts.errors import DomainError
from governance.fields import parse_instant
from ingest.observations import EARLIEST, FUTURE_SLACK, Observation

#: Longest text that is taken for one statement as it stands; a longer one, or one in lines, is read for facts.
MAX_STATEMENT = 300
#: Instants written as numbers: seconds since 1970, up to the year 3000.
_MAX_SECONDS = 32_503_680_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A record to take in: the event, and whether its text is a statement already.

    ``valid_from``, ``valid_to`` are what the record says of its own truth, aware UTC; ``None`` where it says nothing.
    ``notes`` count what was assumed.
    """

    line: int
    observation: Observation
    is_statement: bool = False
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A record that cannot be taken in: its line (of a list its number), counted from 1, the field and why."""

    line: int
    field: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A record of which nothing is kept, and why."""

    line: int
    reason: str


Read = Item | Fault | Passed


def fault_of(line: int, error: DomainError) -> Fault:
    """Return the fault that an error means."""
    return Fault(line=line, field=(error.field or "")[:100], code=error.code[:64])


def instant(said: Any, *, field: str, at: datetime) -> tuple[datetime | None, bool]:
    """Return an instant of an exported record, and whether its zone was assumed to be UTC; ``None`` for none.

    Exports write ISO 8601 text, some without a zone, or seconds since 1970. Raises ``DomainError``
    (``invalid_datetime``, ``impossible_date``).
    """
    if said is None or said == "":
        return None, False
    assumed = False
    if isinstance(said, int | float) and not isinstance(said, bool) and 0 <= said <= _MAX_SECONDS:
        moment = datetime.fromtimestamp(said, tz=UTC)
    elif isinstance(said, str):
        try:
            moment = parse_instant(said.strip(), field=field)
        except DomainError as error:
            if error.code != "naive_datetime":
                raise
            moment, assumed = parse_instant(f"{said.strip()}Z", field=field), True
    else:
        raise DomainError("This is no date and time.", code="invalid_datetime", field=field)
    if not EARLIEST <= moment <= at + FUTURE_SLACK:
        raise DomainError("It happened after 1970 and not in the future.", code="impossible_date", field=field)
    return moment, assumed
