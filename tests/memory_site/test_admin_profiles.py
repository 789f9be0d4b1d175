"""The pages on which administrators change how the account reads."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from facts.models import Account, Scope
from facts.vocabulary import Sensitivity
from governance.access import Principal
from governance.models import Role
from retrieval.models import RetrievalProfile, StoredQuery
from retrieval.profiles import overrides, profile_versions, stored_queries
from tests.admin_scene import HOSTILE, sign_in
from tests.factories import AccountFactory, FactFactory, ScopeFactory, SubjectFactory, entered, person_in

LIST = reverse("admin:retrieval_retrievalprofile_changelist")
EDIT = reverse("admin:profile_edit")
HERE = f"{EDIT}?name=context&scope=/support"


@pytest.fixture
def administrator(account: Account) -> Principal:
    return person_in(account, role=Role.ACCOUNT_ADMIN)


@pytest.fixture
def browser(administrator: Principal) -> Client:
    return sign_in(Client(), administrator)


@pytest.fixture
def support(account: Account) -> Scope:
    return ScopeFactory(account=account, path="/support")


def _errors(page: object) -> dict[str, list[str]]:
    return {name: list(errors) for name, errors in page.context["form"].errors.items()}


def test_an_override_is_made_changed_ended_and_brought_back(account: Account, browser: Client, support: Scope) -> None:
    save = {"decision": "save", "note": "Fewer passages."}
    assert browser.post(HERE, {**save, "passages": "4", "weights.text": "0.9"})["Location"].startswith(EDIT)
    held = profile_versions.active(account.id, name="context", scope=support)
    assert (held.version, held.settings) == (1, {"weights.text": 0.9, "passages": 4})
    browser.post(HERE, {**save, "expected": "1", "passages": "2"})
    assert overrides.resolve_context(account_id=account.id, path="/support").passages == 2
    browser.post(HERE, {"decision": "switch_off", "note": "Not needed.", "expected": "2"})
    assert profile_versions.active(account.id, name="context", scope=support) is None
    browser.post(HERE, {"decision": "go_back", "note": "It was better.", "expected": "", "version": "1"})
    page = browser.get(HERE)
    assert [(row.version, row.action) for row, _, _ in page.context["versions"]] == [
        (4, "reverted"),
        (3, "switched_off"),
        (2, "saved"),
        (1, "saved"),
    ]
    assert page.context["form"]["passages"].value() == 4
    assert b"Fewer passages." in page.content
    listed = browser.get(LIST)
    assert [(row.name, settings) for row, settings, _ in listed.context["overrides"]] == [
        ("context", ["Weight of text: 0.9", "Passages: 4"])
    ]


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"passages": "5001", "note": "x"}, "passages"),
        ({"passages": "many", "note": "x"}, "passages"),
        ({"fact_share": "nan", "note": "x"}, "fact_share"),
        ({"passages": "5", "note": " "}, "note"),
        ({"weights.text": "0", "weights.vector": "0", "weights.recency": "0", "note": "x"}, "__all__"),
        ({"passages": "5", "note": "x", "expected": "3"}, "expected"),
    ],
)
def test_what_does_not_go_is_said_and_what_was_typed_stays(
    browser: Client, support: Scope, typed: dict[str, str], field: str
) -> None:
    page = browser.post(HERE, {"decision": "save", **typed})
    assert page.status_code == 200
    assert list(_errors(page)) == [field]
    assert not RetrievalProfile.objects.exists()


def test_a_refused_way_back_leaves_the_form_as_it_holds(
    administrator: Principal, browser: Client, support: Scope
) -> None:
    profile_versions.save(
        administrator, name="context", scope=support, settings={"passages": 3}, note="x", expected=None
    )
    page = browser.post(HERE, {"decision": "go_back", "note": "", "expected": "1", "version": "1"})
    assert page.context["refusal"] == "Say why it is changed."
    assert page.context["form"]["passages"].value() == 3


def test_a_look_shows_both_orders_and_changes_nothing(
    account: Account, administrator: Principal, browser: Client, support: Scope
) -> None:
    ana = SubjectFactory(account=account, key="ana")
    FactFactory(subject=ana, statement="Ana likes tea.", sensitivity=Sensitivity.INTERNAL)
    stored_queries.add(administrator, scope_path="/support", subject_key="", query="Who likes tea?")
    page = browser.post(HERE, {"decision": "look", "passages": "0"})
    (look,) = page.context["previews"]
    assert [text for _, text in look.rows] == ["Ana likes tea."]
    assert b"Ana likes tea." in page.content
    assert not RetrievalProfile.objects.exists()
    assert page.context["form"]["passages"].value() == "0"


def test_queries_are_kept_and_removed(browser: Client, support: Scope) -> None:
    add = reverse("admin:stored_query_add")
    page = browser.post(add, {"query": HOSTILE, "scope": "/support", "subject": "ana"}, follow=True)
    assert b"<script>document" not in page.content
    kept = StoredQuery.objects.get()
    assert (kept.query, kept.scope, kept.subject_key) == (HOSTILE, support, "ana")
    assert "scope" in _errors(browser.post(add, {"query": "tea", "scope": "/nowhere"}))
    remove = reverse("admin:stored_query_remove", args=[kept.pk])
    assert browser.get(remove).status_code == 405
    assert browser.post(remove).status_code == 302
    assert browser.post(remove).status_code == 404


def test_a_version_leads_to_its_editor(administrator: Principal, browser: Client, support: Scope) -> None:
    row = profile_versions.save(
        administrator, name="balanced", scope=support, settings={"rrf_k": 3}, note="x", expected=None
    )
    answer = browser.get(reverse("admin:retrieval_retrievalprofile_change", args=[row.pk]))
    assert answer["Location"] == f"{EDIT}?name=balanced&scope=%2Fsupport"
    assert browser.get(answer["Location"]).context["form"]["rrf_k"].value() == 3


@pytest.mark.parametrize(
    "query", ["", "?name=nonsense", "?name=minimal", "?name=context&scope=/nowhere", "?name=context&scope=/../x"]
)
def test_there_is_no_editor_for_what_is_not_there(browser: Client, query: str) -> None:
    assert browser.get(EDIT + query).status_code == 404


def test_only_administrators_of_the_account_come_here(account: Account, support: Scope) -> None:
    for role, path in ((Role.CURATOR, "/"), (Role.ACCOUNT_ADMIN, "/support"), (Role.READER, "/")):
        browser = sign_in(Client(), person_in(account, role=role, path=path))
        assert browser.get(LIST).status_code == 403
        assert browser.get(HERE).status_code == 403
        assert browser.post(HERE, {"decision": "save", "note": "x", "passages": "3"}).status_code == 403
        assert browser.post(reverse("admin:stored_query_add"), {"query": "x", "scope": "/"}).status_code == 403
    assert not RetrievalProfile.objects.exists()


def test_another_account_shows_nothing(account: Account, browser: Client) -> None:
    other = AccountFactory()
    with entered(other):
        stranger = person_in(other, role=Role.ACCOUNT_ADMIN)
        row = profile_versions.save(stranger, name="context", scope=None, settings={"top": 5}, note="x", expected=None)
    assert browser.get(LIST).context["overrides"] == []
    assert browser.get(reverse("admin:retrieval_retrievalprofile_change", args=[row.pk])).status_code == 404
