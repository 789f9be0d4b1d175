"""Searches as they run: strategies on connections of their own, several searches at a time, nothing left behind."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import connection, connections

from facts.models import Account
from facts.tenancy import account_transaction
from governance.access import Principal
from retrieval.models import Trace
from retrieval.search import running
from retrieval.search.answer import SearchAnswer
from retrieval.search.request import SearchRequest
from retrieval.search.searching import search
from retrieval.strategies.base import Hit, StrategyQuestion
from retrieval.strategies.lexical import Lexical
from tests.database import owner_parameters
from tests.factories import JANUARY, MARCH, MAY, AccountFactory, FactFactory, SubjectFactory, key_principal, say
from tests.retrieval.conftest import index_vectors

STATEMENTS = [
    ("Green tea in the morning.", JANUARY),
    ("Green tea in the evening.", MARCH),
    ("Black tea.", MARCH),
    ("Black tea.", MAY),
    ("Tea with milk.", MARCH),
    ("Tea with lemon.", MARCH),
    ("Tea with honey.", MARCH),
    ("Hills.", MAY),
]


@pytest.fixture
def tenant(transactional_db: None) -> Iterator[Account]:
    """An account that other connections see."""
    yield AccountFactory()
    running._threads.cache_clear()


def _stored(account: Account, order: Sequence[int], *, key: str = "ana") -> Principal:
    """Store the statements about a new subject in the order given, and return a key that reads as it."""
    with account_transaction(account.id):
        ana = SubjectFactory(account=account, key=key, name="Ana")
        said = say(ana, "Nothing.")
        for number in order:
            statement, moment = STATEMENTS[number]
            FactFactory(subject=ana, statement=statement, valid_from=moment, event=said)
            say(ana, f"I say {statement}", occurred_at=moment)
        index_vectors(account)
        return key_principal(account)


def _asked(principal: Principal, query: str = "green tea", *, key: str = "ana", **changes: Any) -> SearchAnswer:
    request = {"scope_path": "/support", "exact": True, "subject_key": key, "query": query, "limit": 100, **changes}
    return search(principal=principal, request=SearchRequest(**request))


def _content(answer: SearchAnswer) -> list[tuple[Any, ...]]:
    """Return all that an answer serves and nothing that is random."""
    return [
        (found.unit, found.text, found.fusion_score, dict(found.strategies), found.content.score)
        + ((found.fact.valid_from,) if found.fact else (found.passage.occurred_at,))
        for found in answer.results
    ]


def test_strategies_search_side_by_side(tenant: Account) -> None:
    principal = _stored(tenant, range(len(STATEMENTS)))
    answer = _asked(principal, as_of=None)
    assert answer.contributed == ["semantic", "lexical"]
    assert answer.dropped == []
    assert [found.text for found in answer.results][:2] == ["Green tea in the evening.", "Green tea in the morning."]
    with account_transaction(tenant.id):
        assert Trace.objects.get().considered == len(answer.decisions)


def test_the_same_store_gives_the_same_answer_whatever_the_order_of_its_rows(tenant: Account) -> None:
    principal = _stored(tenant, range(len(STATEMENTS)))
    queries = ["green tea", "tea", "milk or lemon", '"black tea"', "What about hills?"]
    before = [_content(_asked(principal, query)) for query in queries]
    with psycopg.connect(**owner_parameters(), autocommit=True) as owner:
        for table in ("facts_fact", "facts_facttext", "facts_factvector", "facts_passagetext", "facts_passagevector"):
            owner.execute(f"CLUSTER {table} USING {table}_pkey")
            owner.execute(f"VACUUM FULL {table}")
    assert [_content(_asked(principal, query)) for query in queries] == before
    assert all(before)
    for seed in range(3):
        order = list(range(len(STATEMENTS)))
        random.Random(seed).shuffle(order)
        key = f"ana-{seed}"
        again = _stored(tenant, order, key=key)
        assert [_content(_asked(again, query, key=key)) for query in queries] == before


def test_more_searches_than_threads_are_all_answered(tenant: Account, settings: Any) -> None:
    settings.SEARCH_THREADS = 2
    principal = _stored(tenant, range(len(STATEMENTS)))
    expected = [found.text for found in _asked(principal, profile="thorough").results]

    def ask(_: int) -> tuple[list[str], list[str]]:
        try:
            answer = _asked(principal, profile="thorough")
            return [found.text for found in answer.results], list(answer.dropped)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as callers:
        answers = list(callers.map(ask, range(12)))
    assert expected
    assert answers == [(expected, [])] * 12


def test_no_connection_is_left_behind(tenant: Account) -> None:
    principal = _stored(tenant, range(len(STATEMENTS)))
    # Threads of other tests may still hold theirs, and the server has workers of its own.
    before = _connections()
    _asked(principal)
    for _ in range(50):
        left = _connections() - before
        if not left:
            break
        time.sleep(0.02)
    assert left == set()


def _connections() -> set[int]:
    """Return the clients connected to this database, by the ids of their server processes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
        )
        return {pid for (pid,) in cursor.fetchall()}


def test_a_late_strategy_costs_its_own_results_only(tenant: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    principal = _stored(tenant, range(len(STATEMENTS)))
    awake = threading.Event()

    def sleep(self: Lexical, question: StrategyQuestion, *, seeds: Sequence[Hit]) -> list[Hit]:
        awake.wait(10)
        return []

    monkeypatch.setattr(Lexical, "find", sleep)
    answer = _asked(principal)
    was_awake = awake.is_set()
    awake.set()
    assert not was_awake
    assert answer.contributed == ["semantic"]
    assert (answer.dropped, answer.degraded_components) == (["lexical"], ["lexical"])
    assert answer.pre_rerank_remaining_ms == 0
    # The facts, what was said of them, and the message that they cite.
    assert len(answer.results) == 2 * len(STATEMENTS) + 1


@pytest.mark.parametrize("number", [0, 1, 8])
def test_the_threads_are_those_of_the_setting(tenant: Account, settings: Any, number: int) -> None:
    settings.SEARCH_THREADS = number
    principal = _stored(tenant, [0])
    seen: set[str] = set()
    find = Lexical.find

    def watch(self: Lexical, question: StrategyQuestion, *, seeds: Sequence[Hit]) -> list[Hit]:
        seen.add(threading.current_thread().name.split("_")[0])
        return find(self, question, seeds=seeds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lexical, "find", watch)
        _asked(principal)
    assert seen == {"search"} if number else {threading.current_thread().name}
