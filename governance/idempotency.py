"""Repeats of a request: the same ``Idempotency-Key`` gets the same answer and does nothing twice.

The answer is stored in the transaction of the effect, so there is no state in between: a request that failed leaves no
record, and a repeat that arrives while the first is at work waits for it at the unique key.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from facts.clock import now
from facts.errors import Conflicting, DomainError
from facts.ids import new_id
from facts.tenancy import account_transaction
from governance.http import plain, principal_of
from governance.models import IdempotencyRecord

HEADER = "Idempotency-Key"
REPLAY_HEADER = "Idempotent-Replay"
#: How long a key is remembered.
KEPT = timedelta(hours=24)

_KEY = re.compile(r"[\x21-\x7e]{1,200}")

Answer = tuple[int, dict[str, Any]]


def answer_once(request: Request, work: Callable[[], Answer], *, hide: tuple[str, ...] = ()) -> Response:
    """Run ``work`` (which returns status and body) in the caller's account, or replay its stored answer.

    Fields named in ``hide`` are answered once only: a replay has ``null`` there. Raises ``DomainError``
    (``invalid_idempotency_key``) and ``Conflicting`` (``idempotency_mismatch``: same key, another request).
    """
    principal = principal_of(request)
    key = request.headers.get(HEADER)
    if key is not None and not _KEY.fullmatch(key):
        raise DomainError(
            "A key has 1 to 200 printable ASCII characters.", code="invalid_idempotency_key", field=HEADER
        )
    with account_transaction(principal.account_id):
        if key is None:
            status, body = work()
            return Response(body, status)
        digest = _digest(request)
        record, is_new = IdempotencyRecord.objects.get_or_create(
            account_id=principal.account_id,
            credential_id=principal.pk,
            key=key,
            defaults={"id": new_id(), "request_hash": digest},
        )
        if not is_new:
            return _replay(record, digest)
        status, body = work()
        record.status = status
        record.body = {**plain(body), **dict.fromkeys(hide)}
        record.save(update_fields=["status", "body"])
    return Response(body, status)


def forget_old(account_id: uuid.UUID) -> int:
    """Delete the account's records older than :data:`KEPT`; returns how many."""
    with account_transaction(account_id):
        deleted, _ = IdempotencyRecord.objects.filter(account_id=account_id, created_at__lt=now() - KEPT).delete()
    return deleted


def _replay(record: IdempotencyRecord, digest: str) -> Response:
    if record.request_hash != digest:
        raise Conflicting("This key came with another request before.", code="idempotency_mismatch", field=HEADER)
    return Response(record.body, record.status, headers={REPLAY_HEADER: "true"})


def _digest(request: Request) -> str:
    """Tell requests apart by method, path (whichever prefix it is mounted under) and body."""
    path = request.path.removeprefix("/api")
    return hashlib.sha256(b"\n".join((request.method.encode(), path.encode(), request.body))).hexdigest()
