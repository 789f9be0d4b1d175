"""Making up for vectors that could not be made when a fact or passage was written, or that another model made."""

from __future__ import annotations

import uuid

from facts import embedding, index
from facts.models import Account
from facts.tenancy import account_transaction

#: Texts embedded between two transactions: a few seconds of work.
CHUNK = 100


def fill_missing(account_id: uuid.UUID) -> int:
    """Write the missing vectors of an account in the space of the current embedder; return their number.

    The model runs outside of any transaction. An embedder that fails ends the round; the next one goes on.
    """
    provider = embedding.provider()
    if provider is None:
        return 0
    with account_transaction(account_id):
        space = embedding.space_id(provider.identity)
    written = 0
    for missing, write in (
        (index.facts_missing_vectors, index.write_fact_vectors),
        (index.passages_missing_vectors, index.write_passage_vectors),
    ):
        while True:
            with account_transaction(account_id):
                rows = missing(account_id, space=space, limit=CHUNK)
            vectors = embedding.try_embed([text for _, text in rows])
            if not vectors:
                break
            with account_transaction(account_id):
                write(account_id, space=space, vectors=[(row[0], v) for row, v in zip(rows, vectors, strict=True)])
            written += len(rows)
    return written


def fill_missing_everywhere() -> int:
    """Do :func:`fill_missing` for every account; return the number of vectors written."""
    return sum(fill_missing(account_id) for account_id in Account.objects.values_list("id", flat=True))
