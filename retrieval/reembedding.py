"""Making all vectors anew for another embedder, while reads go on with the vectors that are there."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic, sleep

from facts import embedding, index, long_jobs, refused_texts
from facts.actors import system
from facts.embedding import EmbeddingProvider, Space
from facts.models import EmbeddingSpace
from facts.tenancy import account_transaction
from retrieval import vectors

#: Vectors deleted in one transaction.
DROP_CHUNK = 2_000
#: Kind of long work (``facts.long_jobs``): the vectors of one account.
REEMBED = "reembed"
#: Rounds over all accounts: in each, only what was written or locked during the one before is left.
MAX_ROUNDS = 5


class NotComplete(Exception):
    """Vectors are still missing, and the space that served goes on to; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What there is to do: the embedder asked for, its space, and what is missing there by account."""

    provider: EmbeddingProvider
    space: Space
    missing: Mapping[uuid.UUID, int]
    serves: bool

    @property
    def total(self) -> int:
        """Vectors missing in all accounts."""
        return sum(self.missing.values())


@dataclass(slots=True)
class Progress:
    """How far a run has got."""

    total: int
    started: float
    written: int = 0

    def rate(self) -> float:
        """Return vectors a second since the start."""
        return self.written / max(monotonic() - self.started, 1e-9)

    def seconds_left(self) -> float | None:
        """Return how long the rest will take at this rate; ``None`` before anything is known of it."""
        return max(0, self.total - self.written) / self.rate() if self.written else None


def plan() -> Plan | None:
    """Return what a run would do; ``None`` where the settings ask for no vectors. Writes no vector."""
    provider = embedding.provider()
    if provider is None:
        return None
    embedding.look_again()
    space = embedding.space(provider.identity)
    return Plan(
        provider=provider,
        space=space,
        missing=vectors.missing_by_account(space),
        serves=embedding.reading() is provider,
    )


def run(planned: Plan, *, note: Callable[[Progress], None]) -> Progress:
    """Write every missing vector, oldest first, then let the new space serve; ``note`` is told of each chunk.

    What is written meanwhile is found in the space that served, and gets its new vector in a further round: before the
    switch, and once more after it. May be stopped at any moment and run again. Raises :class:`NotComplete`, and
    ``long_jobs.CancelAsked`` when somebody ended the work of an account.
    """
    embedding.note_asked_for()
    progress = Progress(total=planned.total, started=monotonic())

    def count(written: int) -> None:
        progress.written += written
        note(progress)

    _fill_recorded(planned, count)
    for _ in range(MAX_ROUNDS):
        left = vectors.missing_everywhere(planned.space)
        if left == 0:
            break
        _fill(planned, count)
    else:
        raise NotComplete(f"{left:,} vectors are still missing: they are changed while they are read; run it again")
    if not planned.serves:
        embedding.serve(planned.space)
        _fill(planned, count)
    return progress


def others(serving: Space) -> list[EmbeddingSpace]:
    """Return the spaces whose vectors nobody reads, the oldest first."""
    return list(EmbeddingSpace.objects.exclude(pk=serving.id).order_by("pk"))


def wait_until_noticed() -> None:
    """Wait until every process reads in the space that serves now, so that the vectors of others can go."""
    sleep(2 * embedding.NOTICE_SECONDS)


def drop(unused: Space) -> int:
    """Delete the vectors of a space that does not serve, in every account; return how many there were."""
    dropped = 0
    for account_id in vectors.account_ids():
        while True:
            with account_transaction(account_id):
                done = index.drop_vectors(account_id, space=unused, limit=DROP_CHUNK)
                refused_texts.forget_space(account_id, space=unused)
            dropped += done
            if not done:
                break
    embedding.forget_missing(unused)
    return dropped


def _fill_recorded(planned: Plan, count: Callable[[int], None]) -> None:
    """Fill the accounts that lack vectors, each with a record of its progress."""
    for account_id, missing in planned.missing.items():
        title = planned.provider.identity.model
        with long_jobs.working(account_id, kind=REEMBED, title=title, total=missing, actor=system(REEMBED)) as work:
            _fill_one(planned, account_id, _both(count, work))


def _both(count: Callable[[int], None], work: long_jobs.Run) -> Callable[[int], None]:
    before = work.job.done

    def note(written: int) -> None:
        nonlocal before
        before += written
        count(written)
        work.advance(before)

    return note


def _fill(planned: Plan, count: Callable[[int], None]) -> None:
    for account_id in vectors.account_ids():
        _fill_one(planned, account_id, count)


def _fill_one(planned: Plan, account_id: uuid.UUID, count: Callable[[int], None]) -> None:
    try:
        vectors.fill(account_id, provider=planned.provider, space=planned.space, note=count)
    except vectors.EmbedderFailed:
        raise NotComplete("the embedder failed; the log says how. What was written is kept: run it again") from None
