"""Links between scopes are followed only where the caller may read both ends, and give nobody anything."""

from __future__ import annotations

import pytest

from facts.models import Account, Scope, ScopeLink
from facts.tenancy import ensure_scope
from governance.models import Effect, Role
from retrieval import scope_links
from tests.factories import AccountFactory, GrantFactory, SubjectFactory, entered, key_principal, person_in


def _link(account: Account, source: str, target: str) -> tuple[Scope, Scope]:
    ends = ensure_scope(account.id, source), ensure_scope(account.id, target)
    ScopeLink.objects.create(account=account, source=ends[0], target=ends[1])
    return ends


def test_links_are_followed_in_both_directions(account: Account) -> None:
    here, there = _link(account, "/support", "/sales")
    key = key_principal(account)
    assert scope_links.linked(key, [here]) == [there]
    assert scope_links.linked(key, [there]) == [here]
    assert scope_links.linked(key, [here, there]) == []
    assert scope_links.linked(key, []) == []


@pytest.mark.parametrize(("source", "target"), [("/support", "/sales"), ("/sales", "/support")])
def test_a_link_gives_no_access_to_its_other_end(account: Account, source: str, target: str) -> None:
    _link(account, source, target)
    here, there = ensure_scope(account.id, "/support"), ensure_scope(account.id, "/sales")
    reader = person_in(account, role=Role.READER, path="/support")
    assert scope_links.linked(reader, [here]) == []
    assert scope_links.linked(reader, [there]) == []
    assert scope_links.linked(person_in(account, role=None), [here, there]) == []
    confined = key_principal(account, scope_limit=here)
    assert scope_links.linked(confined, [here]) == []
    assert scope_links.linked(confined, [there]) == []


def test_a_deny_closes_an_end(account: Account) -> None:
    here, there = _link(account, "/support", "/sales")
    reader = person_in(account, role=Role.READER)
    assert scope_links.linked(reader, [here]) == [there]
    person = SubjectFactory(account=account)
    GrantFactory(subject=person, role=Role.READER, scope=ensure_scope(account.id, "/"))
    denied = person_in(account, role=Role.READER, path="/sales", effect=Effect.DENY)
    assert scope_links.linked(denied, [here]) == []


def test_few_links_are_followed_and_always_the_same(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope_links, "MAX_LINKS", 2)
    for path in ("/c", "/a", "/b"):
        here, _ = _link(account, "/support", path)
    found = scope_links.linked(key_principal(account), [here])
    assert [scope.path for scope in found] == ["/a", "/b"]


def test_links_of_another_account_lead_nowhere(account: Account) -> None:
    other = AccountFactory()
    with entered(other):
        here, _ = _link(other, "/support", "/sales")
    assert scope_links.linked(key_principal(account), [here]) == []
