"""How webhooks are signed: the scheme of the Standard Webhooks specification, for which most languages have a library.

Signed is ``id.timestamp.body`` with HMAC-SHA256; the header holds one ``v1,<base64>`` for each secret that is good, so
that a receiver may change to a new secret any time while both are.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime

#: What a secret begins with, so that people and scanners know it for one.
PREFIX = "whsec_"
#: Bytes of a new secret; the specification asks for 24 to 64.
SECRET_BYTES = 32


def new_secret() -> str:
    """Return a fresh secret, as it is given to the receiver."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def headers(*, message_id: str, at: datetime, body: bytes, signed_with: Sequence[str]) -> dict[str, str]:
    """Return the headers of one message that is signed with these secrets."""
    timestamp = str(int(at.timestamp()))
    signatures = [f"v1,{_sign(secret, message_id, timestamp, body)}" for secret in signed_with]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(signatures),
    }


def _sign(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
