"""The strategies that read index tables stay inside their covering indexes until they know what they found."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection

from facts.clock import now
from facts.embedding import Embedded
from facts.models import IndexedUnit
from facts.tenancy import account_transaction
from retrieval.outcomes import Deadline
from retrieval.search import running
from retrieval.strategies.base import Strategy, StrategyQuestion
from retrieval.strategies.lexical import Lexical
from retrieval.strategies.semantic import Semantic
from retrieval.strategies.temporal import Temporal
from retrieval.visibility import Visibility
from tests.database import owner_parameters
from tests.retrieval.conftest import WordEmbedder
from tests.retrieval.test_candidates import Sent, two_accounts

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["two_accounts"]


def _scans(plan: dict[str, Any]) -> set[tuple[str, str]]:
    found = (
        {(plan["Node Type"], plan.get("Index Name", plan.get("Relation Name", "")))}
        if plan.get("Relation Name") or plan["Node Type"] == "Bitmap Index Scan"
        else set()
    )
    return found.union(*(_scans(child) for child in plan.get("Plans", [])))


_BY_VECTOR = {("Index Only Scan", "{unit}_vector_cover")}
_BY_KEYS = {("Bitmap Heap Scan", "facts_{unit}text"), ("Bitmap Index Scan", "facts_{unit}text_keys")}


@pytest.mark.parametrize(
    ("strategy", "way", "asked"),
    [(Semantic(), _BY_VECTOR, {}), (Lexical(), _BY_KEYS, {}), (Temporal(), _BY_KEYS, {"as_of": now()})],
)
def test_a_search_goes_by_its_index_and_reads_what_it_found_by_its_key(
    two_accounts: list[Visibility],
    embedder: WordEmbedder,
    strategy: Strategy,
    way: set[tuple[str, str]],
    asked: dict[str, Any],
) -> None:
    with psycopg.connect(**owner_parameters(), autocommit=True) as owner:
        owner.execute("ANALYZE facts_fact")
    found = []
    for visible in two_accounts:
        with account_transaction(visible.account_id, local=running.bounds(Deadline(milliseconds=10_000))):
            question = StrategyQuestion(
                text="tea of Ana",
                vector=Embedded(embedder.identity, embedder.embed_query("tea of Ana")),
                visible=visible,
                limit=64,
                **asked,
            )
            strategy.find(question, seeds=())
            sent = Sent()
            with connection.execute_wrapper(sent):
                found.append({hit.item for hit in strategy.find(question, seeds=())})
            searches = [plan for plan in sent.plans() if "facts_fact" in str(plan) or "facts_passage" in str(plan)]
        scans = set().union(*map(_scans, searches))
        for unit in IndexedUnit:
            expected = {(kind, name.format(unit=unit)) for kind, name in way}
            assert expected <= scans
            assert ("Index Scan", f"facts_{unit}_pkey") in scans
            scans -= expected
        assert not {kind for kind, _ in scans} & {"Seq Scan", "Bitmap Heap Scan"}, scans
    assert [len(items) for items in found] == [128, 128]
    assert found[0].isdisjoint(found[1])
