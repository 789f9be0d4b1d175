"""What is kept of things whose content was erased: keyed digests, by which they are known again and not told.

A plain digest of a short text can be found by trying; one under the account's secret cannot.
"""

from __future__ import annotations

import hashlib
import hmac
import uuid
from collections.abc import Iterable

from facts.models import AccountSecret, Subject

PREFIX = "erased:"


def keyed(account_id: uuid.UUID, *parts: str) -> str:
    """Return the HMAC-SHA-256 of the parts under the account's secret, as 64 hexadecimal digits."""
    return _digest(_secret(account_id), *parts)


def source_keys(account_id: uuid.UUID, keys: Iterable[str]) -> dict[str, str]:
    """Return, for each source key of an event, the one that its tombstone has."""
    secret = _secret(account_id)
    return {key: PREFIX + _digest(secret, "event", key) for key in keys}


def subject_key(account_id: uuid.UUID, *, kind: str, key: str) -> str:
    """Return how the key of a subject that was erased begins; a number follows when that happened before."""
    return PREFIX + keyed(account_id, "subject", kind, key)


def predecessors(subject: Subject) -> list[uuid.UUID]:
    """Return the erased subjects that had this one's key: what was erased of them stays erased."""
    begins = subject_key(subject.account_id, kind=subject.kind, key=subject.key)
    tombstones = Subject.objects.filter(account_id=subject.account_id, kind=subject.kind, key__startswith=begins)
    return list(tombstones.values_list("id", flat=True))


def _secret(account_id: uuid.UUID) -> bytes:
    return bytes(AccountSecret.objects.values_list("statement_key", flat=True).get(account_id=account_id))


def _digest(secret: bytes, *parts: str) -> str:
    return hmac.new(secret, "\x1f".join(parts).encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
