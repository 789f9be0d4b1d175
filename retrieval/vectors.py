"""Making up for vectors that could not be made when a fact or passage was written, and for those of a new embedder.

Vectors are missing in two spaces at most: the one that serves, and the one that the settings ask for. When nothing is
missing in the second any more, it begins to serve.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

from django.conf import settings

from facts import embedding, index, isolation, refused_texts
from facts.embedding import Embedded, EmbeddingProvider, Space
from facts.isolation import Incomplete
from facts.models import Account, IndexedUnit
from facts.tenancy import account_transaction

logger = logging.getLogger(__name__)

#: Most texts embedded between two transactions, and how many are at first, while the model's pace is not known.
CHUNK, FIRST_CHUNK = 100, 10
#: Seconds of work that a chunk should be.
CHUNK_SECONDS = 5.0


#: What any embedder makes a vector of that makes any.
PROBE = "ready"


class EmbedderFailed(Exception):
    """The embedder makes no vectors of anything now. What was written before is kept."""


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
    stopped. A text that the embedder refuses is noted as such and left out (``facts.refused_texts``).

    Ends at ``until``, an instant of ``monotonic``. ``note`` is told the number of each chunk.
    ``newest_first`` is for the worker: what is new is found soonest, and a command that fills from the other end
    hardly does the same work. Raises :class:`EmbedderFailed`.
    """
    written = 0
    size = min(CHUNK, FIRST_CHUNK)
    left = set(IndexedUnit)
    for unit, missing, write in (
        (IndexedUnit.FACT, index.facts_missing_vectors, index.write_fact_vectors),
        (IndexedUnit.PASSAGE, index.passages_missing_vectors, index.write_passage_vectors),
    ):
        while until is None or monotonic() < until:
            started = monotonic()
            with account_transaction(account_id):
                rows = missing(account_id, space=space, limit=size, newest_first=newest_first)
            if not rows:
                left.remove(unit)
                break
            made = _embed(rows, provider=provider, account_id=account_id)
            with account_transaction(account_id):
                done = write(account_id, vectors=made.vectors)
                refused_texts.forget(account_id, unit, [row_id for row_id, _ in made.vectors], space=space)
                if made.refused:
                    refused_texts.note(account_id, unit, made.refused, space=space)
            written += done
            if note is not None:
                note(done)
            if made.failed:
                raise EmbedderFailed
            if not done and not made.refused:  # all of them are being changed by somebody else
                break
            size = _next_size(len(rows), seconds=monotonic() - started)
    if not left:
        with account_transaction(account_id):
            refused_texts.forget_gone(account_id, space=space)
    return written


@dataclass(slots=True)
class _Made:
    """What an embedder made of some texts: vectors, refusals, and whether it ``failed`` before the last."""

    vectors: list[tuple[uuid.UUID, Embedded]] = field(default_factory=list)
    refused: list[uuid.UUID] = field(default_factory=list)
    failed: bool = False


def _embed(rows: Sequence[tuple[uuid.UUID, str]], *, provider: EmbeddingProvider, account_id: uuid.UUID) -> _Made:
    """Return the vectors of some texts; when the embedder makes none of all of them, of each by itself.

    A text is refused by an embedder that makes a vector of :data:`PROBE` right after it made none of the text.
    """

    def embed(texts: list[str]) -> list[Embedded] | None:
        return embedding.try_embed(texts, by=provider, account_id=account_id)

    vectors = embed([text for _, text in rows])
    if vectors is not None:
        return _Made(vectors=[(row_id, vector) for (row_id, _), vector in zip(rows, vectors, strict=True)])
    made = _Made(failed=embed([PROBE]) is None)
    for row_id, text in rows:
        if made.failed:
            break
        alone = embed([text])
        if alone is not None:
            made.vectors.append((row_id, alone[0]))
        elif embed([PROBE]) is None:
            made.failed = True
        else:
            made.refused.append(row_id)
    if made.refused:
        logger.warning("texts_refused", extra={"account": str(account_id), "count": len(made.refused)})
    return made


def _next_size(size: int, *, seconds: float) -> int:
    """Return how many texts of that pace are a chunk: with a slow model few, so that little is lost when it stops."""
    return max(1, min(CHUNK, int(size * CHUNK_SECONDS / max(seconds, 1e-9))))


def fill_missing_everywhere(*, seconds: float | None = None) -> int:
    """Do a round of :func:`fill` for every account; return the number of vectors written.

    It takes about ``seconds``, by default a third of what a background task may: the next one is a minute later.

    Vectors of the space that serves come first. The space that the settings ask for is filled too, and begins to serve
    as soon as nothing is missing in it but of refused texts, unless a younger process asks for another. Raises
    ``isolation.Incomplete`` when the work for an account failed, after doing all the rest.
    """
    asked_for, reading = embedding.provider(), embedding.reading()
    wanted = embedding.note_asked_for()
    if asked_for is None or wanted is None:
        return 0
    until = monotonic() + (settings.MEMORY_TASK_SECONDS / 3 if seconds is None else seconds)
    written = 0
    incomplete: Incomplete | None = None
    rounds = [(asked_for, wanted)]
    if reading is not None and reading is not asked_for:
        rounds.insert(0, (reading, embedding.space(reading.identity)))
    for provider, space in rounds:
        try:
            written += _fill_all(provider, space, until=until)
        except Incomplete as error:
            incomplete = error
    if reading is not asked_for and embedding.is_asked_for_last(wanted) and missing_everywhere(wanted) == 0:
        embedding.serve(wanted)
    if incomplete is not None:
        raise incomplete
    return written


def missing_everywhere(space: Space) -> int:
    """Count the vectors that are missing in ``space`` but for refused texts, in all accounts, and note the number."""
    total = sum(missing_by_account(space).values())
    embedding.note_missing(space, total, refused=refused_everywhere(space))
    return total


def refused_everywhere(space: Space) -> int:
    """Return how many texts the embedder of ``space`` refuses, in all accounts."""
    total = 0
    for account_id in account_ids():
        with account_transaction(account_id):
            total += refused_texts.count(account_id, space=space)
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
    """Fill all accounts until the embedder fails or the time is up; note what is left. Raises ``Incomplete``."""
    gave_up = complete = False

    def one(account_id: uuid.UUID) -> int:
        nonlocal gave_up
        if gave_up:
            return 0
        try:
            return fill(account_id, provider=provider, space=space, until=until, newest_first=True)
        except EmbedderFailed:
            gave_up = True
            return 0

    try:
        written = isolation.each_account(account_ids(), one, name="write vectors")
        complete = not gave_up and monotonic() < until
    finally:
        if complete:
            embedding.note_missing(space, 0, refused=refused_everywhere(space))
        else:
            missing_everywhere(space)
    return written
