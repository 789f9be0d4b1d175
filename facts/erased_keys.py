"""What is kept of things whose content was erased: keyed digests, by which they are known again and not told.

A plain digest of a short text can be found by trying; one under the account's secret cannot.
"""

from __future__ import annotations

import hashlib
import hmac
import uuid
from collections.abc import Iterable

from django.db.models import Q

from facts.account_secret import statement_key
from facts.models import Subject

PREFIX = "erased:"


def keyed(account_id: uuid.UUID, *parts: str) -> str:
    """Return the HMAC-SHA-256 of the parts under the account's secret, as 64 hexadecimal digits."""
    return _digest(statement_key(account_id), *parts)


def source_keys(account_id: uuid.UUID, keys: Iterable[str]) -> dict[str, str]:
    """Return, for each source key of an event, the one that its tombstone has."""
    secret = statement_key(account_id)
    return {key: PREFIX + _digest(secret, "event", key) for key in keys}


def subject_key(account_id: uuid.UUID, *, kind: str, key: str) -> str:
    """Return how the key of a subject that was erased begins; a number follows when that happened before."""
    return PREFIX + keyed(account_id, "subject", kind, key)


def with_predecessors(subject: Subject, *, path: str) -> Q:
    """Return the condition that ``path`` leads to a subject, or to an erased one that had its key before.

    What was erased of those stays erased.
    """
    begins = subject_key(subject.account_id, kind=subject.kind, key=subject.key)
    tombstones = Subject.objects.filter(account_id=subject.account_id, kind=subject.kind, key__startswith=begins)
    return Q(**{path: subject.id}) | Q(**{f"{path}__in": tombstones.values("id")})


def _digest(secret: bytes, *parts: str) -> str:
    return hmac.new(secret, "\x1f".join(parts).encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
