"""Limits: calls per key and minute where one is set, and failed credentials per address.

Counted in PostgreSQL, so that all processes count together; a key without a limit costs nothing. Windows are fixed
minutes.
"""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpRequest
from django.utils.crypto import salted_hmac
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from governance.access import Principal

WINDOW = 60  # seconds

_COUNT = """
INSERT INTO memory_site_callcount AS known (client, starts_at, calls) VALUES (%s, to_timestamp(%s), 1)
ON CONFLICT (client) DO UPDATE
SET calls = CASE WHEN known.starts_at = excluded.starts_at THEN known.calls + 1 ELSE 1 END,
    starts_at = excluded.starts_at
RETURNING calls
"""

#: Address → the time until which it is refused without a look at the store.
_blocked: dict[str, float] = {}
_BLOCKED_LIMIT = 10_000


class KeyThrottle(BaseThrottle):
    """Holds a key to its own calls per minute, else to ``MEMORY_REQUESTS_PER_MINUTE`` (0: no limit)."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Count the call and tell whether it is within the limit."""
        principal = request.auth
        if not isinstance(principal, Principal) or principal.is_person:
            return True
        limit = principal.requests_per_minute or settings.MEMORY_REQUESTS_PER_MINUTE
        return not limit or count(f"key:{principal.key_id}") <= limit

    def wait(self) -> float:
        """Return the seconds until the next window."""
        return seconds_left()


def count(client: str) -> int:
    """Count one call of a client and return how many it made in this window."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [client, _window_start()])
        return int(cursor.fetchone()[0])


def seconds_left() -> float:
    """Return the seconds until the next window."""
    return _window_start() + WINDOW - time.time()


def client_address(request: HttpRequest | Request) -> str:
    """Return the caller's address: the connection's, or behind a trusted proxy the one that the proxy saw."""
    if settings.MEMORY_BEHIND_PROXY:
        forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").rsplit(",", 1)[-1].strip()
        if forwarded:
            return forwarded
    return request.META.get("REMOTE_ADDR", "")


def count_failure(address: str) -> None:
    """Count a failed credential; raises ``Throttled`` beyond ``MEMORY_FAILED_KEYS_PER_MINUTE`` (0: no limit)."""
    limit = settings.MEMORY_FAILED_KEYS_PER_MINUTE
    # The address is a person's: kept as a digest.
    if not limit or count("address:" + salted_hmac("address", address).hexdigest()) <= limit:
        return
    if len(_blocked) >= _BLOCKED_LIMIT:
        _blocked.clear()
    _blocked[address] = time.time() + seconds_left()
    raise exceptions.Throttled(wait=seconds_left())


def refuse_blocked(address: str) -> None:
    """Raise ``Throttled`` while an address has used up its failures, before any look-up of its key."""
    until = _blocked.get(address)
    if until is None:
        return
    wait = until - time.time()
    if wait > 0:
        raise exceptions.Throttled(wait=wait)
    del _blocked[address]


def forget_blocked() -> None:
    """Drop what this process remembers about addresses."""
    _blocked.clear()


def _window_start() -> int:
    return int(time.time()) // WINDOW * WINDOW
