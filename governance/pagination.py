"""Cursor pagination over version-7 ids: newest first, without counts and without offsets."""

from __future__ import annotations

import base64
import uuid
from binascii import Error as MalformedBase64
from typing import Any, TypeVar

from django.core import signing
from django.db.models import Model, QuerySet
from rest_framework import serializers

from facts.errors import DomainError

DEFAULT_LIMIT = 50
MAX_LIMIT = 200

Row = TypeVar("Row", bound=Model)


class PageFields(serializers.Serializer):
    """The two query parameters of every listing."""

    limit = serializers.IntegerField(required=False, min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)
    cursor = serializers.CharField(
        required=False, max_length=200, help_text="`next_cursor` of the page before; opaque."
    )


def page(
    rows: QuerySet[Row], *, listing: str, cursor: str | None, limit: int, oldest_first: bool = False
) -> tuple[list[Row], str | None]:
    """Return up to ``limit`` rows after ``cursor`` in order of their ids, and the cursor of the next page, if any.

    ``listing`` names the listing: a cursor is good for that one only. Raises ``DomainError`` (``invalid_cursor``).
    """
    if cursor:
        after = place_of(cursor, listing=listing)
        rows = rows.filter(pk__gt=after) if oldest_first else rows.filter(pk__lt=after)
    found = list(rows.order_by("pk" if oldest_first else "-pk")[: limit + 1])
    more = len(found) > limit
    return found[:limit], cursor_for(found[limit - 1].pk, listing=listing) if more else None


def paging(values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of :func:`page` from the validated :class:`PageFields`."""
    return {"cursor": values.get("cursor"), "limit": values["limit"]}


def _signer(listing: str) -> signing.Signer:
    return signing.Signer(salt=f"cursor.{listing}")


def cursor_for(row_id: uuid.UUID, *, listing: str) -> str:
    """Return the cursor of what comes after this row in a listing."""
    return _signer(listing).sign(base64.urlsafe_b64encode(row_id.bytes).decode().rstrip("="))


def place_of(cursor: str, *, listing: str) -> uuid.UUID:
    """Return the row after which a page begins; raises ``DomainError`` (``invalid_cursor``)."""
    try:
        return uuid.UUID(bytes=base64.urlsafe_b64decode(_signer(listing).unsign(cursor) + "=="))
    except (signing.BadSignature, MalformedBase64, ValueError):
        raise DomainError(
            "The cursor does not belong to this listing.", code="invalid_cursor", field="cursor"
        ) from None
