"""Proposing that two names may stand for one entity, because their vectors are near. Nothing is merged here."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db import connection

from facts import embedding, isolation
from facts.embedding import Embedded
from facts.locks import Lock, lock_account
from facts.models import Account
from facts.tenancy import account_transaction
from retrieval.entities.names import fold
from retrieval.models import AliasPair, EntityAlias, PairState

#: Cosine similarity from which two names may be one; below it they are strangers.
LEAST_SIMILARITY = 0.72
#: Names of one account that a run of the worker compares: each with all others of the account.
PER_RUN = 200

_NEAREST = """
    SELECT a.folded, n.folded, n.similarity
    FROM retrieval_entityalias a CROSS JOIN LATERAL (
        SELECT b.folded, 1 - (b.h <=> a.h) AS similarity FROM retrieval_entityalias b
        WHERE b.account_id = a.account_id AND b.space_id = a.space_id AND b.entity_id <> a.entity_id
        ORDER BY b.h <=> a.h, b.folded LIMIT 1) n
    WHERE a.account_id = %(account)s AND a.folded = ANY(%(names)s) AND n.similarity >= %(least)s
    ORDER BY a.folded"""


def propose_all() -> int:
    """Do :func:`propose` for every account; return the number of names compared.

    Raises ``isolation.Incomplete`` when it failed for some, after doing it for all others.
    """
    accounts = list(Account.objects.order_by("id").values_list("id", flat=True))
    return isolation.each_account(accounts, propose, name="propose names")


def propose(account_id: uuid.UUID) -> int:
    """Give up to :data:`PER_RUN` names without a vector theirs, and propose the nearest other name of each.

    The embedder runs outside of any transaction. Returns the number of names compared; 0 when none is left, or
    without an embedder.
    """
    embedder = embedding.writing()
    if embedder is None:
        return 0
    with account_transaction(account_id):
        space = embedding.space(embedder.identity)
        waiting = EntityAlias.objects.filter(account_id=account_id).exclude(space_id=space.id)
        names = list(waiting.order_by("folded").values_list("folded", flat=True)[:PER_RUN])
    vectors = embedding.try_embed(names, by=embedder, account_id=account_id)
    if not vectors:
        return 0
    with account_transaction(account_id):
        _write_vectors(account_id, names, vectors)
    with account_transaction(account_id):
        _propose_nearest(account_id, names)
    return len(names)


def propose_afresh(account_id: uuid.UUID) -> int:
    """Take back all undecided proposals and make them anew for every name; return the number of names.

    What comes out depends on nothing but the names, in whatever order they came.
    """
    while propose(account_id):
        pass
    with account_transaction(account_id):
        AliasPair.objects.filter(account_id=account_id, state=PairState.PROPOSED).delete()
        names = list(
            EntityAlias.objects.filter(account_id=account_id).order_by("folded").values_list("folded", flat=True)
        )
    for start in range(0, len(names), PER_RUN):
        with account_transaction(account_id):
            _propose_nearest(account_id, names[start : start + PER_RUN])
    return len(names)


def propose_pair(account_id: uuid.UUID, first: str, second: str) -> bool:
    """Ask people whether two names stand for one entity; tell whether that was not asked, or decided, before.

    Names that no fact holds, or that stand for one entity already, are not asked about. Runs inside the account.
    """
    names = sorted({fold(first), fold(second)} - {""})
    known = EntityAlias.objects.filter(account_id=account_id, folded__in=names)
    if len(names) != 2 or len(set(known.values_list("entity_id", flat=True))) != 2:
        return False
    _, is_new = AliasPair.objects.get_or_create(account_id=account_id, first=names[0], second=names[1])
    return is_new


def _write_vectors(account_id: uuid.UUID, names: Sequence[str], vectors: Sequence[Embedded]) -> None:
    lock_account(Lock.ENTITIES, account_id)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE retrieval_entityalias a SET h = t.h::halfvec, space_id = %(space)s"
            " FROM unnest(%(names)s::text[], %(vectors)s::text[]) AS t(folded, h)"
            " WHERE a.account_id = %(account)s AND a.folded = t.folded",
            {
                "account": account_id,
                "space": embedding.space(vectors[0].identity).id,
                "names": list(names),
                "vectors": ["[" + ",".join(f"{float(x):.5g}" for x in vector.numbers) + "]" for vector in vectors],
            },
        )


def _propose_nearest(account_id: uuid.UUID, names: Sequence[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_NEAREST, {"account": account_id, "names": list(names), "least": LEAST_SIMILARITY})
        found = cursor.fetchall()
    pairs = {(min(one, other), max(one, other)): similarity for one, other, similarity in found}
    AliasPair.objects.bulk_create(
        [
            AliasPair(account_id=account_id, first=first, second=second, similarity=round(similarity, 4))
            for (first, second), similarity in sorted(pairs.items())
        ],
        ignore_conflicts=True,
    )
