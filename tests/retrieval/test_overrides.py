from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings

from facts.errors import DomainError
from facts.models import Account, Scope, Subject
from governance.access import Principal
from governance.models import Role
from retrieval.context.assembly import ContextAnswer
from retrieval.models import RetrievalProfile
from retrieval.profiles import overrides, profile_versions
from retrieval.profiles.shipped import CONTEXT, SEARCH
from tests.factories import AccountFactory, FactFactory, ScopeFactory, entered, person_in


@pytest.fixture
def admin(account: Account) -> Principal:
    return person_in(account, role=Role.ACCOUNT_ADMIN)


def _override(admin: Principal, scope: Scope | None, *, name: str = "context", **settings: float) -> None:
    profile_versions.save(admin, name=name, scope=scope, settings=settings, note="test", expected=None)


def _passages(account: Account, path: str) -> int:
    return overrides.resolve_context(account_id=account.id, path=path).passages


def test_the_nearest_override_holds(account: Account, admin: Principal) -> None:
    assert overrides.resolve_context(account_id=account.id, path="/a") is CONTEXT
    _override(admin, None, passages=1)
    _override(admin, ScopeFactory(account=account, path="/a"), passages=2)
    _override(admin, ScopeFactory(account=account, path="/a/b/c"), passages=3)
    found = {path: _passages(account, path) for path in ("/", "/other", "/ab", "/a", "/a/b", "/a/b/c", "/a/b/c/d")}
    assert found == {"/": 1, "/other": 1, "/ab": 1, "/a": 2, "/a/b": 2, "/a/b/c": 3, "/a/b/c/d": 3}


def test_an_override_at_the_root_is_nearer_than_the_one_of_the_account(account: Account, admin: Principal) -> None:
    _override(admin, None, passages=1)
    _override(admin, Scope.objects.get(path="/"), passages=2)
    assert _passages(account, "/x") == 2


def test_names_do_not_mix(account: Account, admin: Principal) -> None:
    _override(admin, None, name="balanced", deadline_ms=200)
    found = overrides.resolve_search(account_id=account.id, path="/a", name="balanced")
    assert (found.deadline_ms, found.label[:13]) == (200, f"balanced-{SEARCH['balanced'].version}-1-")
    assert overrides.resolve_search(account_id=account.id, path="/a", name="fast") is SEARCH["fast"]
    assert overrides.resolve_context(account_id=account.id, path="/a") is CONTEXT


@pytest.mark.parametrize("name", ["context", "nonsense", "", "Balanced", "minimal"])
def test_an_unknown_name_is_an_error(account: Account, name: str) -> None:
    with pytest.raises(DomainError) as refused:
        overrides.resolve_search(account_id=account.id, path="/a", name=name)
    assert (refused.value.code, refused.value.field, refused.value.status) == ("unknown_profile", "profile", 422)


@override_settings(MEMHOUSE_EXPERIMENTAL_MINIMAL_RECALL=True)
def test_minimal_is_there_where_it_is_switched_on(account: Account) -> None:
    assert overrides.resolve_search(account_id=account.id, path="/a", name="minimal") is SEARCH["minimal"]


def test_one_query_for_an_account_and_none_while_it_is_remembered(account: Account, admin: Principal) -> None:
    _override(admin, None, passages=1)
    with CaptureQueriesContext(connection) as captured:
        for path in ("/", "/a", "/b/c"):
            overrides.resolve_context(account_id=account.id, path=path)
            overrides.resolve_search(account_id=account.id, path=path, name="balanced")
    assert (
        len([query for query in captured.captured_queries if "retrieval_retrievalprofile" in (query["sql"] or "")]) == 1
    )
    with CaptureQueriesContext(
        connection,
    ) as captured:
        overrides.resolve_context(account_id=account.id, path="/d")
    assert captured.captured_queries == []


def test_another_account_is_not_concerned(account: Account, admin: Principal) -> None:
    _override(admin, None, passages=1)
    other = AccountFactory()
    with entered(other):
        assert overrides.resolve_context(account_id=other.id, path="/") is CONTEXT


def test_an_override_that_breaks_the_bounds_is_left_out(account: Account, admin: Principal) -> None:
    _override(admin, None, passages=1)
    scope = ScopeFactory(account=account, path="/a")
    RetrievalProfile.objects.create(
        account=account, scope=scope, name="context", version=1, settings={"passages": 9_999}, created_by="sql"
    )
    overrides.forget()
    assert _passages(account, "/a") == 1


@pytest.mark.parametrize(
    ("allowed", "outcomes", "served"),
    [
        (("semantic",), {"semantic": "contributed", "lexical": "dropped: disabled"}, 1),
        (("lexical",), {"semantic": "dropped: disabled", "lexical": "contributed"}, 1),
        (("temporal",), {"semantic": "dropped: disabled", "lexical": "dropped: disabled"}, 0),
    ],
)
def test_an_operator_switches_strategies_of_context_off(
    ana: Subject, ask: Callable[..., ContextAnswer], allowed: tuple[str, ...], outcomes: dict[str, str], served: int
) -> None:
    FactFactory(subject=ana, statement="Ana likes tea.")
    with override_settings(SEARCH_STRATEGIES=allowed):
        answer = ask("tea")
    assert answer.strategies == outcomes
    assert len(answer.packet.facts) == served
    assert answer.packet.warnings[0].startswith("degraded_retrieval: without ")
