from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from django.db import OperationalError, connection, connections

from facts import embedding
from facts.audience import Posture, Reader
from facts.models import Account, IndexedUnit
from retrieval.context.question_vector import QuestionVector
from retrieval.embedders.base import EmbeddingUnavailable
from retrieval.outcomes import Deadline, Outcome, OutcomeStatus, ReasonClass
from retrieval.search import running
from retrieval.search.running import Run, interleaved
from retrieval.strategies import registry
from retrieval.strategies.base import Hit, Item, Stage, StrategyQuestion, StrategyUnavailable
from retrieval.visibility import Visibility
from tests.factories import AccountFactory
from tests.retrieval.conftest import WordEmbedder

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Scripted:
    """A strategy that does what a test says."""

    name: str
    does: Callable[[StrategyQuestion, Sequence[Hit]], list[Hit]]
    stage: Stage = Stage.SEED
    needs_vector: bool = False
    reads_text: bool = True
    version: str = "7"
    fits: bool = True
    asked: list[StrategyQuestion] = field(default_factory=list)

    def applies(self, question: StrategyQuestion) -> bool:
        return self.fits

    def find(self, question: StrategyQuestion, *, seeds: Sequence[Hit]) -> list[Hit]:
        self.asked.append(question)
        return self.does(question, seeds)


def hit(text: str, score: float = 1.0, *, unit: IndexedUnit = IndexedUnit.FACT) -> Hit:
    return Hit(item=Item(unit, uuid.uuid5(uuid.NAMESPACE_OID, text)), score=score, text=text)


def finds(*hits: Hit) -> Callable[..., list[Hit]]:
    return lambda question, seeds: list(hits)


@pytest.fixture
def tenant(transactional_db: None) -> Account:
    """An account that other connections see."""
    return AccountFactory()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Callable[..., Mapping[str, Run]]]:
    """Run strategies as the only ones there are; whatever a strategy waits for is over when the test is."""

    def ran(account: Account, *strategies: Scripted, deadline: float = 5_000, **changes: Any) -> Mapping[str, Run]:
        by_name = MappingProxyType({strategy.name: strategy for strategy in strategies})
        monkeypatch.setattr(registry, "STRATEGIES", by_name)
        settings.SEARCH_STRATEGIES = changes.pop("enabled", tuple(by_name))
        visible = Visibility(
            account_id=account.id,
            scope_ids=(),
            subject_id=None,
            reader=Reader(posture=Posture.PUBLIC_ONLY),
            at=NOON,
            now=NOON,
        )
        question = StrategyQuestion(**{"text": "tea", "vector": None, "visible": visible, "limit": 8, **changes})
        runs = running.run(
            by_name,
            question,
            vector=QuestionVector(account.id, "tea"),
            deadline=Deadline(milliseconds=deadline),
        )
        return {found.strategy: found for found in runs}

    yield ran
    running._threads(settings.SEARCH_THREADS or 1).shutdown(wait=True)
    running._threads.cache_clear()


Runner = Callable[..., Mapping[str, Run]]
TEA = hit("tea")


def _dropped(run: Run, reason: ReasonClass) -> bool:
    return (run.outcome.status, run.outcome.reason_class, run.hits) == (OutcomeStatus.DROPPED, reason, ())


def test_a_strategy_runs_in_its_account_and_its_time(tenant: Account, run: Runner) -> None:
    seen = {}

    def look(question: StrategyQuestion, seeds: Sequence[Hit]) -> list[Hit]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('app.account'), current_setting('statement_timeout')::interval")
            seen["account"], seen["timeout"] = cursor.fetchone()
        seen["connection"], seen["thread"] = connections["default"], threading.current_thread()
        return [TEA]

    found = run(tenant, Scripted("a", look), deadline=60_000)["a"]
    assert found.hits == [TEA]
    assert (found.outcome.component, found.outcome.status, found.outcome.reason_class, found.outcome.version) == (
        "a",
        OutcomeStatus.COMPLETED,
        None,
        "7",
    )
    assert 0 < found.outcome.elapsed_ms < 60_000
    assert 0 < found.outcome.budget_remaining_ms < 60_000
    assert seen["account"] == str(tenant.id)
    assert 0 < seen["timeout"].total_seconds() <= running.SEED_MS / 1_000
    assert seen["thread"] is not threading.current_thread()
    assert seen["connection"].connection is None, "the connection was given back"


def test_who_sleeps_in_python_is_left_behind(tenant: Account, run: Runner) -> None:
    awake = threading.Event()

    def sleep(question: StrategyQuestion, seeds: Sequence[Hit]) -> list[Hit]:
        awake.wait(10)
        return [hit("late")]

    found = run(tenant, Scripted("sleeper", sleep), Scripted("other", finds(TEA)), deadline=150)
    was_awake = awake.is_set()
    awake.set()
    assert not was_awake
    assert _dropped(found["sleeper"], ReasonClass.TIMEOUT)
    assert found["sleeper"].outcome.budget_remaining_ms == 0
    assert found["other"].hits == [TEA]


def test_who_sleeps_in_the_database_is_cancelled(tenant: Account, run: Runner) -> None:
    ended = threading.Event()
    error: list[Exception] = []

    def sleep(question: StrategyQuestion, seeds: Sequence[Hit]) -> list[Hit]:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(20)")
        except OperationalError as cancelled:
            error.append(cancelled)
            raise
        finally:
            ended.set()
        return []

    found = run(tenant, Scripted("sleeper", sleep), Scripted("other", finds(TEA)), deadline=150)
    assert ended.wait(10)
    assert "statement timeout" in str(error[0])
    assert _dropped(found["sleeper"], ReasonClass.TIMEOUT)
    assert found["other"].hits == [TEA]


def test_a_statement_that_is_cancelled_in_time_is_a_timeout_too(tenant: Account, run: Runner) -> None:
    def slow(question: StrategyQuestion, seeds: Sequence[Hit]) -> list[Hit]:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 1")
            cursor.execute("SELECT pg_sleep(20)")
        return []

    found = run(tenant, Scripted("slow", slow), Scripted("other", finds(TEA)))
    assert _dropped(found["slow"], ReasonClass.TIMEOUT)
    assert found["slow"].outcome.budget_remaining_ms > 0
    assert found["other"].hits == [TEA]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("broken"), ReasonClass.PROVIDER_ERROR),
        (StrategyUnavailable("no model"), ReasonClass.DEPENDENCY_UNAVAILABLE),
        (OperationalError("the server is gone"), ReasonClass.DEPENDENCY_UNAVAILABLE),
        (EmbeddingUnavailable("down"), ReasonClass.PROVIDER_ERROR),
    ],
)
@pytest.mark.parametrize("threads", [0, 2])
def test_who_raises_is_dropped_with_the_reason(
    tenant: Account, run: Runner, settings: Any, threads: int, error: Exception, reason: ReasonClass
) -> None:
    settings.SEARCH_THREADS = threads

    def fail(question: StrategyQuestion, seeds: Sequence[Hit]) -> list[Hit]:
        raise error

    found = run(tenant, Scripted("broken", fail), Scripted("other", finds(TEA)))
    assert _dropped(found["broken"], reason)
    assert found["other"].hits == [TEA]


def test_a_database_error_of_one_strategy_is_its_own(tenant: Account, run: Runner, settings: Any) -> None:
    settings.SEARCH_THREADS = 0

    def wrong(question: StrategyQuestion, seeds: Sequence[Hit]) -> list[Hit]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
        return []

    found = run(tenant, Scripted("wrong", wrong), Scripted("other", finds(TEA)))
    assert _dropped(found["wrong"], ReasonClass.PROVIDER_ERROR)
    assert found["other"].hits == [TEA]


def test_who_finds_no_thread_in_time_never_starts(tenant: Account, run: Runner, settings: Any) -> None:
    settings.SEARCH_THREADS = 1
    awake = threading.Event()

    def wait(question: StrategyQuestion, seeds: Sequence[Hit]) -> list[Hit]:
        awake.wait(10)
        return []

    second = Scripted("second", finds(TEA))
    found = run(tenant, Scripted("first", wait), second, deadline=150)
    awake.set()
    assert _dropped(found["first"], ReasonClass.TIMEOUT)
    assert _dropped(found["second"], ReasonClass.DEADLINE_EXHAUSTED)
    assert found["second"].outcome.elapsed_ms == 0
    running._threads(1).shutdown(wait=True)
    assert second.asked == []


@pytest.mark.parametrize("threads", [0, 2])
def test_after_the_deadline_nothing_starts(tenant: Account, run: Runner, settings: Any, threads: int) -> None:
    settings.SEARCH_THREADS = threads
    seed, expansion = Scripted("seed", finds(TEA)), Scripted("expansion", finds(TEA), stage=Stage.EXPAND)
    found = run(tenant, seed, expansion, deadline=0)
    assert all(_dropped(one, ReasonClass.DEADLINE_EXHAUSTED) for one in found.values())
    assert seed.asked == expansion.asked == []


def test_what_is_switched_off_or_has_nothing_to_go_by_does_not_run(tenant: Account, run: Runner) -> None:
    off, idle = Scripted("off", finds(TEA)), Scripted("idle", finds(TEA), fits=False)
    found = run(tenant, off, idle, Scripted("on", finds(TEA)), enabled=("idle", "on"))
    assert list(found) == ["off", "idle", "on"]
    assert _dropped(found["off"], ReasonClass.DISABLED)
    assert (found["idle"].outcome.status, found["idle"].outcome.reason_class) == (
        OutcomeStatus.NOT_APPLICABLE,
        ReasonClass.APPLICABILITY,
    )
    assert off.asked == idle.asked == []
    assert found["on"].hits == [TEA]


@pytest.mark.parametrize(
    "hits",
    [
        (hit("a", float("nan")),),
        (hit("a", float("inf")),),
        (hit("a", 0.5), hit("a", 0.4)),
        (hit("a", 0.4), hit("b", 0.5)),
        (hit("a", 0.5, unit=IndexedUnit.PASSAGE),),
    ],
)
def test_a_list_that_cannot_be_fused_is_dropped(tenant: Account, run: Runner, hits: tuple[Hit, ...]) -> None:
    found = run(tenant, Scripted("odd", finds(*hits)), units=(IndexedUnit.FACT,))
    assert _dropped(found["odd"], ReasonClass.INVALID_RESULT)


def test_the_least_score_cuts_each_list(tenant: Account, run: Runner) -> None:
    strong, equal, weak = hit("strong", 0.9), hit("equal", 0.5), hit("weak", 0.4)
    found = run(tenant, Scripted("a", finds(strong, equal, weak)), Scripted("b", finds(weak)), min_score=0.5)
    assert found["a"].hits == [strong, equal]
    assert found["b"].hits == []
    assert found["b"].outcome.status is OutcomeStatus.COMPLETED


def test_expansions_start_from_the_seeds_by_rank(tenant: Account, run: Runner) -> None:
    given: list[Sequence[Hit]] = []

    def expand(question: StrategyQuestion, seeds: Sequence[Hit]) -> list[Hit]:
        given.append(seeds)
        return [hit("neighbour")]

    def fail(question: StrategyQuestion, seeds: Sequence[Hit]) -> list[Hit]:
        raise RuntimeError

    one, two, three = hit("one", 0.9), hit("two", 0.8), hit("three", 0.7)
    found = run(
        tenant,
        Scripted("expand", expand, stage=Stage.EXPAND),
        Scripted("a", finds(one, two)),
        Scripted("broken", fail),
        Scripted("b", finds(three, hit("one", 0.6))),
    )
    assert given == [[one, three, two]]
    assert found["expand"].hits == [hit("neighbour")]


def test_interleaving_keeps_the_hit_of_the_earlier_list() -> None:
    here, there = hit("same", 0.9), hit("same", 0.2)
    outcome = Outcome(component="any", status=OutcomeStatus.COMPLETED)
    lists = [
        Run(strategy=name, reads_text=True, outcome=outcome, hits=hits)
        for name, hits in (("a", [here]), ("b", [hit("other"), there]))
    ]
    assert interleaved(lists) == [here, hit("other")]


def test_the_vector_is_made_for_who_needs_it_before_a_transaction_is_opened(
    tenant: Account, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_transaction: list[bool] = []

    class Watching(WordEmbedder):
        def embed_query(self, text: str) -> np.ndarray:
            in_transaction.append(connection.in_atomic_block)
            return super().embed_query(text)

    embedding.register(Watching())
    needs = Scripted("needs", finds(TEA), needs_vector=True)
    goes_without = Scripted("goes_without", finds(TEA))
    expands = Scripted("expands", finds(TEA), stage=Stage.EXPAND)
    run(tenant, needs, goes_without, expands)
    assert in_transaction == [False]
    assert needs.asked[0].vector.identity == WordEmbedder.identity
    assert goes_without.asked[0].vector is None
    assert expands.asked[0].vector is needs.asked[0].vector


def test_without_an_embedder_only_who_needs_it_is_dropped(tenant: Account, run: Runner) -> None:
    embedding.register(None)
    found = run(tenant, Scripted("needs", finds(TEA), needs_vector=True), Scripted("other", finds(TEA)))
    assert _dropped(found["needs"], ReasonClass.DEPENDENCY_UNAVAILABLE)
    assert found["other"].hits == [TEA]


def test_an_embedder_that_is_down_is_a_provider_error(tenant: Account, run: Runner) -> None:
    class Down(WordEmbedder):
        def embed_query(self, text: str) -> np.ndarray:
            raise ConnectionError("refused")

    embedding.register(Down())
    found = run(tenant, Scripted("needs", finds(TEA), needs_vector=True), Scripted("other", finds(TEA)))
    assert _dropped(found["needs"], ReasonClass.PROVIDER_ERROR)
    assert found["other"].hits == [TEA]


@pytest.mark.parametrize("bounded", [True, False])
def test_an_embedder_that_sleeps_keeps_nobody_waiting(tenant: Account, run: Runner, bounded: bool) -> None:
    awake = threading.Event()
    makes_its_own_time = bounded

    class Sleeping(WordEmbedder):
        bounded = makes_its_own_time

        def embed_query(self, text: str) -> np.ndarray:
            awake.wait(10)
            return super().embed_query(text)

    embedding.register(Sleeping())
    found = run(tenant, Scripted("needs", finds(TEA), needs_vector=True), Scripted("other", finds(TEA)), deadline=150)
    was_awake = awake.is_set()
    awake.set()
    assert not was_awake
    assert _dropped(found["needs"], ReasonClass.TIMEOUT)
    assert found["other"].hits == [TEA]


def test_more_strategies_than_threads_all_run(tenant: Account, run: Runner, settings: Any) -> None:
    settings.SEARCH_THREADS = 2
    strategies = [Scripted(f"s{number}", finds(hit(str(number)))) for number in range(9)]
    found = run(tenant, *strategies)
    assert [one.hits for one in found.values()] == [[hit(str(number))] for number in range(9)]


def test_a_deadline_never_goes_below_nothing() -> None:
    deadline = Deadline(milliseconds=-5)
    assert (deadline.remaining_ms, deadline.passed) == (0.0, True)
    later = Deadline(milliseconds=60_000)
    assert 0 < later.within(milliseconds=50).remaining_ms <= 50
    assert later.within(milliseconds=120_000).remaining_ms <= 60_000
    assert 59_000 < later.earlier(milliseconds=500).remaining_ms <= 59_500
