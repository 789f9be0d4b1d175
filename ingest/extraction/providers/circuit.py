"""The circuit breaker: after a few failures in a row, a provider is left alone for a while.

Kept in each process. Without it every waiting message would find out by itself, and at its own expense of time, that
the provider is down.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

#: Transient failures in a row that open the circuit.
FAILURES = 5
#: Seconds it stays open, until one call may look whether the provider is back.
OPEN_SECONDS = 30.0


@dataclass
class Circuit:
    """Closed, open, or half open with one probe under way. Safe for threads."""

    _failures: int = 0
    _opened_at: float | None = None
    _probing: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self) -> float:
        """Return 0 where a call may be made now, taking the probe's place if need be; else the seconds to wait."""
        with self._lock:
            if self._opened_at is None:
                return 0.0
            left = self._opened_at + OPEN_SECONDS - time.monotonic()
            if left > 0:
                return left
            if self._probing:
                return OPEN_SECONDS
            self._probing = True
            return 0.0

    def answered(self) -> None:
        """Close: the provider answered, whatever it said."""
        with self._lock:
            self._failures, self._opened_at, self._probing = 0, None, False

    def failed(self) -> None:
        """Count a transient failure; open when there were enough, or when the probe failed."""
        with self._lock:
            self._failures += 1
            if self._failures >= FAILURES or self._probing:
                self._opened_at = time.monotonic()
            self._probing = False


_circuits: dict[str, Circuit] = {}
_registry_lock = threading.Lock()


def of(key: str) -> Circuit:
    """Return this process's circuit of that name."""
    with _registry_lock:
        return _circuits.setdefault(key, Circuit())
