"""Who may link scopes, and what is kept of it."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from facts.errors import DomainError, NotFound, Refused
from facts.models import Account, AuditEntry, ScopeLink
from facts.tenancy import ensure_scope
from governance import access, scope_links
from governance.access import Delegation, Principal
from governance.models import Effect, Role
from tests.factories import AccountFactory, GrantFactory, entered, key_principal, maker_of, person_in


@pytest.fixture
def curator(account: Account) -> Principal:
    for path in ("/support", "/sales"):
        ensure_scope(account.id, path)
    return person_in(account)


def test_a_curator_of_both_ends_links_once_and_unlinks(curator: Principal) -> None:
    made = scope_links.link(curator, source="/support", target="/sales")
    assert scope_links.link(curator, source="/support", target="/sales") == made
    assert (made.source.path, made.target.path) == ("/support", "/sales")
    scope_links.unlink(curator, source="/sales", target="/support")
    assert not ScopeLink.objects.exists()
    recorded = AuditEntry.objects.filter(object_type="scope_link").order_by("seq")
    assert [entry.action for entry in recorded] == ["scope_link.made", "scope_link.removed"]
    with pytest.raises(NotFound) as missing:
        scope_links.unlink(curator, source="/support", target="/sales")
    assert missing.value.code == "link_not_found"


@pytest.mark.parametrize(("target", "code"), [("/nowhere", "unknown_scope"), ("/support", "invalid_scope")])
def test_what_cannot_be_linked(curator: Principal, target: str, code: str) -> None:
    with pytest.raises(DomainError) as refused:
        scope_links.link(curator, source="/support", target=target)
    assert refused.value.code == code


@pytest.mark.parametrize("path", ["/support", "/sales"])
def test_one_end_is_not_enough(account: Account, curator: Principal, path: str) -> None:
    half = person_in(account, path=path)
    for source, target in (("/support", "/sales"), ("/support", "/nowhere"), ("/sales", "/nowhere")):
        with pytest.raises(Refused):
            scope_links.link(half, source=source, target=target)
    scope_links.link(curator, source="/support", target="/sales")
    with pytest.raises(Refused):
        scope_links.unlink(half, source="/support", target="/sales")


def test_a_deny_holds_however_the_path_is_written(account: Account, curator: Principal) -> None:
    subject = maker_of(curator).subject
    GrantFactory(subject=subject, role=Role.READER, scope=ensure_scope(account.id, "/sales"), effect=Effect.DENY)
    denied = access.person(maker_of(curator))
    for path in ("/sales", "sales", "/sales/", "//sales"):
        with pytest.raises(Refused):
            scope_links.link(denied, source="/support", target=path)


def test_members_and_keys_link_nothing(account: Account, curator: Principal) -> None:
    key = key_principal(account, delegated=[Delegation.RESOLVE], maker=maker_of(curator))
    for other in (person_in(account, role=Role.MEMBER), key):
        with pytest.raises(Refused):
            scope_links.link(other, source="/support", target="/sales")
    assert not ScopeLink.objects.exists()


def test_another_accounts_scopes_do_not_exist(curator: Principal) -> None:
    other = AccountFactory()
    with entered(other):
        stranger = person_in(other)
        ensure_scope(other.id, "/support")
        with pytest.raises(DomainError) as refused:
            scope_links.link(stranger, source="/support", target="/sales")
    assert refused.value.code == "unknown_scope"


def test_the_command(account: Account, curator: Principal) -> None:
    out = StringIO()
    given = ["--account", account.key, "--as", maker_of(curator).user.username]
    call_command("link_scopes", *given, "/support", "/sales", stdout=out)
    assert ScopeLink.objects.count() == 1
    call_command("link_scopes", *given, "/support", "/sales", "--remove", stdout=out)
    assert out.getvalue() == "Linked.\nRemoved.\n"
    for wrong in ([*given, "/support", "/nowhere"], ["--account", account.key, "--as", "nobody", "/support", "/sales"]):
        with pytest.raises(CommandError):
            call_command("link_scopes", *wrong, stdout=out)
