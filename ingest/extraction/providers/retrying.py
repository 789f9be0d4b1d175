"""Trying again, in the one place where that is done: bounded, jittered, and only what may be gone a moment later.

The client libraries are told not to retry, and the queue waits much longer between its tries, so that one message
never multiplies paid calls.
"""

from __future__ import annotations

import random
import time
from datetime import timedelta

from ingest.extraction.base import ExtractionFailed
from ingest.extraction.providers.calls import TRANSIENT, Answer, Ask, Books, Call, CallFailed, Client
from ingest.extraction.providers.circuit import Circuit

#: Tries of one call.
TRIES = 3
#: Seconds before the second try, halved at most by chance; twice as long before the third.
FIRST_PAUSE = 1.0
#: A provider that asks for a longer pause gets it from the queue, not from a worker that sleeps.
LONGEST_PAUSE = 10.0
#: Longest time for which a provider's word is taken.
LONGEST_DELAY = timedelta(hours=1)
#: A try with less time than this would only be paid for and thrown away.
SHORTEST_TRY = 3.0

#: An answer, and the milliseconds it took.
Reply = tuple[Answer, int]

UNAVAILABLE = "provider_unavailable"
OUT_OF_TIME = "out_of_time"


def send(client: Client, ask: Ask, *, books: Books, circuit: Circuit, timeout: float, deadline: float) -> Reply:
    """Return the answer and its latency, having booked every failed try.

    ``timeout`` bounds one try in seconds, ``deadline`` (monotonic) all of them. Raises :class:`ExtractionFailed`.
    """
    for number in range(1, TRIES + 1):
        left = deadline - time.monotonic()
        if left < SHORTEST_TRY:
            raise ExtractionFailed(retryable=True, error_class=OUT_OF_TIME, outside=True)
        wait = circuit.wait()
        if wait:
            raise ExtractionFailed(retryable=True, error_class=UNAVAILABLE, outside=True, pause=timedelta(seconds=wait))
        began = time.monotonic()
        try:
            answer = client.send(ask, timeout=min(timeout, left))
        except CallFailed as failure:
            _note(circuit, failure)
            books.book(Call(ask=ask, latency_ms=_since(began), error_class=failure.error_class))
            pause = _pause(number, failure)
            if pause is None or time.monotonic() + pause + SHORTEST_TRY > deadline:
                raise _given_up(failure) from None
            time.sleep(pause)
        else:
            circuit.answered()
            return answer, _since(began)
    raise AssertionError("the last try either returns or raises")


def _note(circuit: Circuit, failure: CallFailed) -> None:
    if failure.error_class in TRANSIENT:
        circuit.failed()
    else:
        circuit.answered()


def _pause(number: int, failure: CallFailed) -> float | None:
    """Return the seconds before the next try, or ``None`` when there is to be none now."""
    if failure.error_class not in TRANSIENT or number == TRIES:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= LONGEST_PAUSE else None
    return FIRST_PAUSE * 2 ** (number - 1) * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


def _given_up(failure: CallFailed) -> ExtractionFailed:
    asked = timedelta(seconds=min(failure.retry_after or 0.0, LONGEST_DELAY.total_seconds()))
    return ExtractionFailed(retryable=True, error_class=failure.error_class, outside=True, pause=asked)


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
