"""The pages on which administrators see what the gates do anywhere, and change it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from facts.models import Account, Scope
from facts.vocabulary import Sensitivity
from governance.access import Principal
from governance.models import GateRule, Role
from tests.admin_scene import HOSTILE, sign_in
from tests.factories import (
    AccountFactory,
    FactFactory,
    GateRuleFactory,
    ScopeFactory,
    SubjectFactory,
    entered,
    person_in,
    unknown_id,
)

MATRIX = reverse("admin:governance_gaterule_changelist")
CELL = reverse("admin:gate_cell")
HERE = f"{CELL}?level=peer&sensitivity=personal&scope=/support"
TYPED = {
    "gate_a": "human",
    "gate_b": "auto_place",
    "minimum_evidence_level": "indirect",
    "minimum_corroboration": "0",
    "revalidate_after_days": "",
    "review_due_days": "7",
    "note": "A trial.",
}


@pytest.fixture
def administrator(account: Account) -> Principal:
    return person_in(account, role=Role.ACCOUNT_ADMIN)


@pytest.fixture
def browser(administrator: Principal) -> Client:
    return sign_in(Client(), administrator)


@pytest.fixture
def support(account: Account) -> Scope:
    return ScopeFactory(account=account, path="/support")


def _cells(page: object, level: str, sensitivity: str) -> list[tuple[str, str, str]]:
    (cells,) = [
        cells
        for of_level, rows in page.context["levels"]
        for row, cells, _ in rows
        if (of_level, row.sensitivity) == (level, sensitivity)
    ]
    return [(cell.gate_a, cell.gate_b, f"{cell.origin} {cell.origin_path}".strip()) for cell in cells]


def test_the_matrix_says_what_holds_and_why(account: Account, browser: Client, support: Scope) -> None:
    GateRuleFactory(account=account, scope=ScopeFactory(account=account, path="/"), gate_a="auto_reject")
    page = browser.get(f"{MATRIX}?scope=/support")
    assert _cells(page, "peer", "personal") == [("reject", "place", "rule of /")]
    assert _cells(page, "scope", "public") == [
        ("ask a person", "ask a person", "built in: balanced"),
        ("keep", "place", "built in: balanced"),
    ]
    assert _cells(browser.get(MATRIX), "peer", "personal") == [("keep", "place", "built in: balanced")]
    assert [rule.scope.path for rule, _ in page.context["rules"]] == ["/"]


def test_a_rule_is_set_changed_and_taken_away(browser: Client, support: Scope) -> None:
    assert browser.post(HERE, {**TYPED, "decision": "save"})["Location"] == f"{MATRIX}?scope=%2Fsupport"
    rule = GateRule.objects.get()
    assert (rule.scope, rule.gate_a, rule.revalidate_after_days) == (support, "human", None)
    page = browser.get(HERE)
    assert page.context["form"]["expected"].value() == str(rule.change_id)
    known = {"expected": str(rule.change_id)}
    browser.post(HERE, {**TYPED, **known, "decision": "save", "revalidate_after_days": "90"})
    rule.refresh_from_db()
    assert rule.revalidate_after_days == 90
    stale = browser.post(HERE, {**TYPED, **known, "decision": "remove"})
    assert b"Somebody else has changed it meanwhile." in stale.content
    browser.post(
        HERE, {**TYPED, "expected": str(rule.change_id), "decision": "remove", "note": "It was <b>enough</b>."}
    )
    assert not GateRule.objects.exists()
    page = browser.get(HERE)
    assert [(entry.verb, entry.change.note) for entry in page.context["history"]] == [
        ("removed", "It was <b>enough</b>."),
        ("changed", "A trial."),
        ("set", "A trial."),
    ]
    assert [(line.label, line.before, line.after) for line in page.context["history"][1].lines] == [
        ("Asked about again after", "never", "90 days")
    ]
    assert b"It was <b>enough</b>." not in page.content
    first = page.context["history"][2].change
    form = browser.get(f"{HERE}&from={first.pk}").context["form"]
    assert (form["gate_a"].value(), form["revalidate_after_days"].value(), form["expected"].value()) == (
        "human",
        None,
        None,
    )
    assert browser.get(f"{HERE}&from={unknown_id()}").context["form"]["gate_a"].value() == "auto_keep"


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"gate_a": "never"}, "gate_a"),
        ({"minimum_corroboration": "101"}, "minimum_corroboration"),
        ({"minimum_corroboration": "many"}, "minimum_corroboration"),
        ({"revalidate_after_days": "0"}, "revalidate_after_days"),
        ({"review_due_days": ""}, "review_due_days"),
        ({"note": " "}, "note"),
        ({"expected": "x"}, "expected"),
        ({"expected": str(unknown_id())}, "expected"),
    ],
)
def test_what_does_not_go_is_said(browser: Client, support: Scope, typed: dict[str, str], field: str) -> None:
    page = browser.post(HERE, {**TYPED, **typed, "decision": "save"})
    assert list(page.context["form"].errors) == [field]
    assert not GateRule.objects.exists()


def test_a_look_shows_outcomes_without_words_that_are_not_for_the_reader(
    account: Account, browser: Client, support: Scope
) -> None:
    ada = SubjectFactory(account=account, key="ada")
    FactFactory(subject=ada, statement=f"Ada likes {HOSTILE}")
    FactFactory(subject=ada, statement="A secret.", sensitivity=Sensitivity.RESTRICTED)
    page = browser.post(HERE, {**TYPED, "decision": "look"})
    ((outcome, text),) = page.context["looked"]
    assert (outcome.before, outcome.after, text) == ("active", "provisional", f"Ada likes {HOSTILE}")
    assert HOSTILE.encode() not in page.content
    secret = browser.post(HERE.replace("personal", "restricted"), {**TYPED, "decision": "look"})
    assert [text for _, text in secret.context["looked"]] == [None]
    assert b"A secret." not in secret.content
    assert not GateRule.objects.exists()


def test_what_is_built_in_is_chosen(account: Account, browser: Client) -> None:
    known = {"expected_preset": "balanced", "expected_percent": "0", "note": "A trial."}
    browser.post(reverse("admin:gate_defaults"), {**known, "preset": "reviewed", "second_look_percent": "5"})
    account.refresh_from_db()
    assert (account.gate_preset, account.second_look_percent) == ("reviewed", 5)
    page = browser.post(reverse("admin:gate_defaults"), {**known, "preset": "open", "second_look_percent": "5"})
    assert b"Somebody else has changed it meanwhile." in page.content


def test_a_look_at_another_preset_counts_what_would_go_another_way(account: Account, browser: Client) -> None:
    ada = SubjectFactory(account=account, key="ada")
    FactFactory(subject=ada, statement="Ada lives in Lyon.")
    typed = {"expected_preset": "balanced", "expected_percent": "0", "second_look_percent": "0", "decision": "look"}
    page = browser.post(reverse("admin:gate_defaults"), {**typed, "preset": "reviewed"})
    assert page.context["turns"] == [("active", "provisional", 1)]
    assert b"1 of the last 1</b> proposed facts would go another way" in page.content
    page = browser.post(reverse("admin:gate_defaults"), {**typed, "preset": "balanced"})
    assert (page.context["turns"], len(page.context["look"].outcomes)) == ([], 1)
    account.refresh_from_db()
    assert account.gate_preset == "balanced"


def test_nobody_else_gets_in(account: Account, support: Scope) -> None:
    for stranger in (person_in(account), person_in(account, role=Role.ACCOUNT_ADMIN, path="/support")):
        client = sign_in(Client(), stranger)
        assert client.get(MATRIX).status_code == 403
        assert client.post(HERE, {**TYPED, "decision": "save"}).status_code == 403
        assert client.post(reverse("admin:gate_defaults"), {"preset": "open"}).status_code == 403


def test_what_is_not_there_is_404(browser: Client) -> None:
    other = AccountFactory()
    with entered(other):
        ScopeFactory(account=other, path="/theirs")
        rule = GateRuleFactory(account=other)
    for address in (
        f"{MATRIX}?scope=/theirs",
        f"{MATRIX}?scope=..",
        f"{CELL}?level=team&sensitivity=public",
        CELL,
        reverse("admin:governance_gaterule_change", args=[rule.pk]),
    ):
        assert browser.get(address).status_code == 404
