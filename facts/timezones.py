"""The time zones of accounts: by which clock their days and nights begin.

An account whose zone cannot be read (one written past the forms, or known to another machine only) goes by UTC, and
every look at it says so in the log: its nights come at the wrong hour rather than not at all.
"""

from __future__ import annotations

import logging
from zoneinfo import ZoneInfo

from facts.errors import DomainError

logger = logging.getLogger(__name__)

UTC_NAME = "UTC"


def find(name: str) -> ZoneInfo | None:
    """Return the time zone of an IANA name, ``None`` for what is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def zone_of(name: str) -> ZoneInfo:
    """Return the time zone of an account, UTC where its name cannot be read."""
    zone = find(name)
    if zone is None:
        logger.warning("unknown_timezone", extra={"timezone": name[:64], "used_instead": UTC_NAME})
        return ZoneInfo(UTC_NAME)
    return zone


def check(name: str) -> str:
    """Return a name that is a time zone's; raises ``DomainError`` (``unknown_timezone``) for any other."""
    name = name.strip()
    if find(name) is None:
        raise DomainError(
            "There is no time zone of that name: Continent/City, such as Europe/Paris, or UTC.",
            code="unknown_timezone",
            field="timezone",
        )
    return name
