"""Making up for vectors that could not be made when a fact or passage was written, and for those of a new embedder.

Vectors are missing in two spaces at most: the one that serves, and the one that the settings ask for. When nothing is
missing in the second any more, it begins to serve.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from time import monotonic

from django.conf import settings

from facts import embedding, index
from facts.embedding import EmbeddingProvider, Space
from facts.models import Account
from facts.tenancy import account_transaction

#: Most texts embedded between two transactions, and how many are at first, while the model's pace is not known.
CHUNK, FIRST_CHUNK = 100, 10
#: Seconds of work that a chunk should be.
CHUNK_SECONDS = 5.0


class EmbedderFailed(Exception):
    """The embedder made no vectors. What was written before is kept."""


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

    The model runs outside of any transaction, and every chunk is kept: whoever comes next goes on where this one
    stopped. Ends at ``until``, an instant of ``monotonic``. ``note`` is told the number of each chunk.
    ``newest_first`` is for the worker: what is new is found soonest, and a command that fills from the other end
    hardly does the same work. Raises :class:`EmbedderFailed`.
    """
    written = 0
    size = min(CHUNK, FIRST_CHUNK)
    for missing, write in (
        (index.facts_missing_vectors, index.write_fact_vectors),
        (index.passages_missing_vectors, index.write_passage_vectors),
    ):
        while until is None or monotonic() < until:
            started = monotonic()
            with account_transaction(account_id):
                rows = missing(account_id, space=space, limit=size, newest_first=newest_first)
            if not rows:
                break
            vectors = embedding.try_embed([text for _, text in rows], by=provider, account_id=account_id)
            if vectors is None:
                raise EmbedderFailed
            with account_transaction(account_id):
                done = write(account_id, vectors=[(row[0], v) for row, v in zip(rows, vectors, strict=True)])
            written += done
            if note is not None:
                note(done)
            if not done:  # all of them are being changed by somebody else
                break
            size = _next_size(len(rows), seconds=monotonic() - started)
    return written


def _next_size(size: int, *, seconds: float) -> int:
    """Return how many texts of that pace are a chunk: with a slow model few, so that little is lost when it stops."""
    return max(1, min(CHUNK, int(size * CHUNK_SECONDS / max(seconds, 1e-9))))


def fill_missing_everywhere(*, seconds: float | None = None) -> int:
    """Do a round of :func:`fill` for every account; return the number of vectors written.

    It takes about ``seconds``, by default a third of what a background task may: the next one is a minute later.

    Vectors of the space that serves come first. The space that the settings ask for is filled too, and begins to serve
    as soon as nothing is missing in it, unless a younger process asks for another.
    """
    asked_for, reading = embedding.provider(), embedding.reading()
    wanted = embedding.note_asked_for()
    if asked_for is None or wanted is None:
        return 0
    until = monotonic() + (settings.MEMORY_TASK_SECONDS / 3 if seconds is None else seconds)
    written = 0
    if reading is not None and reading is not asked_for:
        written += _fill_all(reading, embedding.space(reading.identity), until=until)
    written += _fill_all(asked_for, wanted, until=until)
    if reading is not asked_for and embedding.is_asked_for_last(wanted) and missing_everywhere(wanted) == 0:
        embedding.serve(wanted)
    return written


def missing_everywhere(space: Space) -> int:
    """Count the vectors that are missing in ``space``, in all accounts, and note the number."""
    total = sum(missing_by_account(space).values())
    embedding.note_missing(space, total)
    return total


def missing_by_account(space: Space) -> dict[uuid.UUID, int]:
    """Return how many vectors are missing in ``space`` for each account that lacks any, the oldest account first."""
    found = {}
    for account_id in account_ids():
        with account_transaction(account_id):
            count = index.count_missing_vectors(account_id, space=space)
        if count:
            found[account_id] = count
    return found


def _fill_all(provider: EmbeddingProvider, space: Space, *, until: float) -> int:
    """Fill all accounts until the embedder fails or the time is up; note what is left."""
    written = 0
    try:
        for account_id in account_ids():
            written += fill(account_id, provider=provider, space=space, until=until, newest_first=True)
    except EmbedderFailed:
        missing_everywhere(space)
        return written
    if monotonic() < until:
        embedding.note_missing(space, 0)
    else:
        missing_everywhere(space)
    return written
