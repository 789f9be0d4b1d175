"""The audit chain: per account, each entry carries the hash of the one before it.

Entries hold ids, states, flags, counts and hashes, never text. They are written in the transaction of the change they
record, and the database refuses to change or remove them.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from facts.actors import Actor
from facts.clock import now
from facts.locks import Lock, lock_account
from facts.models import AuditEntry

#: What the first entry of an account points back to.
GENESIS = "0" * 64


def _entry_hash(
    *,
    account_id: uuid.UUID,
    seq: int,
    action: str,
    object_type: str,
    object_id: str,
    actor: Mapping[str, Any],
    group: uuid.UUID,
    metadata: Mapping[str, Any],
    occurred_at: datetime,
    previous_hash: str,
) -> str:
    body = [
        str(account_id),
        seq,
        action,
        object_type,
        object_id,
        actor,
        str(group),
        metadata,
        occurred_at.isoformat(timespec="microseconds"),
        previous_hash,
    ]
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def record(
    account_id: uuid.UUID,
    *,
    action: str,
    object_type: str,
    object_id: uuid.UUID | str,
    actor: Actor,
    group: uuid.UUID,
    metadata: Mapping[str, Any] | None = None,
) -> AuditEntry:
    """Append one entry to the account's chain, inside the caller's transaction.

    The chain's tip is locked until that transaction ends, so entries of one account are strictly ordered.
    """
    lock_account(Lock.AUDIT_TIP, account_id)
    tip = AuditEntry.objects.filter(account_id=account_id).order_by("-seq").values_list("seq", "hash").first()
    seq, previous = (tip[0] + 1, tip[1]) if tip else (1, GENESIS)
    fields = {
        "account_id": account_id,
        "seq": seq,
        "action": action,
        "object_type": object_type,
        "object_id": str(object_id),
        "actor": actor.as_json(),
        "group": group,
        "metadata": dict(metadata or {}),
        "occurred_at": now(),
        "previous_hash": previous,
    }
    return AuditEntry.objects.create(**fields, hash=_entry_hash(**fields))


@dataclass(frozen=True, slots=True)
class ChainFault:
    """Where a chain stops being what was written: the sequence number and what is wrong there."""

    seq: int
    problem: str


def verify(account_id: uuid.UUID) -> Iterator[ChainFault]:
    """Walk the account's chain from the start and yield every fault found (none for a sound chain)."""
    expected_seq, previous = 1, GENESIS
    for entry in AuditEntry.objects.filter(account_id=account_id).order_by("seq").iterator():
        if entry.seq != expected_seq:
            yield ChainFault(entry.seq, f"expected entry {expected_seq}")
        if entry.previous_hash != previous:
            yield ChainFault(entry.seq, "does not point to the entry before it")
        computed = _entry_hash(
            account_id=entry.account_id,
            seq=entry.seq,
            action=entry.action,
            object_type=entry.object_type,
            object_id=entry.object_id,
            actor=entry.actor,
            group=entry.group,
            metadata=entry.metadata,
            occurred_at=entry.occurred_at,
            previous_hash=entry.previous_hash,
        )
        if computed != entry.hash:
            yield ChainFault(entry.seq, "content does not match its hash")
        expected_seq, previous = entry.seq + 1, entry.hash
