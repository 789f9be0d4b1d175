"""Isolation and plan together, once more: the searches of a scope with indexes of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from facts import tenancy
from facts.actors import system
from facts.models import Account, IndexedUnit, Scope
from facts.tenancy import account_transaction, ensure_scope
from governance import access, keys
from governance.access import Principal
from retrieval import candidates, large_scope_indexes, large_scopes
from retrieval.context.assembly import ContextRequest, assemble
from retrieval.models import LargeScope
from retrieval.visibility import Visibility
from tests.factories import FactFactory, SubjectFactory
from tests.retrieval.conftest import WordEmbedder, index_vectors
from tests.retrieval.test_candidates import Sent, _question, _scans, two_accounts  # noqa: F401

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def large(two_accounts: list[Visibility]) -> Iterator[list[Visibility]]:  # noqa: F811
    """Two accounts with the same facts; the scope of the first has indexes of its own."""
    first = two_accounts[0]
    large_scopes.forget()
    scope = _scope(first)
    large_scope_indexes.build(large_scope_indexes.plan(first.account_id, scope), note=lambda name: None)
    yield two_accounts
    large_scope_indexes.drop(first.account_id, scope)


def _scope(visible: Visibility) -> Scope:
    with account_transaction(visible.account_id):
        return Scope.objects.get(pk=visible.scope_ids[0])


def _nearest(unit: IndexedUnit, question: candidates.Question, visible: Visibility) -> list[uuid.UUID]:
    return large_scopes.nearest(unit, question, visible, large=visible.scope_ids[:1], limit=64)


def _scans_of(statement: tuple[str, Any], *settings: str) -> set[tuple[str, str]]:
    """Return the scans of a statement's plan while some settings are off."""
    sent = Sent()
    sent.statements = [statement]
    with connection.cursor() as cursor:
        for setting in settings:
            cursor.execute(f"SET LOCAL {setting} = off")
        (plan,) = sent.plans()
        for setting in settings:
            cursor.execute(f"SET LOCAL {setting} = on")
    return _scans(plan)


def test_searches_use_the_indexes_of_the_scope_and_stay_in_their_account(
    large: list[Visibility], embedder: WordEmbedder
) -> None:
    first, second = large
    with account_transaction(first.account_id):
        question = _question(embedder, "tea of Ana")
        assert large_scopes.chosen(first, rows=large_scopes.MANY) == first.scope_ids
        assert large_scopes.chosen(first, rows=large_scopes.MANY - 1) == ()
        stranger = replace(first, subject_id=None, reader=replace(first.reader, subject_id=uuid.uuid4()))
        for unit in IndexedUnit:
            sent = Sent()
            with connection.execute_wrapper(sent):
                near = _nearest(unit, question, first)
            _, by_vector, _ = sent.statements
            with connection.cursor() as cursor:
                cursor.execute("SHOW enable_sort")
                assert cursor.fetchone() == ("on",)
            assert len(near) == 64
            graph = f"large_{unit}_{question.space.id}_{first.scope_ids[0].hex}"
            assert _scans_of(by_vector, "enable_sort") == {("Index Scan", graph)}
            assert _nearest(unit, question, stranger) == []
            assert _nearest(unit, question, second) == []
    with account_transaction(second.account_id):
        assert large_scopes.chosen(second, rows=large_scopes.MANY) == ()
        for unit in IndexedUnit:
            assert _nearest(unit, question, first) == []


def test_what_has_no_index_of_its_own_is_searched_exactly_beside_what_has(
    large: list[Visibility], embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = large
    with account_transaction(first.account_id):
        account = Account.objects.get(pk=first.account_id)
        beside = ensure_scope(account.id, "/beside")
        fact = FactFactory(account=account, scope=beside, subject_id=first.subject_id, statement="Ana pours tea")
        both = replace(first, scope_ids=(beside.id, *first.scope_ids))
        question = _question(embedder, "Ana pours tea")
        index_vectors(account)
        found = large_scopes.nearest(IndexedUnit.FACT, question, both, large=first.scope_ids, limit=64)
        assert len(found) == 64
        assert found[0] == fact.id
        # The vectors of another embedder were indexed.
        LargeScope.objects.update(space=None)
        large_scopes.forget()
        found = large_scopes.nearest(IndexedUnit.FACT, question, both, large=first.scope_ids, limit=64)
        assert found == candidates.nearest(IndexedUnit.FACT, question, both, limit=64)
    monkeypatch.setattr(large_scopes, "MANY", 0)
    sent = Sent()
    principal = _principal(first.account_id)
    request = ContextRequest(scope_path=_scope(first).path, exact=True, subject_key="ana", query="Does Ana like tea?")
    with connection.execute_wrapper(sent):
        answer = assemble(principal=principal, request=request)
    assert len(answer.packet.facts) > 10
    assert answer.strategies == {"semantic": "contributed", "lexical": "contributed"}
    assert sum("hnsw.ef_search" in sql for sql, _ in sent.statements) == len(IndexedUnit)


def test_the_command_shows_makes_and_drops(embedder: WordEmbedder) -> None:
    account = tenancy.create_account(key="large", name="large")
    with account_transaction(account.id):
        path = FactFactory(subject=SubjectFactory(account=account, key="ana")).scope.path
        index_vectors(account)
    said = StringIO()
    call_command("index_large_scope", account=account.key, scope=path, dry_run=True, stdout=said)
    assert f"2 facts and passages can be found in {path}." in said.getvalue()
    assert said.getvalue().count("would make large_") == 2
    with account_transaction(account.id):
        assert not LargeScope.objects.exists()
    call_command("index_large_scope", account=account.key, scope=path, stdout=said)
    call_command("index_large_scope", account=account.key, scope=path, stdout=said)
    assert said.getvalue().count("making large_") == 2  # the second time everything is there
    with account_transaction(account.id):
        assert LargeScope.objects.get().rows == 2
    call_command("index_large_scope", account=account.key, scope=path, drop=True, stdout=said)
    assert said.getvalue().count("dropped large_") == 2
    with account_transaction(account.id):
        assert not LargeScope.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_class WHERE relname ~ '^large_(fact|passage)_'")
        assert cursor.fetchone() == (0,)
    for named, message in (
        ({"account": "nobody", "scope": "/"}, "no account 'nobody'"),
        ({"account": account.key, "scope": "/nowhere"}, "no scope '/nowhere'"),
        ({"account": account.key, "scope": "/.."}, "no empty"),
    ):
        with pytest.raises(CommandError, match=message):
            call_command("index_large_scope", **named)


def _principal(account_id: uuid.UUID) -> Principal:
    with account_transaction(account_id):
        _, raw = keys.create_key(account_id=account_id, label="app", rights=access.APP_RIGHTS, actor=system("test"))
    return keys.authenticate(raw)
