"""Accounts, the scope tree, subjects and their names."""

from __future__ import annotations

import pytest

from facts import tenancy
from facts.errors import DomainError, NotFound
from facts.models import AccountSecret, Scope, Subject
from facts.vocabulary import SubjectKind
from tests.factories import IdentityFactory, SubjectFactory


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("/", "/"),
        ("", "/"),
        ("support", "/support"),
        ("/support/", "/support"),
        (" //a// b /", "/a/b"),
        ("/Été", "/Été"),
    ],
)
def test_a_path_has_one_spelling(path, normal):
    assert tenancy.normalise_path(path) == normal


@pytest.mark.parametrize("path", ["/a/../b", "/.", "/a/ /b", "/a\x00", "/\ud800", "/" + "x" * 512])
def test_what_is_no_path(path):
    with pytest.raises(DomainError) as refused:
        tenancy.normalise_path(path)
    assert (refused.value.code, refused.value.field) == ("invalid_scope", "scope")


@pytest.mark.parametrize(("path", "above"), [("/", []), ("/a", ["/"]), ("/a/b/c", ["/a/b", "/a", "/"])])
def test_what_lies_above(path, above):
    assert tenancy.ancestor_paths(path) == above


def test_an_account_begins_with_its_secret_and_its_root(account):
    assert len(bytes(AccountSecret.objects.get().statement_key)) == 32
    assert list(Scope.objects.values_list("path", "parent")) == [("/", None)]


def test_a_scope_is_made_with_those_above_it_once(account):
    made = tenancy.ensure_scope(account.id, "support/emea")
    assert tenancy.ensure_scope(account.id, "/support/emea/") == made
    assert list(Scope.objects.order_by("path").values_list("path", flat=True)) == ["/", "/support", "/support/emea"]
    assert (made.name, made.parent.path) == ("emea", "/support")
    assert tenancy.get_scope(account.id, "/sales") is None


def test_a_name_fills_a_blank_and_never_replaces(account):
    tenancy.ensure_subject(account.id, key="ada")
    assert tenancy.ensure_subject(account.id, key="ada", name="Ada").name == "Ada"
    assert tenancy.ensure_subject(account.id, key="ada", name="Bob").name == "Ada"
    assert tenancy.ensure_subject(account.id, key="ada", kind=SubjectKind.TOPIC).name == ""
    assert Subject.objects.count() == 2


@pytest.mark.parametrize("key", ["", "  ", "x" * 201, "a\x00", "\ud800"])
def test_what_is_no_subject(account, key):
    with pytest.raises(DomainError) as refused:
        tenancy.ensure_subject(account.id, key=key)
    assert refused.value.code == "invalid_subject"


def test_peers_come_first_where_no_kind_is_named(account):
    for kind in (SubjectKind.TOPIC, SubjectKind.AGENT, SubjectKind.PERSON):
        SubjectFactory(account=account, key="ada", kind=kind)
    assert tenancy.get_subject(account.id, key="ada").kind == "person"
    assert tenancy.get_subject(account.id, key="ada", kind=SubjectKind.TOPIC).kind == "topic"
    assert tenancy.get_subject(account.id, key="bob") is None


def test_a_platforms_name_leads_to_its_subject(account):
    ada = SubjectFactory(account=account)
    IdentityFactory(subject=ada, value="U1")
    assert tenancy.resolve_identity(account.id, platform="Slack", value="U1") == ada
    with pytest.raises(NotFound) as unknown:
        tenancy.resolve_identity(account.id, platform="slack", value="U2")
    assert unknown.value.code == "alias_not_found"
