"""Isolation and plan together: the searches stay inside their indexes, and inside the account."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection, connections

from facts import embedding, index, tenancy
from facts.audience import Posture, Reader
from facts.clock import now
from facts.ids import new_id
from facts.models import Account, Fact, IndexedUnit, Passage, Scope, Subject
from facts.tenancy import account_transaction
from retrieval import candidates
from retrieval.candidates import Question
from retrieval.visibility import Visibility
from tests.factories import FactFactory, SubjectFactory, say
from tests.retrieval.conftest import WordEmbedder, index_vectors

pytestmark = pytest.mark.django_db(transaction=True)

TABLES = ("facts_facttext", "facts_factvector", "facts_passagetext", "facts_passagevector")


class Sent:
    """Collects the statements that are sent."""

    def __init__(self) -> None:
        self.statements: list[tuple[str, Any]] = []

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        self.statements.append((sql, params))
        return execute(sql, params, many, context)

    def plans(self) -> list[dict[str, Any]]:
        """Return the plan of each statement."""
        plans = []
        with connection.cursor() as cursor:
            for sql, params in self.statements:
                cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
                plan = cursor.fetchone()[0]
                plans.append((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
        return plans


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)


def _scans(plan: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (node["Node Type"], node.get("Index Name") or node["Relation Name"])
        for node in _nodes(plan)
        if "Scan" in node["Node Type"] and ("Index Name" in node or "Relation Name" in node)
    }


def _by_keys(unit: str) -> set[tuple[str, str]]:
    return {("Bitmap Heap Scan", f"facts_{unit}text"), ("Bitmap Index Scan", f"facts_{unit}text_keys")}


def _fill(account_id: uuid.UUID, key: str) -> tuple[Scope, Subject]:
    """Write 400 searchable facts and 100 passages about one subject, without their evidence."""
    account = Account.objects.get(pk=account_id)
    ana = SubjectFactory(account=account, key=key)
    event = say(ana, "We talked of tea")
    template = FactFactory.build(subject=ana, scope=event.scope, account=account)
    fields = {field.attname: getattr(template, field.attname) for field in Fact._meta.concrete_fields}
    facts = [Fact(**{**fields, "id": new_id(), "statement": f"Ana likes tea number {n}"}) for n in range(400)]
    Fact.objects.bulk_create(facts)
    index.write_fact_text(facts)
    passages = [
        Passage(
            account=account,
            event=event,
            scope=event.scope,
            subject=ana,
            ordinal=number,
            text=f"I had tea {number}",
            occurred_at=event.occurred_at,
        )
        for number in range(1_000, 1_099)
    ]
    Passage.objects.bulk_create(passages)
    index.write_passage_text(passages)
    index_vectors(account)
    return event.scope, ana


@pytest.fixture
def two_accounts(embedder: WordEmbedder) -> list[Visibility]:
    """The same facts and passages in two accounts, committed and vacuumed; a visibility for each account."""
    made = []
    for key in ("first", "second"):
        account = tenancy.create_account(key=key, name=key)
        with account_transaction(account.id):
            scope, ana = _fill(account.id, "ana")
        made.append(
            Visibility(
                account_id=account.id,
                scope_ids=(scope.id,),
                subject_id=ana.id,
                reader=Reader(posture=Posture.PEER, subject_id=ana.id),
                at=now(),
                now=now(),
            )
        )
    parameters = connections["owner"].get_connection_params()
    wanted = {name: parameters[name] for name in parameters if name not in {"cursor_factory", "context"}}
    with psycopg.connect(**wanted, autocommit=True) as owner:
        for table in (*TABLES, "facts_passage", "facts_event"):
            owner.execute(f"VACUUM ANALYZE {table}")
    return made


def _question(embedder: WordEmbedder, text: str) -> Question:
    return Question(
        weights={"tea": 1, "ana": 2},
        vector=candidates.vector_literal(embedder.embed_query(text)),
        space=embedding.space(embedder.identity),
    )


def _searches(unit: IndexedUnit, question: Question, visible: Visibility) -> list[list[uuid.UUID]]:
    return [
        candidates.nearest(unit, question, visible, limit=64),
        candidates.matching(unit, question, visible, match=["tea"], limit=64),
    ]


def test_searches_go_by_their_indexes_and_stay_in_their_account(
    two_accounts: list[Visibility], embedder: WordEmbedder
) -> None:
    first, second = two_accounts
    seen: dict[uuid.UUID, set[uuid.UUID]] = {}
    for visible in (first, second):
        with account_transaction(visible.account_id):
            with connection.cursor() as cursor:
                cursor.execute("SELECT current_user")
                assert cursor.fetchone() == ("memory_app",)
            question = _question(embedder, "tea of Ana")
            sent = Sent()
            with connection.execute_wrapper(sent):
                found = [ids for unit in IndexedUnit for ids in _searches(unit, question, visible)]
            nearest_fact, matching_fact, nearest_passage, matching_passage = sent.plans()
        assert [len(ids) for ids in found] == [64, 64, 64, 64]
        assert _scans(nearest_fact) == {("Index Only Scan", "fact_vector_cover")}
        assert _scans(matching_fact) == _by_keys("fact")
        assert _scans(nearest_passage) == {("Index Only Scan", "passage_vector_cover")}
        assert _scans(matching_passage) == _by_keys("passage")
        seen[visible.account_id] = {row_id for ids in found for row_id in ids}
    assert seen[first.account_id].isdisjoint(seen[second.account_id])


def _beside(
    row_id: uuid.UUID, visible: Visibility, *, silence: timedelta = timedelta(hours=1)
) -> list[tuple[bool, uuid.UUID]]:
    question = Question(weights={"tea": 1})
    found = candidates.beside([row_id], question, visible, silence=silence, known_at=None)
    assert {seed for seed, _, _ in found} <= {row_id}
    return sorted((later, row.id) for _, later, row in found)


def test_neighbours_are_found_by_an_index(two_accounts: list[Visibility]) -> None:
    visible = two_accounts[0]
    with account_transaction(visible.account_id):
        ids = list(Passage.objects.order_by("ordinal").values_list("id", flat=True))
        sent = Sent()
        with connection.execute_wrapper(sent):
            assert _beside(ids[50], visible) == [(False, ids[49]), (True, ids[51])]
        (plan,) = sent.plans()
        assert _beside(ids[50], two_accounts[1]) == []
    # An event is looked up by its account and id: four indexes are as good for that.
    by_id = ("facts_event_pkey", "event_by_account", "event_by_source", "event_by_trust")
    of_events = {("Index Scan", name) for name in by_id}
    assert _scans(plan) - of_events == {
        ("Index Scan", "facts_passage_pkey"),
        ("Index Scan", "passage_by_time"),
        ("Index Scan", "facts_passagetext_pkey"),
    }
    assert len(_scans(plan) & of_events) == 1


def test_what_is_not_alone_in_its_place_is_next_to_nothing(embedder: WordEmbedder) -> None:
    account = tenancy.create_account(key="ties", name="ties")
    with account_transaction(account.id):
        ana = SubjectFactory(account=account, key="ana")
        at = now()
        scope = say(ana, "One", occurred_at=at).scope
        say(ana, "Another at the same time", occurred_at=at)
        say(ana, "The next", occurred_at=at + timedelta(seconds=1))
        say(ana, "Too late", occurred_at=at + timedelta(hours=3))
        Passage.objects.update(ordinal=0)
        one, another, after, late = Passage.objects.order_by("occurred_at", "id").values_list("id", flat=True)
        visible = Visibility(
            account_id=account.id,
            scope_ids=(scope.id,),
            subject_id=ana.id,
            reader=Reader(posture=Posture.PEER, subject_id=ana.id),
            at=at + timedelta(days=1),
            now=at,
        )
        assert _beside(after, visible) == []
        assert _beside(one, visible) == [(True, after)]
        assert _beside(another, visible) == [(True, after)]
        assert _beside(late, visible) == []
        assert _beside(late, visible, silence=timedelta(hours=3)) == [(False, after)]


def test_another_accounts_rows_are_not_seen_by_asking_for_them(
    two_accounts: list[Visibility], embedder: WordEmbedder
) -> None:
    first, second = two_accounts
    with account_transaction(first.account_id):
        question = _question(embedder, "tea")
        for unit in IndexedUnit:
            assert _searches(unit, question, second) == [[], []]
        assert candidates.salient(second, limit=64) == []
        assert candidates.naming(["tea"], second, beside=[], limit=5) == []
        assert candidates.anything_stored(second) is False


def test_equally_good_facts_of_a_name_come_by_their_words() -> None:
    words = ["tea", "coffee", "milk", "juice", "water", "soup"]
    orders = []
    for key, said in (("first", words), ("second", words[::-1])):
        account = tenancy.create_account(key=key, name=key)
        with account_transaction(account.id):
            ana = SubjectFactory(account=account, key="ana")
            facts = {
                fact.id: fact.statement
                for fact in (FactFactory(subject=ana, statement=f"Hale likes {word}") for word in said)
            }
            visible = Visibility(
                account_id=account.id,
                scope_ids=(Fact.objects.filter(account=account).first().scope_id,),
                subject_id=ana.id,
                reader=Reader(posture=Posture.PEER, subject_id=ana.id),
                at=now(),
                now=now(),
            )
            found = candidates.naming(["Hale"], visible, beside=[], limit=4)
            orders.append([facts[fact_id] for _, fact_id in found])
    assert orders[0] == orders[1]
    assert len(set(orders[0])) == 4


def test_without_an_account_nothing_is_seen(two_accounts: list[Visibility], embedder: WordEmbedder) -> None:
    question = _question(embedder, "tea")
    for unit in IndexedUnit:
        assert _searches(unit, question, two_accounts[0]) == [[], []]


def test_a_text_too_long_for_the_index_is_found_beside_it(embedder: WordEmbedder) -> None:
    account = tenancy.create_account(key="long", name="long")
    with account_transaction(account.id):
        ana = SubjectFactory(account=account, key="ana")
        long = FactFactory(subject=ana, statement="tea " + " ".join(f"word{number}x" for number in range(400)))
        short = FactFactory(subject=ana, statement="Ana likes tea")
        with connection.cursor() as cursor:
            cursor.execute("SELECT fact_id, fits FROM facts_facttext ORDER BY fits")
            assert cursor.fetchall() == [(long.id, False), (short.id, True)]
        visible = Visibility(
            account_id=account.id,
            scope_ids=(long.scope_id,),
            subject_id=ana.id,
            reader=Reader(posture=Posture.PEER, subject_id=ana.id),
            at=now(),
            now=now(),
        )
        question = Question(weights={"tea": 1})
        found = candidates.matching(IndexedUnit.FACT, question, visible, match=["tea"], limit=64)
    assert set(found) == {long.id, short.id}


def test_questions_share_the_plans_of_their_statements_in_scopes_of_about_the_same_size(
    two_accounts: list[Visibility], embedder: WordEmbedder
) -> None:
    sizes = {300: ["tea"], 900: ["tea", "ana"], 5_000: [f"word{number}" for number in range(8)]}
    sent = Sent()
    visible = two_accounts[0]
    with account_transaction(visible.account_id), connection.execute_wrapper(sent):
        for rows, lexemes in sizes.items():
            question = replace(_question(embedder, " ".join(lexemes)), weights=dict.fromkeys(lexemes, 1), rows=rows)
            found = candidates.matching(IndexedUnit.FACT, question, visible, match=lexemes, limit=64)
            candidates.fetch_facts(found, question, visible, current=True)
            candidates.nearest(IndexedUnit.FACT, question, visible, limit=64)
    matching, fetch, nearest = ([sql for sql, _ in sent.statements[first::3]] for first in range(3))
    assert matching[0] == matching[1] != matching[2]
    assert nearest[0] == nearest[1] != nearest[2]
    assert len(set(fetch)) == 1
