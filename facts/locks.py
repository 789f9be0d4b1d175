"""Advisory locks of the running transaction. Numbers are part of the running system: never renumber them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from enum import IntEnum

from django.db import connection

from facts.errors import Conflicting


class Lock(IntEnum):
    """What a lock guards. Always taken in this order, so that two transactions cannot wait for each other."""

    SUBJECT = 1
    AUDIT_TIP = 2
    OUTBOX = 3
    CARDS = 4
    ENTITIES = 5
    FIGURES = 6


def _key(lock: Lock, *parts: str) -> int:
    digest = hashlib.sha256("\x1f".join([str(int(lock)), *parts]).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _take(lock: Lock, *parts: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_key(lock, *parts)])


def lock_subject(scope_id: uuid.UUID, subject_id: uuid.UUID) -> None:
    """Serialise planning and writing for one subject in one scope until the transaction ends."""
    _take(Lock.SUBJECT, str(scope_id), str(subject_id))


def hold_subjects(account_id: uuid.UUID, keys: Mapping[uuid.UUID, str]) -> None:
    """Keep subjects (id → key) from being erased or merged until the transaction ends, while others write about them.

    Raises ``Conflicting`` (``try_again``) for one that was erased or merged since it was looked up.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, key FROM facts_subject WHERE account_id = %s AND id = ANY(%s) AND merged_into_id IS NULL"
            " ORDER BY id FOR KEY SHARE",
            [account_id, list(keys)],
        )
        held = dict(cursor.fetchall())
    if held != dict(keys):
        raise Conflicting("Somebody named here was just erased or merged; say it again.", code="try_again")


def lock_account(lock: Lock, account_id: uuid.UUID) -> None:
    """Take an account-wide lock until the transaction ends."""
    _take(lock, str(account_id))


def try_lock_account(lock: Lock, account_id: uuid.UUID) -> bool:
    """Take an account-wide lock until the transaction ends unless somebody has it; tell whether it was taken."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_key(lock, str(account_id))])
        return cursor.fetchone()[0]
