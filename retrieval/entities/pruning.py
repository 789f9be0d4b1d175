"""Removing names that no fact holds any more. A name is content: it goes when what said it goes."""

from __future__ import annotations

import uuid

from django.db import connection

from facts.locks import Lock, lock_account
from facts.status_graph import FINAL
from facts.tenancy import account_transaction

_WIPED = (
    "SELECT f.id FROM facts_fact f WHERE f.account_id = %(account)s AND f.status = ANY(%(wiped)s)"
    " AND EXISTS (SELECT FROM retrieval_namesread r WHERE r.fact_id = f.id)"
)
#: A subject's names stay while its entity is mentioned at all, because questions use names that no fact does.
_ORPHANS = (
    "DELETE FROM retrieval_entityalias a WHERE a.account_id = %(account)s"
    " AND NOT EXISTS (SELECT FROM retrieval_mention m WHERE m.account_id = %(account)s AND m.alias_id = a.id)"
    " AND (NOT a.claimed OR NOT EXISTS ("
    "   SELECT FROM retrieval_entityalias b"
    "   JOIN retrieval_mention m ON m.account_id = %(account)s AND m.alias_id = b.id"
    "   WHERE b.account_id = %(account)s AND b.entity_id = a.entity_id))"
)
_EMPTY = (
    "DELETE FROM retrieval_entity e WHERE e.account_id = %(account)s AND NOT EXISTS ("
    " SELECT FROM retrieval_entityalias a WHERE a.account_id = %(account)s AND a.entity_id = e.id)"
)
_PAIRS = (
    "DELETE FROM retrieval_aliaspair p WHERE p.account_id = %(account)s AND 2 > ("
    " SELECT count(*) FROM retrieval_entityalias a"
    " WHERE a.account_id = %(account)s AND a.folded IN (p.first, p.second))"
)


def drop_wiped(account_id: uuid.UUID) -> int:
    """Remove what facts named that are redacted, retracted or deleted since; return their number."""
    parameters = {"account": account_id, "wiped": list(FINAL)}
    with account_transaction(account_id), connection.cursor() as cursor:
        cursor.execute(_WIPED, parameters)
        wiped = [row[0] for row in cursor.fetchall()]
        if wiped:
            lock_account(Lock.ENTITIES, account_id)
            for table in ("retrieval_mention", "retrieval_namesread"):
                cursor.execute(f"DELETE FROM {table} WHERE account_id = %s AND fact_id = ANY(%s)", [account_id, wiped])
            prune_locked(account_id)
    return len(wiped)


def prune(account_id: uuid.UUID) -> None:
    """Remove aliases, entities and pairs of names that are left without a mention."""
    with account_transaction(account_id):
        lock_account(Lock.ENTITIES, account_id)
        prune_locked(account_id)


def prune_locked(account_id: uuid.UUID) -> None:
    """Do :func:`prune` in the running transaction, which holds ``Lock.ENTITIES``."""
    with connection.cursor() as cursor:
        for statement in (_ORPHANS, _EMPTY, _PAIRS):
            cursor.execute(statement, {"account": account_id})
