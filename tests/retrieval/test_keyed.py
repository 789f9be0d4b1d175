"""Searching text by the keys of its lexemes finds what reading every row finds, and only in the account entered."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from itertools import cycle

import pytest
from django.db import NotSupportedError, ProgrammingError, connection, connections, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts import text_views
from facts.audience import Posture, Reader
from facts.clock import now
from facts.models import Account, FactText, IndexedUnit
from facts.tenancy import account_transaction, create_account, ensure_scope
from memory_site.database import preparation
from retrieval import candidates
from retrieval.candidates import Question
from retrieval.text import keyed
from retrieval.visibility import Visibility
from tests.factories import FactFactory, SubjectFactory
from tests.retrieval.test_candidates import Sent, _scans

PLACES = ("/", "/one", "/two")
#: As they stand in the index: stemmed, with marks, in several scripts, and with what means something to a query.
LEXEMES = [
    "tea",
    "coffe",
    "c++",
    "r&d",
    "a|b",
    "o'brien",
    "ana@example.org",
    "2.5.1",
    "天气",
    "気象",
    "שלום",
    "قهوة",
    "back\\slash",
]


@dataclass(frozen=True, slots=True)
class World:
    """Facts of each pair of lexemes, spread over three scopes; some are not current, one was moved."""

    visible: Visibility
    scopes: tuple[uuid.UUID, ...]


@pytest.fixture
def world(account: Account) -> World:
    ana = SubjectFactory(account=account, key="ana")
    scopes = [ensure_scope(account.id, path) for path in PLACES]
    places = cycle(scopes)
    for number, first in enumerate(LEXEMES):
        for second in LEXEMES[number:]:
            fact = FactFactory(account=account, subject=ana, scope=next(places), statement="x")
            with connection.cursor() as cursor:
                cursor.execute(
                    "UPDATE facts_facttext SET tsv = array_to_tsvector(%s) WHERE fact_id = %s",
                    [sorted({first, second}), fact.id],
                )
    rows = list(FactText.objects.order_by("fact_id").values_list("fact_id", flat=True))
    FactText.objects.filter(fact__in=rows[::7]).update(active=False)
    FactText.objects.filter(fact__in=rows[1::7]).update(valid_to=now())
    FactText.objects.filter(fact__in=rows[2::7]).update(scope=scopes[0])
    visible = Visibility(
        account_id=account.id,
        scope_ids=tuple(scope.id for scope in scopes),
        subject_id=ana.id,
        reader=Reader(posture=Posture.PEER, subject_id=ana.id),
        at=now(),
        now=now(),
    )
    return World(visible=visible, scopes=visible.scope_ids)


@pytest.mark.django_db
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    lexemes=st.lists(st.sampled_from([*LEXEMES, "nowhere"]), min_size=1, max_size=6, unique=True),
    places=st.sets(st.integers(0, 2), min_size=1),
)
def test_keys_find_what_reading_every_row_finds(world: World, lexemes: list[str], places: set[int]) -> None:
    visible = replace(world.visible, scope_ids=tuple(world.scopes[place] for place in sorted(places)))
    question = Question(weights={lexeme: 1 + number for number, lexeme in enumerate(lexemes)})
    assert keyed.applies(lexemes, visible)
    by_key, by_reading = (_found(question, lexemes, visible, most_keys=most) for most in (keyed.MOST_KEYS, 0))
    assert by_key == by_reading


def _found(question: Question, lexemes: list[str], visible: Visibility, *, most_keys: int) -> list[uuid.UUID]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyed, "MOST_KEYS", most_keys)
        sent = Sent()
        with connection.execute_wrapper(sent):
            found = candidates.matching(IndexedUnit.FACT, question, visible, match=lexemes, limit=500)
    ((statement, _),) = sent.statements
    assert (text_views.VIEWS[IndexedUnit.FACT] in statement) is bool(most_keys)
    return found


@pytest.mark.django_db
def test_beginnings_of_words_and_very_many_keys_are_not_looked_up(world: World) -> None:
    assert not keyed.applies(["天"], world.visible)
    assert keyed.applies(["天气"], world.visible)
    lexemes = [f"word{number}" for number in range(keyed.MOST_KEYS // len(world.scopes) + 1)]
    assert not keyed.applies(lexemes, world.visible)
    assert keyed.applies(lexemes[:-1], world.visible)
    found = candidates.matching(IndexedUnit.FACT, Question(weights={"天": 1}), world.visible, match=["天"], limit=500)
    whole = candidates.matching(
        IndexedUnit.FACT, Question(weights={"天气": 1}), world.visible, match=["天气"], limit=500
    )
    assert found == whole != []


@pytest.mark.django_db
def test_the_index_of_the_keys_is_the_way_that_is_taken(world: World) -> None:
    sent = Sent()
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == ("memory_app",)
        cursor.execute("SET LOCAL enable_seqscan = off")
    for unit in IndexedUnit:
        with connection.execute_wrapper(sent):
            candidates.matching(unit, Question(weights={"tea": 1}), world.visible, match=["tea"], limit=64)
    for unit, plan in zip(IndexedUnit, sent.plans(), strict=True):
        assert ("Bitmap Index Scan", f"facts_{unit}text_keys") in _scans(plan)


@pytest.mark.django_db(transaction=True)
def test_the_views_show_the_account_that_was_entered_and_may_only_be_read() -> None:
    accounts = [create_account(key=key, name=key) for key in ("first", "second")]
    for number, own in enumerate(accounts, 1):
        with account_transaction(own.id):
            ana = SubjectFactory(account=own, key="ana")
            for _ in range(number):
                FactFactory(account=own, subject=ana)
    for number, own in enumerate(accounts, 1):
        with account_transaction(own.id), connection.cursor() as cursor:
            cursor.execute(f"SELECT account_id, count(*) FROM {text_views.VIEWS['fact']} GROUP BY account_id")
            assert cursor.fetchall() == [(own.id, number)]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {text_views.VIEWS['fact']}")
        assert cursor.fetchone() == (0,)
    for statement in (
        f"SET ROLE {text_views.READER}",
        "INSERT INTO memory_text.fact (fact_id) SELECT fact_id FROM memory_text.fact",
        "UPDATE memory_text.fact SET active = false",
        "DELETE FROM memory_text.fact",
        "CREATE TABLE memory_text.mine (x int)",
    ):
        refused = pytest.raises(ProgrammingError, match="permission denied")
        with refused, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


@pytest.mark.django_db(databases=["default", "owner"])
def test_a_migration_changes_what_the_views_show_while_they_are_away() -> None:
    owner = connections["owner"]
    change = "ALTER TABLE facts_facttext ALTER COLUMN valid_to TYPE timestamptz(0)"
    refused = pytest.raises(NotSupportedError, match="used by a view")
    with refused, transaction.atomic("owner"), owner.cursor() as cursor:
        cursor.execute(change)
    for _ in range(2):  # done twice, it is done once
        text_views.hide(owner)
    with owner.cursor() as cursor:
        cursor.execute(change)
        text_views.show(owner)
        cursor.execute(f"SELECT count(*) FROM {text_views.VIEWS['fact']}")
        assert cursor.fetchone() == (0,)
        cursor.execute("SELECT count(*) FROM pg_policy WHERE polname = %s", [text_views.POLICY])
        assert cursor.fetchone() == (2,)


@pytest.mark.django_db(transaction=True)
def test_who_may_make_no_role_is_told_what_is_missing() -> None:
    with pytest.raises(preparation.UnsuitableServer, match=r"CREATEROLE.*CREATE ROLE memory_reader NOLOGIN;"):
        preparation.show_text_rows(connection)
