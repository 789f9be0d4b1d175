"""Making up for vectors that could not be made when a fact or passage was written, and for those of a new embedder.

Vectors are missing in two spaces at most: the one that serves, and the one that the settings ask for. When nothing is
missing in the second any more, it begins to serve.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from time import monotonic

from facts import embedding, index
from facts.embedding import EmbeddingProvider, Space
from facts.models import Account
from facts.tenancy import account_transaction

#: Texts embedded between two transactions: a few seconds of work.
CHUNK = 100
#: Seconds that a round of the worker may take, so that the next one, a minute later, finds it ended.
ROUND_SECONDS = 40.0


def account_ids() -> list[uuid.UUID]:
    """Return all accounts, the oldest first."""
    return list(Account.objects.order_by("pk").values_list("pk", flat=True))


def fill(
    account_id: uuid.UUID,
    *,
    provider: EmbeddingProvider,
    space: Space,
    until: float | None = None,
    newest_first: bool = False,
    note: Callable[[int], None] | None = None,
) -> int:
    """Write the missing vectors of an account in the space of ``provider``; return their number.

    The model runs outside of any transaction, and every chunk is kept. An embedder that fails ends the round, and so
    does ``until``, an instant of ``monotonic``; the next round goes on. ``note`` is told of each chunk's number.
    ``newest_first`` is for the worker: what is new is found soonest, and a command that fills from the other end
    hardly does the same work.
    """
    written = 0
    for missing, write in (
        (index.facts_missing_vectors, index.write_fact_vectors),
        (index.passages_missing_vectors, index.write_passage_vectors),
    ):
        while until is None or monotonic() < until:
            with account_transaction(account_id):
                rows = missing(account_id, space=space, limit=CHUNK, newest_first=newest_first)
            vectors = embedding.try_embed([text for _, text in rows], by=provider)
            if not vectors:
                break
            with account_transaction(account_id):
                done = write(account_id, vectors=[(row[0], v) for row, v in zip(rows, vectors, strict=True)])
            written += done
            if note is not None:
                note(done)
            if not done:  # all of them are being changed by somebody else
                break
    return written


def fill_missing_everywhere(*, seconds: float = ROUND_SECONDS) -> int:
    """Do a round of :func:`fill` for every account, within ``seconds``; return the number of vectors written.

    Vectors of the space that serves come first. Where the settings ask for another and no younger process for yet
    another, it is filled too, and serves as soon as nothing is missing.
    """
    until = monotonic() + seconds
    asked_for, reading = embedding.provider(), embedding.reading()
    if asked_for is None:
        return 0
    wanted = embedding.note_asked_for()
    written = 0
    if reading is not None and reading is not asked_for:
        written += _fill_all(reading, embedding.space(reading.identity), until=until)
    written += _fill_all(asked_for, wanted, until=until)
    if reading is not asked_for and embedding.is_asked_for_last(wanted) and missing_everywhere(wanted) == 0:
        embedding.serve(wanted)
    return written


def missing_everywhere(space: Space) -> int:
    """Return how many vectors are missing in ``space``, in all accounts."""
    total = 0
    for account_id in account_ids():
        with account_transaction(account_id):
            total += index.count_missing_vectors(account_id, space=space)
    return total


def _fill_all(provider: EmbeddingProvider, space: Space, *, until: float) -> int:
    return sum(
        fill(account_id, provider=provider, space=space, until=until, newest_first=True) for account_id in account_ids()
    )
