"""Advisory locks of the running transaction. Numbers are part of the running system: never renumber them."""

from __future__ import annotations

import hashlib
import uuid
from enum import IntEnum

from django.db import connection


class Lock(IntEnum):
    """What a lock guards. Always taken in this order, so that two transactions cannot wait for each other."""

    SUBJECT = 1
    AUDIT_TIP = 2


def _take(lock: Lock, *parts: str) -> None:
    digest = hashlib.sha256("\x1f".join([str(int(lock)), *parts]).encode()).digest()
    key = int.from_bytes(digest[:8], "big", signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])


def lock_subject(scope_id: uuid.UUID, subject_id: uuid.UUID) -> None:
    """Serialise planning and writing for one subject in one scope until the transaction ends."""
    _take(Lock.SUBJECT, str(scope_id), str(subject_id))


def lock_account(lock: Lock, account_id: uuid.UUID) -> None:
    """Take an account-wide lock until the transaction ends."""
    _take(lock, str(account_id))
