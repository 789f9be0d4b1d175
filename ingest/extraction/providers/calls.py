"""One call to a model: what is asked, what comes back, what went wrong, and who keeps the books.

The words here are those of every adapter, so that retrying, booking and repairing are written once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal, Protocol

from ingest.extraction.providers.schema import FACTS, Shape

#: Tokens an answer may have: 24 facts of about 150 tokens, and what a reasoning model thinks before.
MAX_OUTPUT_TOKENS = 8_000

TIMEOUT = "provider_timeout"
UNREACHABLE = "provider_unreachable"
RATE_LIMITED = "provider_rate_limited"
OVERLOADED = "provider_overloaded"
SERVER_ERROR = "provider_error"
DENIED = "provider_denied"
UNPAID = "provider_unpaid"
#: No such model, or nothing of the kind at that address.
NOT_FOUND = "provider_not_found"
REJECTED = "provider_rejected"
TOO_LARGE = "reply_too_large"
UNREADABLE = "reply_unreadable"
#: Booked where the provider answered, but would not read the message.
REFUSED = "provider_refused"

#: What may be gone a moment later.
TRANSIENT = frozenset({TIMEOUT, UNREACHABLE, RATE_LIMITED, OVERLOADED, SERVER_ERROR})

#: What a message may bring about by itself, as far as a failed call tells.
MAYBE_THE_MESSAGE = frozenset({TIMEOUT, UNREACHABLE, SERVER_ERROR, REJECTED, TOO_LARGE, UNREADABLE})

_STATUS = {
    401: DENIED, 402: UNPAID, 403: DENIED, 404: NOT_FOUND, 408: TIMEOUT, 429: RATE_LIMITED, 529: OVERLOADED,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ask:
    """What is sent: the standing instructions, turns of ``(role, text)`` that begin and end with the user, and the
    shape in which an answer is wanted, which goes without saying where it is that of :data:`FACTS`."""

    system: str
    turns: tuple[tuple[Literal["user", "assistant"], str], ...]
    shape: Shape = FACTS

    def serialised(self, *, model: str) -> bytes:
        """Return the request as bytes that are equal exactly for equal requests."""
        return json.dumps([model, self.system, self.turns], ensure_ascii=True).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back.

    ``input_tokens``, ``output_tokens``  as the provider counted them; ``None`` where it did not say.
    ``refused``    the provider or its filter would not answer.
    ``truncated``  the answer ends at the output limit.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    refused: bool = False
    truncated: bool = False


class CallFailed(Exception):
    """A call without an answer: what went wrong, in a word, and the seconds that the provider asks to wait."""

    def __init__(self, error_class: str, *, retry_after: float | None = None) -> None:
        super().__init__(error_class)
        self.error_class = error_class
        self.retry_after = retry_after


class Client(Protocol):
    """An adapter to one provider. Tries once; retrying is not its business."""

    provider: str
    model: str
    #: Whether the vendor's list prices hold; not so behind another address.
    list_prices: bool

    def send(self, ask: Ask, *, timeout: float) -> Answer:
        """Return the answer, within about ``timeout`` seconds. Raises :class:`CallFailed` and nothing else."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One try, for the books. ``answer`` is ``None`` and ``error_class`` says why, or the other way round.

    ``notes`` names what was odd about the answer, never its content.
    """

    ask: Ask
    latency_ms: int
    answer: Answer | None = None
    error_class: str = ""
    notes: tuple[str, ...] = ()


class Books(Protocol):
    """Who pays, and what is known already."""

    def before(self, ask: Ask) -> Answer | None:
        """Return the answer if it was paid for before. Raises ``ExtractionFailed`` when there is no money left."""
        ...

    def book(self, call: Call) -> None:
        """Keep what a call cost, and its answer until the work is done."""
        ...


class Unbooked:
    """No books: for measurements outside of any account."""

    def before(self, ask: Ask) -> Answer | None:
        """Know nothing, allow everything."""
        return None

    def book(self, call: Call) -> None:
        """Keep nothing."""


def failure_of_status(status: int, headers: Mapping[str, str]) -> CallFailed:
    """Return the failure that an HTTP status means."""
    by_range = SERVER_ERROR if status >= 500 else REJECTED if status >= 400 else NOT_FOUND
    kind = _STATUS.get(status, by_range)
    return CallFailed(kind, retry_after=retry_after_of(headers))


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a reply asks to wait (``retry-after-ms``, or ``retry-after`` in either of its forms)."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        raw = headers.get("retry-after", "")
        if raw.strip().isdigit():
            return float(raw)
        moment = parsedate_to_datetime(raw)
    except (TypeError, ValueError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def circuit_key(client: Client, *, address: str) -> str:
    """Return the name of what fails together: one provider at one address."""
    return hashlib.sha256(f"{client.provider}|{address}".encode()).hexdigest()[:16]
