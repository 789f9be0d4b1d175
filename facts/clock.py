"""The one source of the present time."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """Return the current instant as an aware UTC datetime."""
    return datetime.now(tz=UTC)
