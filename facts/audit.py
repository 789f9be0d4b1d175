"""The audit chain: per account, each entry carries the hash of the one before it.

Entries hold ids, states, flags, counts and hashes, never text. They are written in the transaction of the change they
record, and the database refuses to change or remove them.

Whoever owns the database can get past that refusal. What they then change, remove, insert or put into another order
breaks the chain (:func:`verify`). An end that was cut off leaves a sound chain; it shows against the tip, a row
that names the last entry and is written with it. Against somebody who makes all hashes and the tip anew only an
:class:`Anchor` helps that was kept elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from facts.actors import Actor
from facts.clock import now
from facts.locks import Lock, lock_account
from facts.models import AuditEntry, AuditTip

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


#: What :func:`gathered` holds back: entries without their place in the chain.
_waiting: ContextVar[list[dict[str, Any]] | None] = ContextVar("entries that wait for their place", default=None)


def record(
    account_id: uuid.UUID,
    *,
    action: str,
    object_type: str,
    object_id: uuid.UUID | str,
    actor: Actor,
    group: uuid.UUID,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Append one entry to the account's chain, inside the caller's transaction.

    The chain's tip is locked until that transaction ends, so entries of one account are strictly ordered.
    """
    entry = {
        "account_id": account_id,
        "action": action,
        "object_type": object_type,
        "object_id": str(object_id),
        "actor": actor.as_json(),
        "group": group,
        "metadata": dict(metadata or {}),
        "occurred_at": now(),
    }
    waiting = _waiting.get()
    if waiting is None:
        _append(account_id, [entry])
    else:
        waiting.append(entry)


@contextmanager
def gathered(account_id: uuid.UUID) -> Iterator[None]:
    """Append what is recorded inside when the block ends, all at once: to be the last thing a transaction does.

    Otherwise a long transaction keeps everybody else of the account from recording from its first entry on. Nothing
    is appended after an exception. What a savepoint inside records is taken back with it if it is :func:`savepoint`.
    """
    if _waiting.get() is not None:
        yield
        return
    waiting: list[dict[str, Any]] = []
    token = _waiting.set(waiting)
    try:
        yield
    finally:
        _waiting.reset(token)
    if waiting:
        _append(account_id, waiting)


@contextmanager
def savepoint() -> Iterator[None]:
    """Open a savepoint; what is recorded in it goes with it, also while entries are gathered."""
    waiting = _waiting.get()
    before = len(waiting) if waiting is not None else 0
    try:
        with transaction.atomic():
            yield
    except BaseException:
        if waiting is not None:
            del waiting[before:]
        raise


def _append(account_id: uuid.UUID, waiting: Sequence[dict[str, Any]]) -> None:
    """Give entries their places at the end of the chain, in their order."""
    lock_account(Lock.AUDIT_TIP, account_id)
    last = tip(account_id)
    seq, previous = (last.seq, last.hash) if last else (0, GENESIS)
    entries = []
    for entry in waiting:
        seq += 1
        placed = {**entry, "seq": seq, "previous_hash": previous}
        previous = _entry_hash(**placed)
        entries.append(AuditEntry(**placed, hash=previous))
    AuditEntry.objects.bulk_create(entries)
    if last is None:
        AuditTip.objects.create(account_id=account_id, seq=seq, hash=previous)
    else:
        AuditTip.objects.filter(account_id=account_id).update(seq=seq, hash=previous)


@dataclass(frozen=True, slots=True)
class Anchor:
    """An entry by its sequence number and hash, written ``SEQ:HASH``."""

    seq: int
    hash: str

    @classmethod
    def parse(cls, text: str) -> Anchor:
        """Read the written form; raises ``ValueError``."""
        seq, _, digest = text.strip().partition(":")
        if not _DIGEST.fullmatch(digest) or not _NUMBER.fullmatch(seq):
            raise ValueError(f"'{text}' is not of the form SEQ:HASH.")
        return cls(int(seq), digest)

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


_DIGEST = re.compile("[0-9a-f]{64}")
_NUMBER = re.compile("[1-9][0-9]{0,17}")


def tip(account_id: uuid.UUID) -> Anchor | None:
    """Return the entry that was written last, as recorded with it; ``None`` before there is any."""
    found = AuditTip.objects.filter(account_id=account_id).values_list("seq", "hash").first()
    return Anchor(*found) if found else None


@dataclass(frozen=True, slots=True)
class ChainFault:
    """Where a chain stops being what was written: the sequence number and what is wrong there."""

    seq: int
    problem: str


def verify(account_id: uuid.UUID, *, anchor: Anchor | None = None) -> Iterator[ChainFault]:
    """Walk the account's chain from the start and yield every fault found (none for a sound chain).

    ``anchor``: an entry that was noted down earlier, and that the chain must still hold. Entries that others write
    meanwhile are no fault.
    """
    at_first, expected_seq, previous = tip(account_id), 1, GENESIS
    wanted = {known.seq: known.hash for known in (at_first, anchor) if known}
    met: dict[int, str] = {}
    for entry in AuditEntry.objects.filter(account_id=account_id).order_by("seq").iterator():
        if entry.seq != expected_seq:
            yield ChainFault(entry.seq, f"expected entry {expected_seq}")
        if entry.previous_hash != previous:
            yield ChainFault(entry.seq, "does not point to the entry before it")
        if _hash_of(entry) != entry.hash:
            yield ChainFault(entry.seq, "content does not match its hash")
        if entry.seq in wanted:
            met[entry.seq] = entry.hash
        expected_seq, previous = entry.seq + 1, entry.hash
    yield from _faults_at_the_end(expected_seq - 1, met, at_first=at_first, at_last=tip(account_id))
    if anchor is not None and met.get(anchor.seq) != anchor.hash:
        yield ChainFault(anchor.seq, "is not the entry that was noted down")


def _faults_at_the_end(
    last: int, met: Mapping[int, str], *, at_first: Anchor | None, at_last: Anchor | None
) -> Iterator[ChainFault]:
    """Compare the end of the chain with the tip as it was before the walk and as it is afterwards."""
    if at_last is None:
        if last:
            yield ChainFault(last, "nothing tells whether it is the last entry: the tip is gone")
        return
    if at_first is not None and last < at_first.seq:
        yield ChainFault(last + 1, f"is missing, with all that follow: {at_first.seq} entries were written")
    elif at_first is not None and met.get(at_first.seq, at_first.hash) != at_first.hash:
        yield ChainFault(at_first.seq, "is not the entry that was written last")
    if last > at_last.seq:
        yield ChainFault(at_last.seq + 1, f"was added afterwards: {at_last.seq} entries were written")


def _hash_of(entry: AuditEntry) -> str:
    return _entry_hash(
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


def export(account_id: uuid.UUID, *, after: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the entries after number ``after``, oldest first, with everything from which their hashes are made."""
    for entry in AuditEntry.objects.filter(account_id=account_id, seq__gt=after).order_by("seq").iterator():
        yield {
            "account_id": str(entry.account_id),
            "seq": entry.seq,
            "action": entry.action,
            "object_type": entry.object_type,
            "object_id": entry.object_id,
            "actor": entry.actor,
            "group": str(entry.group),
            "metadata": entry.metadata,
            "occurred_at": entry.occurred_at.isoformat(timespec="microseconds"),
            "previous_hash": entry.previous_hash,
            "hash": entry.hash,
        }
