"""To a web address that an administrator set up: guarded, signed, bounded, and never redirected.

Every try carries the same id, as ``webhook-id`` and ``Idempotency-Key``: a receiver that has seen it does nothing a
second time. Its own answer alone says that it arrived.
"""

from __future__ import annotations

import orjson

from facts import guarded_requests
from facts.clock import now
from facts.guarded_requests import AddressRefused, Limits, SendFailed
from ingest.deliveries import signing
from ingest.deliveries.senders.base import NotSent, Parcel
from ingest.deliveries.targets import secrets_of

#: A receiver has time to note that it got something, not to work on it; what it answers is not read.
LIMITS = Limits(seconds=10.0, max_bytes=64 * 1024, redirects=0)
#: The longest rest that a receiver is granted.
LONGEST_REST = 24 * 3600
#: Answers that may be others later; any other one from 300 to 499 stays.
_PASSING = frozenset({408, 409, 425, 429})


def send(parcel: Parcel) -> str:
    """Post it; return the status of the answer. Raises ``NotSent``."""
    target = parcel.place.target
    if target is None:
        raise NotSent("no_target", permanent=True)
    body = orjson.dumps(
        {
            "id": str(parcel.delivery_id),
            "type": parcel.content.type,
            "created_at": parcel.created_at.isoformat(),
            "data": dict(parcel.content.fields),
        }
    )
    message_id = str(parcel.delivery_id)
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": message_id,
        **signing.headers(message_id=message_id, at=now(), body=body, signed_with=secrets_of(target)),
    }
    try:
        reply = guarded_requests.send(parcel.place.address, method="POST", headers=headers, content=body, limits=LIMITS)
    except AddressRefused:
        raise NotSent("address_refused", permanent=True) from None
    except SendFailed as failure:
        # Whatever is wrong with an answer, it may have been heard: the same id goes out again.
        raise NotSent(failure.reason, uncertain=failure.reason != "name_not_found") from None
    return _judged(reply.status, reply.headers.get("retry-after", ""))


def _judged(status: int, retry_after: str) -> str:
    if 200 <= status < 300:
        return str(status)
    rest = _seconds(retry_after) if status in {429, 503} else None
    if rest is not None:
        raise NotSent(f"status_{status}", rest=rest)
    raise NotSent(f"status_{status}", permanent=300 <= status < 500 and status not in _PASSING)


def _seconds(text: str) -> float | None:
    """Return for how long the receiver wants to be left alone; a date, which is allowed too, is not believed."""
    return float(max(1, min(int(text), LONGEST_REST))) if text.isascii() and text.isdigit() else None
