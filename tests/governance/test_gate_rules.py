"""Changing the gate matrix: who may, within which bounds, against which change, and what the audit keeps of it."""

from __future__ import annotations

import pytest

from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import Account, AuditEntry, Scope
from governance import rule_changes
from governance.access import Delegation
from governance.gating import gate_rules
from governance.models import GateRule, Role, RuleSort
from tests.factories import (
    AccountFactory,
    GateRuleFactory,
    ScopeFactory,
    SubjectFactory,
    entered,
    key_principal,
    maker_of,
    person_in,
    submit,
    unknown_id,
)

VALUES = {
    "gate_a": "auto_keep",
    "gate_b": "human",
    "minimum_evidence_level": "direct",
    "minimum_corroboration": 2,
    "revalidate_after_days": 90,
    "review_due_days": 3,
}
HERE = {"level": "scope", "sensitivity": "internal"}


@pytest.fixture
def administrator(account):
    """A person who administers the account."""
    return person_in(account, role=Role.ACCOUNT_ADMIN)


@pytest.fixture
def support(account) -> Scope:
    """A scope below the root."""
    return ScopeFactory(account=account, path="/support")


def refused(error, *args, **fields) -> DomainError:
    """Return the refusal of setting a cell."""
    with pytest.raises(error) as caught:
        gate_rules.set_cell(
            *args, **{"scope": None, "values": VALUES, "expected": None, "note": "Because.", **HERE, **fields}
        )
    return caught.value


def test_a_cell_is_set_changed_and_removed_with_before_and_after_in_the_audit(account, administrator, support):
    rule = gate_rules.set_cell(administrator, scope=support, **HERE, values=VALUES, expected=None, note="Because.")
    first, others = rule.change_id, {**VALUES, "gate_a": "auto_reject", "revalidate_after_days": None}
    rule = gate_rules.set_cell(administrator, scope=support, **HERE, values=others, expected=first, note="Because.")
    assert (rule.gate_a, rule.revalidate_after_days, rule.change_id == first) == ("auto_reject", None, False)
    gate_rules.remove_cell(administrator, scope=support, **HERE, expected=rule.change_id, note="Because.")
    assert not GateRule.objects.exists()
    entries = AuditEntry.objects.filter(object_type="gate_rule").order_by("seq")
    assert [(entry.action, entry.metadata["before"], entry.metadata["after"]) for entry in entries] == [
        ("gate_rule.set", None, VALUES),
        ("gate_rule.set", VALUES, others),
        ("gate_rule.removed", others, None),
    ]
    assert {(entry.metadata["scope"], entry.metadata["level"]) for entry in entries} == {(str(support.id), "scope")}
    assert entries[0].group == first
    key = gate_rules.cell_key(support.id, "scope", "internal")
    assert [
        (change.before, change.after, change.note, change.made_by)
        for change in rule_changes.history(account.id, sort=RuleSort.GATE_RULE, key=key)
    ] == [
        (before, after, "Because.", administrator.actor.as_json())
        for before, after in ((others, None), (VALUES, others), (None, VALUES))
    ]


@pytest.mark.parametrize(
    ("note", "code"), [(" ", "note_missing"), ("x" * 501, "invalid_note"), ("a\0b", "invalid_note")]
)
def test_a_change_says_why_in_plain_text(administrator, note, code):
    error = refused(DomainError, administrator, note=note)
    assert (error.code, error.field) == (code, "note")
    assert not GateRule.objects.exists()


def test_a_change_knows_what_it_changes(administrator):
    rule = gate_rules.set_cell(administrator, scope=None, **HERE, values=VALUES, expected=None, note="Because.")
    for expected in (None, unknown_id()):
        assert refused(Conflicting, administrator, expected=expected).code == "stale_version"
    with pytest.raises(Conflicting):
        gate_rules.remove_cell(administrator, scope=None, **HERE, expected=unknown_id(), note="Because.")
    gate_rules.remove_cell(administrator, scope=None, **HERE, expected=rule.change_id, note="Because.")
    assert refused(Conflicting, administrator, expected=rule.change_id).code == "stale_version"
    with pytest.raises(NotFound):
        gate_rules.remove_cell(administrator, scope=None, **HERE, expected=None, note="Because.")


def test_only_administrators_and_no_keys(account, administrator):
    assert refused(Refused, person_in(account)).code == "forbidden"
    assert refused(Refused, person_in(account, role=Role.ACCOUNT_ADMIN, path="/support")).code == "forbidden"
    key = key_principal(account, delegated=list(Delegation), maker=maker_of(administrator))
    assert refused(Refused, key).code == "human_required"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gate_a", "auto_place"),
        ("gate_a", ""),
        ("gate_b", "auto_keep"),
        ("minimum_evidence_level", "hearsay"),
        ("minimum_corroboration", -1),
        ("minimum_corroboration", 101),
        ("minimum_corroboration", True),
        ("minimum_corroboration", None),
        ("revalidate_after_days", 0),
        ("revalidate_after_days", 3_651),
        ("review_due_days", 0),
        ("review_due_days", 366),
        ("review_due_days", 1.5),
    ],
)
def test_what_a_cell_cannot_say(administrator, name, value):
    error = refused(DomainError, administrator, values={**VALUES, name: value})
    assert (error.code, error.field) == ("invalid_cell", name)
    assert not GateRule.objects.exists()


def test_a_cell_says_all_of_it_and_is_one_that_exists(administrator):
    partial = {name: value for name, value in VALUES.items() if name != "gate_b"}
    assert refused(DomainError, administrator, values=partial).field == "gate_b"
    assert refused(DomainError, administrator, values={**VALUES, "note": "x"}).field == "note"
    assert refused(NotFound, administrator, level="team").code == "cell_not_found"
    assert refused(NotFound, administrator, sensitivity="secret").code == "cell_not_found"


def outcomes(account, scope) -> dict[tuple[str, str], tuple[str, str]]:
    """Return where each cell comes from, for persons and for anything else."""
    rows = gate_rules.matrix(account.id, scope=scope)
    return {(row.level, row.sensitivity): (row.about_persons.origin, row.about_others.origin) for row in rows}


@pytest.mark.parametrize(
    ("rules_at", "seen_from", "origin"),
    [
        ([], "/support/emea", "preset:balanced"),
        ([None], "/support/emea", "account"),
        ([None, "/"], "/support/emea", "/"),
        ([None, "/", "/support"], "/support/emea", "/support"),
        ([None, "/support/emea"], "/support/emea", "/support/emea"),
        ([None, "/support/emea"], "/support", "account"),
        (["/support/emea"], "/support", "preset:balanced"),
        (["/sales"], "/support", "preset:balanced"),
        ([None, "/"], None, "account"),
        (["/"], None, "preset:balanced"),
    ],
)
def test_the_matrix_says_which_rule_holds_and_where_it_comes_from(account, rules_at, seen_from, origin):
    for path in rules_at:
        scope = ScopeFactory(account=account, path=path) if path else None
        GateRuleFactory(account=account, scope=scope, **HERE)
    seen = ScopeFactory(account=account, path=seen_from) if seen_from else None
    found = outcomes(account, seen)
    assert len(found) == 12
    assert found.pop(("scope", "internal")) == (origin, origin)
    assert set(found.values()) == {("preset:balanced", "preset:balanced")}
    own = gate_rules.cell_at(account.id, scope=seen, **HERE).own
    assert (own is not None) == (seen_from in rules_at)


def test_presets_tell_persons_from_anything_else(account):
    row = gate_rules.cell_at(account.id, scope=None, **HERE)
    assert (row.about_persons.gate_a, row.about_others.gate_a, row.is_one) == ("human", "auto_keep", False)


def test_rules_of_another_account_are_not_seen(account):
    other = AccountFactory()
    with entered(other):
        GateRuleFactory(account=other, **HERE)
    assert outcomes(account, None)[("scope", "internal")] == ("preset:balanced", "preset:balanced")


def test_what_is_built_in_is_chosen(account, administrator):
    known = {"expected_preset": "balanced", "expected_percent": 0, "note": "A trial."}
    gate_rules.set_defaults(administrator, preset="reviewed", second_look_percent=5, **known)
    changed = Account.objects.get(pk=account.pk)
    assert (changed.gate_preset, changed.second_look_percent) == ("reviewed", 5)
    assert AuditEntry.objects.get(action="gates.defaults_set").metadata == {
        "before": {"preset": "balanced", "second_look_percent": 0},
        "after": {"preset": "reviewed", "second_look_percent": 5},
    }
    (change,) = rule_changes.history(account.id, sort=RuleSort.GATE_DEFAULTS, key=gate_rules.DEFAULTS)
    assert (change.note, change.after["preset"]) == ("A trial.", "reviewed")
    with pytest.raises(Conflicting):
        gate_rules.set_defaults(administrator, preset="open", second_look_percent=5, **known)
    for preset, percent, field in (("closed", 5, "preset"), ("open", 101, "second_look_percent")):
        with pytest.raises(DomainError) as caught:
            gate_rules.set_defaults(administrator, preset=preset, second_look_percent=percent, **known)
        assert caught.value.field == field
    with pytest.raises(Refused):
        gate_rules.set_defaults(person_in(account), preset="open", second_look_percent=0, **known)


def test_a_rule_decides_from_then_on(account, administrator):
    ada = SubjectFactory(account=account)
    assert submit(ada, {"city": "Lyon"}).status == "active"
    values = {**VALUES, "gate_a": "human"}
    gate_rules.set_cell(
        administrator, scope=None, level="peer", sensitivity="personal", values=values, expected=None, note="Because."
    )
    assert submit(ada, {"song": "one"}, predicate="likes").status == "provisional"
