"""The two gates: is it worth keeping (A), and how widely may it be seen (B)?

The matrix cell of a fact is looked up from its scope upwards, then account-wide, then in the account's preset.
Anything missing or malformed means: a person decides. Confidence never opens a gate.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from facts.models.tenancy import GatePreset
from facts.tenancy import ancestor_paths
from facts.vocabulary import (
    EvidenceLevel,
    Kind,
    Level,
    OriginTrust,
    Sensitivity,
    Status,
    SubjectKind,
)
from governance.models import GateAMode, GateBMode, GateRule
from governance.sharing.consent_rule import consent_needed

#: Why a person is asked where a rule cannot be read.
MALFORMED = "rule_malformed"

#: Days until a waiting review is due when no rule says otherwise.
REVIEW_DUE_DAYS = 7
#: The reason of gate B where only the subject can help.
CONSENT_MISSING = "consent_missing"


class GateOutcome(StrEnum):
    """What a gate says."""

    PASS = "pass"  # noqa: S105
    REJECT = "reject"
    WAIT = "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of the matrix. ``origin``: the scope path of the rule, ``account`` or ``preset:NAME``."""

    origin: str
    gate_a: str = GateAMode.HUMAN
    gate_b: str = GateBMode.HUMAN
    minimum_evidence_level: str = EvidenceLevel.DIRECT
    minimum_corroboration: int = 1
    revalidate_after_days: int | None = None
    review_due_days: int = REVIEW_DUE_DAYS

    def as_json(self) -> dict[str, Any]:
        """Return what a decision row keeps of the cell."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the gates look at: the audience asked for, whom it is about, and how it is supported."""

    level: str
    sensitivity: str
    subject_kind: str
    kind: str
    evidence_level: str
    origin_trust: str
    corroboration: int
    consent_given: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Both gates' answers with the reasons for anything but a pass."""

    cell: Cell
    gate_a: GateOutcome
    gate_b: GateOutcome
    reasons_a: tuple[str, ...] = ()
    reasons_b: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Both gates passed."""
        return self.gate_a is GateOutcome.PASS and self.gate_b is GateOutcome.PASS

    @property
    def rejected(self) -> bool:
        """Gate A said no."""
        return self.gate_a is GateOutcome.REJECT


#: What a preset decides by itself asks for no human source: pages and search results have none.
_AUTOMATIC = {
    "gate_a": GateAMode.AUTO_KEEP,
    "gate_b": GateBMode.AUTO_PLACE,
    "minimum_evidence_level": EvidenceLevel.INDIRECT,
    "minimum_corroboration": 0,
}


def preset_cell(preset: str, *, level: str, sensitivity: str, subject_kind: str) -> Cell:
    """Return the built-in cell of a preset. Unknown presets and restricted facts are for people."""
    origin = f"preset:{preset}"
    about_person = subject_kind == SubjectKind.PERSON
    open_kinds = {Sensitivity.PUBLIC, Sensitivity.INTERNAL}
    match preset:
        case GatePreset.BALANCED:
            automatic = (level == Level.PEER and sensitivity in open_kinds | {Sensitivity.PERSONAL}) or (
                level == Level.SCOPE and sensitivity in open_kinds and not about_person
            )
        case GatePreset.OPEN:
            automatic = sensitivity != Sensitivity.RESTRICTED
        case _:
            automatic = False
    return Cell(origin=origin, **_AUTOMATIC) if automatic else Cell(origin=origin)


def find_cell(
    rules: Sequence[GateRule], *, scope_path: str, preset: str, level: str, sensitivity: str, subject_kind: str
) -> Cell:
    """Return the effective cell: nearest scope upwards, then account-wide, then the preset. Pure."""
    fitting = [rule for rule in rules if (rule.level, rule.sensitivity) == (level, sensitivity)]
    by_path = {rule.scope.path: rule for rule in fitting if rule.scope is not None}
    for path in [scope_path, *ancestor_paths(scope_path)]:
        if path in by_path:
            return _cell_of(by_path[path], origin=path)
    account_wide = [rule for rule in fitting if rule.scope_id is None]
    if account_wide:
        return _cell_of(account_wide[0], origin="account")
    return preset_cell(preset, level=level, sensitivity=sensitivity, subject_kind=subject_kind)


def _cell_of(rule: GateRule, *, origin: str) -> Cell:
    return Cell(
        origin=origin,
        gate_a=rule.gate_a,
        gate_b=rule.gate_b,
        minimum_evidence_level=rule.minimum_evidence_level,
        minimum_corroboration=rule.minimum_corroboration,
        revalidate_after_days=rule.revalidate_after_days,
        review_due_days=rule.review_due_days,
    )


def judge(question: Question, cell: Cell) -> Verdict:
    """Ask both gates. Pure. A cell of which anything is not understood is a cell for people.

    Instructions from sources below semi-trusted are refused whatever the cell says, untrusted sources and restricted
    facts always wait for a person, and so does a personal fact about a person above peer level without consent.
    """
    gate_a, reasons_a = _judge_keeping(question, cell)
    gate_b, reasons_b = _judge_placement(question, cell)
    return Verdict(cell=cell, gate_a=gate_a, gate_b=gate_b, reasons_a=reasons_a, reasons_b=reasons_b)


def _judge_keeping(question: Question, cell: Cell) -> tuple[GateOutcome, tuple[str, ...]]:
    if question.kind == Kind.INSTRUCTION and question.origin_trust in {
        OriginTrust.THIRD_PARTY,
        OriginTrust.UNTRUSTED,
    }:
        return GateOutcome.REJECT, ("untrusted_instruction",)
    if cell.gate_a == GateAMode.AUTO_REJECT and not malformed(cell):
        return GateOutcome.REJECT, ("rule_rejects",)
    reasons = [MALFORMED] if malformed(cell) else []
    if cell.gate_a != GateAMode.AUTO_KEEP:
        reasons.append("rule_wants_a_person")
    if question.origin_trust == OriginTrust.UNTRUSTED:
        reasons.append("untrusted_source")
    if cell.minimum_evidence_level != EvidenceLevel.INDIRECT and question.evidence_level != EvidenceLevel.DIRECT:
        reasons.append("evidence_indirect")
    return (GateOutcome.WAIT if reasons else GateOutcome.PASS), tuple(reasons)


def _judge_placement(question: Question, cell: Cell) -> tuple[GateOutcome, tuple[str, ...]]:
    reasons = [MALFORMED] if malformed(cell) else []
    if question.sensitivity == Sensitivity.RESTRICTED:
        reasons.append("restricted")
    if cell.gate_b != GateBMode.AUTO_PLACE:
        reasons.append("rule_wants_a_person")
    if question.corroboration < cell.minimum_corroboration:
        reasons.append("corroboration_too_low")
    asked = consent_needed(subject_kind=question.subject_kind, sensitivity=question.sensitivity, level=question.level)
    if asked and not question.consent_given:
        reasons.append(CONSENT_MISSING)
    return (GateOutcome.WAIT if reasons else GateOutcome.PASS), tuple(reasons)


def malformed(cell: Cell) -> list[str]:
    """Return the names of those parts of a cell that say nothing that is understood. Pure."""
    unknown = {
        "gate_a": cell.gate_a not in GateAMode.values,
        "gate_b": cell.gate_b not in GateBMode.values,
        "minimum_evidence_level": cell.minimum_evidence_level not in EvidenceLevel.values,
        "minimum_corroboration": not _is_count(cell.minimum_corroboration),
        "revalidate_after_days": cell.revalidate_after_days is not None and not _is_count(cell.revalidate_after_days),
        "review_due_days": not _is_count(cell.review_due_days),
    }
    return [name for name, wrong in unknown.items() if wrong]


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def placed_status(verdict: Verdict, *, level: str) -> str:
    """Return the status in which the gates' answer leaves a new fact that nothing contradicts. Pure."""
    if verdict.rejected:
        return Status.REJECTED
    if verdict.accepted:
        return Status.ACTIVE
    return Status.PROVISIONAL if level == Level.PEER else Status.HELD


def rules_of(account_id: uuid.UUID) -> list[GateRule]:
    """Return all gate rules of an account."""
    return list(GateRule.objects.filter(account_id=account_id).select_related("scope").order_by("id"))
