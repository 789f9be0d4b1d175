"""Running strategies: the seeds side by side, then the expansions, under one wall-clock deadline.

Each runs on a thread of a bounded pool, in an account transaction and on a connection of its own, and each of its
statements may take what was left when it began. Who is late is left out, never tried again, and reported; the rest
answers in time whether the late one sleeps in Python or in the database. A late thread goes on until its statement
is cancelled, and its result is thrown away.

With ``SEARCH_THREADS`` 0 they run one after another on the caller's connection; a strategy that sleeps in Python then
delays the answer.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from psycopg.errors import QueryCanceled

from facts.tenancy import account_transaction
from retrieval.context.question_vector import QuestionVector
from retrieval.embedders.base import EmbeddingUnavailable
from retrieval.outcomes import Deadline, Outcome, OutcomeStatus, ReasonClass
from retrieval.strategies import registry
from retrieval.strategies.base import Hit, Item, Stage, Strategy, StrategyQuestion, StrategyUnavailable

#: Most that the seeds together may take, so that in a long search something is left for the expansions.
SEED_MS = 750

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One strategy of a search: what became of it and, where it ran to its end, what it found, best first."""

    strategy: str
    reads_text: bool
    outcome: Outcome
    hits: Sequence[Hit] = ()

    @property
    def completed(self) -> bool:
        """Whether the list counts, also when it is empty."""
        return self.outcome.status is OutcomeStatus.COMPLETED


def run(names: Iterable[str], question: StrategyQuestion, *, vector: QuestionVector, deadline: Deadline) -> list[Run]:
    """Run the strategies ``names`` and return what became of each, in the same order."""
    chosen = [registry.STRATEGIES[name] for name in names]
    until = deadline.within(milliseconds=SEED_MS)
    seeds = _stage(
        _Attempt(strategy=strategy, question=question, seeds=(), vector=vector, until=until, deadline=deadline)
        for strategy in chosen
        if strategy.stage is Stage.SEED
    )
    found = interleaved(seeds.values())
    expansions = _stage(
        _Attempt(strategy=strategy, question=question, seeds=found, vector=vector, until=deadline, deadline=deadline)
        for strategy in chosen
        if strategy.stage is Stage.EXPAND
    )
    done = seeds | expansions
    return [done[strategy.name] for strategy in chosen]


def interleaved(runs: Iterable[Run]) -> list[Hit]:
    """Return the hits of all lists by rank, the first of each list first; each item once."""
    lists = [found.hits for found in runs if found.hits]
    by_rank = [hits[rank] for rank in range(max(map(len, lists), default=0)) for hits in lists if rank < len(hits)]
    first: dict[Item, Hit] = {}
    for hit in by_rank:
        first.setdefault(hit.item, hit)
    return list(first.values())


def bounds(deadline: Deadline) -> dict[str, str]:
    """Return the settings of a transaction whose statements may take what is left, one millisecond at least.

    Without sequential scans the plan that suits a large scope is also kept for a small one, where it costs nothing.
    """
    return {
        "statement_timeout": str(max(1, math.ceil(deadline.remaining_ms))),
        "synchronous_commit": "off",
        "enable_seqscan": "off",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One strategy about to run. ``until`` is when its stage ends, ``deadline`` when all of them do."""

    strategy: Strategy
    question: StrategyQuestion
    seeds: Sequence[Hit]
    vector: QuestionVector
    until: Deadline
    deadline: Deadline
    made: float = field(default_factory=time.monotonic)

    def obstacle(self) -> Run | None:
        """Return what became of a strategy that is not to run at all."""
        if self.strategy.name not in settings.SEARCH_STRATEGIES:
            return self.left_out(ReasonClass.DISABLED)
        if not self.strategy.applies(self.question):
            return self._run(OutcomeStatus.NOT_APPLICABLE, ReasonClass.APPLICABILITY)
        return None

    def run(self) -> Run:
        """Run the strategy; whatever happens, say what became of it."""
        if self.until.passed:
            return self.left_out(ReasonClass.DEADLINE_EXHAUSTED)
        started = time.monotonic()
        try:
            hits = self._find()
        except Exception as error:
            reason = _reason(error, self.until)
            if reason is ReasonClass.PROVIDER_ERROR:
                extra = {"strategy": self.strategy.name, "error_class": type(error).__name__}
                logger.warning("strategy_failed", extra=extra)
            return self.left_out(reason, since=started)
        if not _valid(hits, self.question):
            return self.left_out(ReasonClass.INVALID_RESULT, since=started)
        return self._run(OutcomeStatus.COMPLETED, None, since=started, hits=_cut(hits, self.question.min_score))

    def on_own_connection(self) -> Run:
        """Run the strategy and give the thread's connection back, to the pool where there is one."""
        try:
            return self.run()
        finally:
            connection.close()

    def collected(self, future: Future[Run]) -> Run:
        """Return what the thread has to say; when it is late, that it is late."""
        if future.cancel():
            return self.left_out(ReasonClass.DEADLINE_EXHAUSTED)
        if not future.done():
            return self.left_out(ReasonClass.TIMEOUT, since=self.made)
        if future.exception() is not None:
            return self.left_out(ReasonClass.PROVIDER_ERROR, since=self.made)
        return future.result()

    def left_out(self, reason: ReasonClass, *, since: float | None = None) -> Run:
        """Return that the strategy was dropped."""
        return self._run(OutcomeStatus.DROPPED, reason, since=since)

    def _find(self) -> Sequence[Hit]:
        question = self.question
        if self.strategy.needs_vector:
            question = replace(question, vector=self.vector.make(seconds=self.until.remaining_ms / 1000))
        elif self.strategy.stage is Stage.EXPAND:
            question = replace(question, vector=self.vector.made)
        with account_transaction(question.visible.account_id, local=bounds(self.until)):
            return self.strategy.find(question, seeds=self.seeds)

    def _run(
        self,
        status: OutcomeStatus,
        reason: ReasonClass | None,
        *,
        since: float | None = None,
        hits: Sequence[Hit] = (),
    ) -> Run:
        outcome = Outcome(
            component=self.strategy.name,
            status=status,
            reason_class=reason,
            elapsed_ms=0.0 if since is None else round((time.monotonic() - since) * 1000, 2),
            budget_remaining_ms=round(self.deadline.remaining_ms, 2),
            version=self.vector.embedder if self.strategy.needs_vector else self.strategy.version,
        )
        return Run(strategy=self.strategy.name, reads_text=self.strategy.reads_text, outcome=outcome, hits=hits)


def _stage(attempts: Iterable[_Attempt]) -> dict[str, Run]:
    """Run one stage and return what became of each of its strategies."""
    done: dict[str, Run] = {}
    ready: list[_Attempt] = []
    for attempt in attempts:
        obstacle = attempt.obstacle()
        if obstacle is None:
            ready.append(attempt)
        else:
            done[attempt.strategy.name] = obstacle
    if settings.SEARCH_THREADS == 0:
        return done | {attempt.strategy.name: attempt.run() for attempt in ready}
    threads = _threads(settings.SEARCH_THREADS)
    futures = [threads.submit(attempt.on_own_connection) for attempt in ready]
    if ready:
        wait(futures, timeout=ready[0].until.remaining_ms / 1000)
    collected = [attempt.collected(future) for attempt, future in zip(ready, futures, strict=True)]
    return done | {run.strategy: run for run in collected}


@lru_cache
def _threads(number: int) -> ThreadPoolExecutor:
    """Return the process's threads for strategies; made on first use."""
    return ThreadPoolExecutor(number, thread_name_prefix="search")


# A fork copies the pool but not its threads.
os.register_at_fork(after_in_child=_threads.cache_clear)


def _reason(error: Exception, until: Deadline) -> ReasonClass:
    """Return the class of a strategy's failure."""
    match error:
        case StrategyUnavailable():
            return ReasonClass.DEPENDENCY_UNAVAILABLE
        case EmbeddingUnavailable():
            return ReasonClass.TIMEOUT if until.passed else ReasonClass.PROVIDER_ERROR
        case OperationalError() if isinstance(error.__cause__, QueryCanceled):
            return ReasonClass.TIMEOUT
        case OperationalError() | InterfaceError():
            return ReasonClass.DEPENDENCY_UNAVAILABLE
    return ReasonClass.PROVIDER_ERROR


def _valid(hits: Sequence[Hit], question: StrategyQuestion) -> bool:
    """Tell whether a list can be fused: falling scores that are numbers, each item once, of units asked for."""
    numbers = all(math.isfinite(hit.score) and hit.item.unit in question.units for hit in hits)
    falling = all(before.score >= after.score for before, after in pairwise(hits))
    return numbers and falling and len({hit.item for hit in hits}) == len(hits)


def _cut(hits: Sequence[Hit], min_score: float | None) -> Sequence[Hit]:
    """Return the hits without those below the least score asked for."""
    return hits if min_score is None else [hit for hit in hits if hit.score >= min_score]
