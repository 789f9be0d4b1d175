"""Whether a request comes from Slack: signed over its raw body with the app's secret, within the last five minutes.

Slack's own verifier compares in constant time; what it stumbles over (a time that is no number, a body that is no
UTF-8, a signature beyond ASCII) is a forgery like any other.
"""

from __future__ import annotations

from collections.abc import Iterable

from slack_sdk.signature import Clock, SignatureVerifier

from facts.clock import now

TIMESTAMP_HEADER = "X-Slack-Request-Timestamp"
SIGNATURE_HEADER = "X-Slack-Signature"


class _Clock(Clock):
    """The present, as the rest of the system tells it."""

    def now(self) -> float:
        return now().timestamp()


def is_signed(body: bytes, *, timestamp: str | None, signature: str | None, secrets: Iterable[str]) -> bool:
    """Tell whether any of ``secrets`` signed the request; never for no secret."""
    return any(_is_signed(body, timestamp, signature, secret) for secret in secrets if secret.strip())


def _is_signed(body: bytes, timestamp: str | None, signature: str | None, secret: str) -> bool:
    verifier = SignatureVerifier(secret, clock=_Clock())
    try:
        return verifier.is_valid(body, timestamp, signature)
    except (ValueError, TypeError, OverflowError):
        return False
