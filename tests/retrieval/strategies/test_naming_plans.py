"""The strategies that go by names stay on their indexes in a large corpus, and in their account."""

from __future__ import annotations

import uuid
from typing import Any

import psycopg
import pytest
from django.db import connection, connections

from facts import index, tenancy
from facts.ids import new_id
from facts.models import Account, Fact
from facts.tenancy import account_transaction
from retrieval.entities import rebuilding
from retrieval.models import Mention
from retrieval.strategies.base import Hit, StrategyQuestion
from retrieval.strategies.entity_match import EntityMatch
from retrieval.strategies.relation_expand import RelationExpand
from tests.factories import FactFactory, SubjectFactory
from tests.retrieval.strategies.naming import SHARED, World, seed
from tests.retrieval.test_candidates import Sent

pytestmark = pytest.mark.django_db(transaction=True)

FACTS = {"first": 3_000, "second": 300}
#: Each project is named by so many facts, and each fact names one of few teams too.
EACH = 5
TABLES = (
    "facts_facttext",
    "facts_fact",
    "retrieval_mention",
    "retrieval_entityalias",
    "retrieval_entity",
    "retrieval_namesread",
)


def _fill(account: Account, size: int) -> World:
    board = SubjectFactory(account=account, key="board", kind="channel")
    scope = tenancy.ensure_scope(account.id, "/support")
    template = FactFactory.build(subject=board, scope=scope, account=account, **SHARED)
    fields = {field.attname: getattr(template, field.attname) for field in Fact._meta.concrete_fields}
    facts = [
        Fact(**{**fields, "id": new_id(), "statement": f"We ship Pr{n // EACH}x with Team{n % 3}x"})
        for n in range(size)
    ]
    Fact.objects.bulk_create(facts)
    index.write_fact_text(facts)
    return World(account, board, SubjectFactory(account=account, key="reader"))


@pytest.fixture
def worlds() -> list[World]:
    """Facts that name the same in two accounts, many in the first, their names read, vacuumed."""
    rebuilding.forget()
    made = []
    for key, size in FACTS.items():
        account = tenancy.create_account(key=key, name=key)
        with account_transaction(account.id):
            made.append(_fill(account, size))
        while rebuilding.keep(account.id):
            pass
    parameters = connections["owner"].get_connection_params()
    wanted = {name: parameters[name] for name in parameters if name not in {"cursor_factory", "context"}}
    with psycopg.connect(**wanted, autocommit=True) as owner:
        for table in TABLES:
            owner.execute(f"VACUUM ANALYZE {table}")
    return made


def _scanned(sent: Sent) -> set[tuple[str, str]]:
    """Return how each table is read by the statements sent."""
    found = set()

    def visit(plan: dict[str, Any]) -> None:
        if "Relation Name" in plan:
            found.add((plan["Node Type"], plan["Relation Name"]))
        for child in plan.get("Plans", []):
            visit(child)

    for plan in sent.plans():
        visit(plan)
    return found


def _asked(world: World, strategy: Any, question: StrategyQuestion, seeds: list[Hit]) -> tuple[list[Hit], Sent]:
    sent = Sent()
    with connection.execute_wrapper(sent):
        hits = strategy.find(question, seeds=seeds)
    return hits, sent


def test_rare_names_are_found_by_indexes_alone_and_in_their_account(worlds: list[World]) -> None:
    seen: list[set[uuid.UUID]] = []
    for world in worlds:
        with account_transaction(world.account.id):
            assert Mention.objects.count() == 2 * FACTS[world.account.key]
            question = world.asked("who ships pr17x and pr18x?")
            hits, sent = _asked(world, EntityMatch(), question, [])
            assert len(hits) == 2 * EACH
            matched = _scanned(sent)
            start = Fact.objects.get(pk=hits[0].item.id)
            neighbours, sent = _asked(world, RelationExpand(), question, [seed(start)])
            assert len(neighbours) == 10
            expanded = _scanned(sent)
        if world is worlds[0]:
            large = {"facts_fact", "retrieval_mention"}
            assert not {table for how, table in matched | expanded if how == "Seq Scan" and table in large}
            assert ("Index Only Scan", "retrieval_mention") in matched
        seen.append({hit.item.id for hit in [*hits, *neighbours]})
    assert seen[0].isdisjoint(seen[1])
