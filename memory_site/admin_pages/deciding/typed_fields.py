"""Fields that the pages of conflicts and reviews have in common, as they were typed."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from django.http import QueryDict
from django.utils.dateparse import parse_date

from facts.clock import now
from facts.errors import DomainError
from governance.reviewing.many import Item
from memory_site.admin_pages.governed import typed

#: Days that one press puts something off.
PUT_OFF_DAYS = 7


def put_off_until() -> str:
    """Return the day until which one press puts something off."""
    return f"{now() + timedelta(days=PUT_OFF_DAYS):%Y-%m-%d}"


def reason(form: QueryDict, *, needed: bool) -> str:
    """Return the reason; raises ``DomainError`` (``reason_needed``) where one is needed and none was given."""
    text = typed(form, "reason")
    if needed and not text:
        raise DomainError("Say why: what takes something away needs a reason.", code="reason_needed", field="reason")
    return text


def membership_id(form: QueryDict) -> uuid.UUID:
    """Return whom something is given to; raises ``DomainError`` (``invalid_payload``)."""
    try:
        return uuid.UUID(typed(form, "assignee"))
    except ValueError:
        raise DomainError("Choose one of these.", code="invalid_payload", field="assignee") from None


def day(form: QueryDict) -> datetime:
    """Return the beginning of the day until which something is put off, UTC; raises ``DomainError``
    (``invalid_date``)."""
    try:
        found = parse_date(typed(form, "until"))
    except ValueError:
        found = None
    if found is None:
        raise DomainError("Give a day, such as 2027-01-31.", code="invalid_date", field="until")
    return datetime.combine(found, time.min, tzinfo=UTC)


def number(text: str) -> int | None:
    """Return a version as a form gives it; ``None`` for what is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def items_of(texts: Sequence[str]) -> list[Item]:
    """Return what was chosen, written ``id`` or ``id:version``; what is neither is left out."""
    chosen = []
    for text in texts:
        pk, _, version = text.partition(":")
        try:
            chosen.append(Item(uuid.UUID(pk), number(version)))
        except ValueError:
            continue
    return chosen
