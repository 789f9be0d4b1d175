"""The two gates: every cell of the presets, which rule applies, and that anything odd means a person."""

from __future__ import annotations

from itertools import product

import pytest

from facts import tenancy
from facts.vocabulary import EvidenceLevel, Kind, Level, Sensitivity, SubjectKind
from governance.gating.gates import Cell, GateOutcome, Question, find_cell, judge, preset_cell, rules_of
from governance.models import GateAMode
from tests.factories import GateRuleFactory

EVERYTHING = list(product(Level.values, Sensitivity.values, SubjectKind.values))

#: (level, sensitivity) → which subjects' facts become active by themselves under ``balanced``.
BALANCED = {
    ("peer", "public"): "all",
    ("peer", "internal"): "all",
    ("peer", "personal"): "all",
    ("scope", "public"): "things",
    ("scope", "internal"): "things",
}


def question(**fields) -> Question:
    """Return a question that a preset answers with yes, changed as told."""
    base = {
        "level": "peer",
        "sensitivity": "personal",
        "subject_kind": "person",
        "kind": Kind.ATTRIBUTE,
        "evidence_level": "direct",
        "origin_trust": "trusted",
        "corroboration": 1,
    }
    return Question(**{**base, **fields})


def passes(preset: str, level: str, sensitivity: str, kind: str) -> bool:
    """Tell whether a preset places such a fact by itself."""
    asked = {"level": level, "sensitivity": sensitivity, "subject_kind": kind}
    return judge(question(**asked), preset_cell(preset, **asked)).accepted


@pytest.mark.parametrize(("level", "sensitivity", "kind"), EVERYTHING)
def test_balanced(level, sensitivity, kind):
    whose = BALANCED.get((level, sensitivity), "nobody")
    assert passes("balanced", level, sensitivity, kind) == (whose == "all" or (whose == "things" and kind != "person"))


@pytest.mark.parametrize(("level", "sensitivity", "kind"), EVERYTHING)
def test_open(level, sensitivity, kind):
    needs_consent = kind == "person" and sensitivity == "personal" and level != "peer"
    assert passes("open", level, sensitivity, kind) == (sensitivity != "restricted" and not needs_consent)


@pytest.mark.parametrize("preset", ["reviewed", "", "unknown"])
def test_reviewed_and_whatever_is_unknown(preset):
    assert not any(passes(preset, *cell) for cell in EVERYTHING)


def test_consent_opens_what_only_lacked_it():
    asked = {"level": "scope", "sensitivity": "personal", "subject_kind": "person"}
    cell = preset_cell("open", **asked)
    assert judge(question(**asked), cell).reasons_b == ("consent_missing",)
    assert judge(question(**asked, consent_given=True), cell).accepted


def test_machine_evidence_is_enough_for_a_preset():
    cell = preset_cell("balanced", level="peer", sensitivity="personal", subject_kind="person")
    assert judge(question(corroboration=0), cell).accepted


AUTOMATIC = {"gate_a": "auto_keep", "gate_b": "auto_place", "minimum_evidence_level": "indirect"}


@pytest.mark.parametrize(
    ("cell", "asked", "gate_a", "gate_b", "reasons"),
    [
        ({}, {}, "pass", "pass", ()),
        ({"gate_a": "human"}, {}, "wait", "pass", ("rule_wants_a_person",)),
        ({"gate_b": "human"}, {}, "pass", "wait", ("rule_wants_a_person",)),
        ({"gate_a": "auto_reject"}, {}, "reject", "pass", ("rule_rejects",)),
        ({"gate_a": "nonsense"}, {}, "wait", "wait", ("rule_malformed", "rule_wants_a_person", "rule_malformed")),
        ({"gate_b": ""}, {}, "wait", "wait", ("rule_malformed", "rule_malformed", "rule_wants_a_person")),
        (
            {"gate_a": "auto_reject", "gate_b": "odd"},
            {},
            "wait",
            "wait",
            ("rule_malformed", "rule_wants_a_person", "rule_malformed", "rule_wants_a_person"),
        ),
        ({"minimum_evidence_level": "odd"}, {}, "wait", "wait", ("rule_malformed", "rule_malformed")),
        ({"minimum_corroboration": -1}, {}, "wait", "wait", ("rule_malformed", "rule_malformed")),
        ({"revalidate_after_days": True}, {}, "wait", "wait", ("rule_malformed", "rule_malformed")),
        ({"review_due_days": -1}, {}, "wait", "wait", ("rule_malformed", "rule_malformed")),
        ({"minimum_evidence_level": "direct"}, {"evidence_level": "indirect"}, "wait", "pass", ("evidence_indirect",)),
        ({"minimum_evidence_level": "direct"}, {}, "pass", "pass", ()),
        ({"minimum_corroboration": 2}, {}, "pass", "wait", ("corroboration_too_low",)),
        ({"minimum_corroboration": 2}, {"corroboration": 2}, "pass", "pass", ()),
        ({}, {"sensitivity": "restricted"}, "pass", "wait", ("restricted",)),
        ({}, {"origin_trust": "untrusted"}, "wait", "pass", ("untrusted_source",)),
        ({}, {"origin_trust": "third_party"}, "pass", "pass", ()),
        ({}, {"kind": "instruction", "origin_trust": "third_party"}, "reject", "pass", ("untrusted_instruction",)),
        ({}, {"kind": "instruction", "origin_trust": "untrusted"}, "reject", "pass", ("untrusted_instruction",)),
        ({}, {"kind": "instruction", "origin_trust": "semi_trusted"}, "pass", "pass", ()),
    ],
)
def test_judging(cell, asked, gate_a, gate_b, reasons):
    verdict = judge(question(**asked), Cell(origin="test", **{**AUTOMATIC, **cell}))
    assert (verdict.gate_a, verdict.gate_b, verdict.reasons_a + verdict.reasons_b) == (gate_a, gate_b, reasons)
    assert verdict.accepted == (gate_a == gate_b == "pass")
    assert verdict.rejected == (gate_a == GateOutcome.REJECT)


def test_a_cell_that_says_nothing_means_a_person():
    verdict = judge(question(), Cell(origin="test"))
    assert (verdict.gate_a, verdict.gate_b) == (GateOutcome.WAIT, GateOutcome.WAIT)


def origin(account, path: str, **asked) -> str:
    """Return where the cell of a fact at ``path`` is found."""
    named = {"level": "peer", "sensitivity": "personal", **asked}
    return find_cell(rules_of(account.id), scope_path=path, preset="balanced", subject_kind="person", **named).origin


def test_the_nearest_rule_upwards_applies(account):
    assert origin(account, "/support/emea") == "preset:balanced"
    GateRuleFactory(account=account)
    assert origin(account, "/support/emea") == "account"
    for path in ("/", "/support", "/support/emea"):
        GateRuleFactory(account=account, scope=tenancy.ensure_scope(account.id, path))
        assert origin(account, "/support/emea") == path
    assert origin(account, "/support/emea/paris") == "/support/emea"
    assert origin(account, "/support/emeats") == "/support"
    assert origin(account, "/sales") == "/"


def test_a_rule_is_about_its_level_and_sensitivity(account):
    GateRuleFactory(account=account, gate_a=GateAMode.HUMAN)
    assert origin(account, "/", level="scope") == "preset:balanced"
    assert origin(account, "/", sensitivity="public") == "preset:balanced"
    assert origin(account, "/") == "account"


def test_a_rule_says_all_of_it(account):
    GateRuleFactory(
        account=account, minimum_corroboration=3, revalidate_after_days=90, review_due_days=2, gate_b="human"
    )
    cell = find_cell(
        rules_of(account.id),
        scope_path="/",
        preset="open",
        level="peer",
        sensitivity="personal",
        subject_kind="person",
    )
    assert cell == Cell(
        origin="account",
        gate_a="auto_keep",
        gate_b="human",
        minimum_evidence_level=EvidenceLevel.INDIRECT,
        minimum_corroboration=3,
        revalidate_after_days=90,
        review_due_days=2,
    )
