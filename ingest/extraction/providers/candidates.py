"""From one object of a model's answer to a candidate: every field read with suspicion, none taken on trust.

A field that is missing or unknown takes its default, with a note that names the field and never its content. What a
candidate claims is checked afterwards (:mod:`ingest.extraction.checks`).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import TextChoices

from facts.candidates import Candidate
from facts.vocabulary import Category, Form, Kind, Sensitivity, Volatility
from ingest.extraction import dates
from ingest.extraction.base import GROUP, ExtractionInput
from ingest.extraction.providers.quoting import locate
from ingest.extraction.rules.assemble import sensitivity as sensitivity_of

#: Of a fact whose confidence is missing or unreadable: what a weak inference gets.
DEFAULT_CONFIDENCE = 0.6
#: Characters of a statement; a longer one is no sentence.
MAX_STATEMENT = 600
MAX_NAME = 128
MAX_VALUE = 300
MAX_PAIRS = 8

_PREDICATE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_NO_VALUE = object()


@dataclass(slots=True)
class Fields:
    """The fields of one object, and notes on those that could not be taken as they were."""

    row: Mapping[str, Any]
    notes: list[str]

    def text(self, name: str, *, limit: int) -> str:
        """Return a text in NFC without control characters; what is none or too long counts as missing."""
        value = self.row.get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value) > limit:
            self.notes.append(name)
            return ""
        return unicodedata.normalize("NFC", _CONTROL.sub(" ", value)).strip()

    def choice(self, name: str, choices: type[TextChoices], default: str) -> str:
        """Return one of the choices."""
        value = self.row.get(name)
        if isinstance(value, str) and (known := value.strip().lower()) in choices.values:
            return known
        self.notes.append(name)
        return default

    def confidence(self) -> float:
        """Return a number from 0 to 1; percentages are understood."""
        value = self.row.get("confidence")
        try:
            number = float(str(value).strip().removesuffix("%"))
        except ValueError:
            number = math.nan
        if 1 < number <= 100:
            number /= 100
        if isinstance(value, bool) or not 0 <= number <= 1:
            self.notes.append("confidence")
            return DEFAULT_CONFIDENCE
        return number

    def pairs(self, name: str) -> dict[str, Any]:
        """Return named scalars, given as a list of name and value or as an object."""
        value = self.row.get(name)
        if isinstance(value, Mapping):
            entries = list(value.items())
        elif isinstance(value, list):
            entries = [(entry.get("name"), entry.get("value")) for entry in value if isinstance(entry, Mapping)]
        else:
            entries = []
        taken = {}
        for key, held in entries[:MAX_PAIRS]:
            scalar = _scalar(held)
            if isinstance(key, str) and _PREDICATE.fullmatch(_snake(key)) and scalar is not _NO_VALUE:
                taken[_snake(key)] = scalar
            else:
                self.notes.append(name)
        return taken


def read(row: Mapping[str, Any], item: ExtractionInput) -> tuple[Candidate, tuple[str, ...]]:
    """Return the candidate an object describes, and the names of the fields that were replaced."""
    fields = Fields(row, [])
    quote = fields.text("quote", limit=len(item.text))
    quote = locate(quote, item.text) or quote
    marker = fields.text("update_marker", limit=MAX_NAME)
    found = locate(marker, quote) if marker else ""
    if marker and not found:
        fields.notes.append("update_marker")
    form = fields.choice("form", Form, Form.STATE)
    predicate, value = _claim(fields)
    start = _day(fields, "valid_from", item)
    end = _day(fields, "valid_to", item)
    candidate = Candidate(
        statement=fields.text("statement", limit=MAX_STATEMENT),
        quote=quote,
        confidence=fields.confidence(),
        category=fields.choice("category", Category, Category.GENERAL),
        kind=fields.choice("kind", Kind, Kind.EVENT if form == Form.EVENT else Kind.ATTRIBUTE),
        form=form,
        predicate=predicate,
        value=value,
        qualifiers=fields.pairs("qualifiers") if predicate else {},
        update_marker="" if form == Form.EVENT else found,
        denies=row.get("denies") is True,
        about=_about(fields, item),
        valid_from=start,
        valid_to=end,
        start_stated=start is not None,
        end_stated=end is not None,
        volatility=fields.choice("volatility", Volatility, Volatility.STABLE),
        sensitivity=_sensitivity(fields, quote),
    )
    return candidate, tuple(dict.fromkeys(fields.notes))


def _claim(fields: Fields) -> tuple[str, dict[str, Any] | None]:
    """Return predicate and value, both or neither."""
    given = fields.text("predicate", limit=MAX_NAME)
    if not given:
        return "", None
    predicate, value = _snake(given), fields.row.get("value")
    details = fields.pairs("details")
    if isinstance(value, Mapping):
        details = {**fields.pairs("value"), **details}
        value = details.pop("value", None)
    scalar = _scalar(value)
    if not _PREDICATE.fullmatch(predicate) or scalar is _NO_VALUE or (scalar is None and not details):
        fields.notes.append("predicate")
        return "", None
    return predicate, {"value": scalar, **details}


def _scalar(value: Any) -> Any:
    """Return a text, number, yes or no, or null as it may be stored; anything else is no value."""
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < 2**53 else _NO_VALUE
        case float():
            return value if math.isfinite(value) else _NO_VALUE
        case str() if len(value) <= MAX_VALUE:
            return unicodedata.normalize("NFC", _CONTROL.sub(" ", value)).strip()
    return _NO_VALUE


def _snake(name: str) -> str:
    return re.sub(r"[\s\-]+", "_", name.strip().lower())


def _about(fields: Fields, item: ExtractionInput) -> str:
    name = fields.text("about", limit=MAX_NAME)
    folded = name.casefold()
    if folded in {"speaker", "the speaker", item.speaker_name.casefold()}:
        return ""
    return GROUP if folded in {GROUP, "the team", "group"} else name


def _sensitivity(fields: Fields, quote: str) -> str | None:
    """Return what the model says, and never less than what the words themselves ask for."""
    given = fields.row.get("sensitivity")
    known = given if isinstance(given, str) and given in Sensitivity.values else None
    if given is not None and known is None:
        fields.notes.append("sensitivity")
    return sensitivity_of(quote) or known


def _day(fields: Fields, name: str, item: ExtractionInput) -> datetime | None:
    """Return the first instant of a day that the message itself names; a day it does not name is not believed."""
    given = fields.text(name, limit=40)
    if not given:
        return None
    try:
        day = date.fromisoformat(given[:10])
    except ValueError:
        fields.notes.append(name)
        return None
    if given[:10] not in item.text and day not in _named_days(item):
        fields.notes.append(name)
        return None
    return dates.instant(day, item.timezone)


def _named_days(item: ExtractionInput) -> set[date]:
    """Return the first and last days of what the message names, and those beside them."""
    around = (timedelta(days=-1), timedelta(0))
    return {
        edge + days
        for mention in dates.find(item.text[:20_000], occurred_at=item.occurred_at, timezone=item.timezone)
        for edge in (mention.first, mention.after)
        for days in around
    }
