"""Limits: calls per key and minute where one is set; per address, calls of open endpoints and failed credentials.

Counted in PostgreSQL, so that all processes count together; a key without a limit costs nothing. Windows are fixed
minutes, or as long as the caller says.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpRequest
from django.utils.crypto import salted_hmac
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from governance.access import Principal
from memory_site.models import CallCount

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


class AddressThrottle(BaseThrottle):
    """Holds an address to the ``calls_per_address`` a minute of a view that names a limit."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Count the call and tell whether it is within the limit."""
        limit = getattr(view, "calls_per_address", None)
        return limit is None or count(f"{type(view).__name__}:{digest_of(client_address(request))}") <= limit

    def wait(self) -> float:
        """Return the seconds until the next window."""
        return seconds_left()


def count(client: str, *, window: int = WINDOW) -> int:
    """Count one call of a client and return how many it made in this window of so many seconds."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [client, _window_start(window)])
        return int(cursor.fetchone()[0])


def counted(client: str, *, window: int = WINDOW) -> int:
    """Return how many calls of a client were counted in this window, without counting one."""
    at = datetime.fromtimestamp(_window_start(window), tz=UTC)
    return CallCount.objects.filter(client=client, starts_at=at).values_list("calls", flat=True).first() or 0


def seconds_left(*, window: int = WINDOW) -> float:
    """Return the seconds until the next window."""
    return _window_start(window) + window - time.time()


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
    if not limit or count(f"address:{digest_of(address)}") <= limit:
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


def digest_of(address: str) -> str:
    """Return what is kept of an address, which is a person's."""
    return salted_hmac("address", address).hexdigest()


def _window_start(window: int = WINDOW) -> int:
    return int(time.time()) // window * window
