"""Identifiers: version 7 UUIDs, made in Python so that a row knows its id before it is written.

They sort by creation time, which keeps b-trees compact and lets traces be partitioned by id.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from uuid_utils.compat import uuid7


def new_id() -> uuid.UUID:
    """Return a new time-ordered UUID (version 7)."""
    return uuid7()


def lower_bound(moment: datetime) -> uuid.UUID:
    """Return the smallest version-7 UUID of ``moment`` (millisecond precision), for range conditions on ids."""
    milliseconds = int(moment.astimezone(UTC).timestamp() * 1000)
    return uuid.UUID(int=(milliseconds & ((1 << 48) - 1)) << 80)
