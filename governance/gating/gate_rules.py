"""The gate matrix of an account as its administrators see and change it.

A cell is set for a scope and what is below it, or for the whole account, and a level and a sensitivity. A change says
which change it knows, so that two administrators do not overwrite each other, and why it is made; what held before and
after is in the history of the rule (``governance.rule_changes``) and in the audit.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from facts import audit
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.ids import new_id
from facts.models import Account, Scope
from facts.models.tenancy import GatePreset
from facts.tenancy import account_transaction
from facts.vocabulary import EvidenceLevel, Level, Sensitivity, SubjectKind
from governance import rule_changes
from governance.access import Principal, has_role
from governance.gating import gates
from governance.gating.gates import Cell
from governance.models import GateAMode, GateBMode, GateRule, Role, RuleSort

#: Bounds of what may be typed: sources, and days of ten years and of a year.
MOST_CORROBORATION = 100
MOST_REVALIDATION_DAYS = 3_650
MOST_DUE_DAYS = 365
#: What the history calls what holds where no rule is set.
DEFAULTS = "defaults"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellValues:
    """What somebody wants a cell to say, in the fields of :class:`governance.models.GateRule`. Days are whole days."""

    gate_a: str
    gate_b: str
    minimum_evidence_level: str
    minimum_corroboration: int
    revalidate_after_days: int | None
    review_due_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One level and sensitivity at a place: the rule that is set right there, if any, and what holds.

    The built-in cells tell persons from anything else; rules do not.
    """

    level: str
    sensitivity: str
    own: GateRule | None
    about_persons: Cell
    about_others: Cell

    @property
    def is_one(self) -> bool:
        """Whether the same holds whomever a fact is about."""
        return self.about_persons == self.about_others


def require_administrator(principal: Principal) -> None:
    """Raise ``Refused`` (``human_required``, ``forbidden``) unless the caller is a person who administers the
    account."""
    if not principal.is_person:
        raise Refused("A person has to decide this.", code="human_required")
    if not has_role(principal, "/", Role.ACCOUNT_ADMIN):
        raise Refused("Only account administrators change this.", code="forbidden")


def cell_key(scope_id: uuid.UUID | None, level: str, sensitivity: str) -> str:
    """Return what the history calls a cell."""
    return f"{scope_id or 'account'}/{level}/{sensitivity}"


def matrix(account_id: uuid.UUID, *, scope: Scope | None) -> list[MatrixRow]:
    """Return the twelve cells that hold at ``scope`` (``None``: where no scope says otherwise), in reading order."""
    rules = gates.rules_of(account_id)
    preset = Account.objects.values_list("gate_preset", flat=True).get(pk=account_id)
    own = {(rule.level, rule.sensitivity): rule for rule in rules if rule.scope_id == (scope.id if scope else None)}
    return [
        MatrixRow(
            level=level,
            sensitivity=sensitivity,
            own=own.get((level, sensitivity)),
            about_persons=_effective(rules, scope, preset, level, sensitivity, SubjectKind.PERSON),
            about_others=_effective(rules, scope, preset, level, sensitivity, SubjectKind.TOPIC),
        )
        for level in Level.values
        for sensitivity in Sensitivity.values
    ]


def cell_at(account_id: uuid.UUID, *, scope: Scope | None, level: str, sensitivity: str) -> MatrixRow:
    """Return one cell of :func:`matrix`; raises ``NotFound`` (``cell_not_found``) for a level or sensitivity that
    does not exist."""
    for row in matrix(account_id, scope=scope):
        if (row.level, row.sensitivity) == (level, sensitivity):
            return row
    raise NotFound("There is no such cell.", code="cell_not_found")


def set_cell(
    principal: Principal,
    *,
    scope: Scope | None,
    level: str,
    sensitivity: str,
    values: Mapping[str, Any],
    expected: uuid.UUID | None,
    note: str,
) -> GateRule:
    """Make ``values`` (names as in :class:`CellValues`) the cell for ``scope``, ``None`` for the whole account.

    ``expected`` is the ``change_id`` of the rule that was looked at, ``None`` when there was none; ``note`` says why.
    Raises ``DomainError`` (``invalid_cell``, with the field, and what :func:`rule_changes.reason` raises), ``NotFound``
    (``cell_not_found``), ``Conflicting`` (``stale_version``) and what :func:`require_administrator` raises.
    """
    require_administrator(principal)
    checked = check(values)
    note = rule_changes.reason(note)
    _check_names(level, sensitivity)
    with account_transaction(principal.account_id):
        before = _locked(principal.account_id, scope, level, sensitivity, expected=expected)
        said = _said(before)
        rule = before or GateRule(
            account_id=principal.account_id,
            scope=scope,
            level=level,
            sensitivity=sensitivity,
            created_by=principal.actor.as_json(),
        )
        for name, value in asdict(checked).items():
            setattr(rule, name, value)
        rule.change_id = new_id()
        rule.save()
        _record(principal, rule, action="gate_rule.set", before=said, after=asdict(checked), note=note)
    return rule


def remove_cell(
    principal: Principal, *, scope: Scope | None, level: str, sensitivity: str, expected: uuid.UUID | None, note: str
) -> None:
    """Take a cell away: what is next upwards holds there again. Raises as :func:`set_cell`."""
    require_administrator(principal)
    _check_names(level, sensitivity)
    note = rule_changes.reason(note)
    with account_transaction(principal.account_id):
        rule = _locked(principal.account_id, scope, level, sensitivity, expected=expected)
        if rule is None:
            raise NotFound("There is no such cell.", code="cell_not_found")
        said, rule_id = _said(rule), rule.id
        rule.change_id = new_id()
        _record(principal, rule, action="gate_rule.removed", before=said, after=None, note=note)
        GateRule.objects.filter(account_id=principal.account_id, pk=rule_id).delete()


def set_defaults(
    principal: Principal,
    *,
    preset: str,
    second_look_percent: int,
    expected_preset: str,
    expected_percent: int,
    note: str,
) -> Account:
    """Choose what holds where no rule is set, and how many of a hundred placed facts get a second look.

    The expected values are those that were looked at. Raises as :func:`set_cell`.
    """
    require_administrator(principal)
    check_preset(preset)
    _check_count("second_look_percent", second_look_percent, most=100)
    note = rule_changes.reason(note)
    with account_transaction(principal.account_id):
        account = Account.objects.select_for_update(no_key=True).get(pk=principal.account_id)
        before = {"preset": account.gate_preset, "second_look_percent": account.second_look_percent}
        if before != {"preset": expected_preset, "second_look_percent": expected_percent}:
            raise _changed()
        account.gate_preset, account.second_look_percent = preset, second_look_percent
        account.save(update_fields=["gate_preset", "second_look_percent"])
        after = {"preset": preset, "second_look_percent": second_look_percent}
        rule_changes.note_change(
            principal, sort=RuleSort.GATE_DEFAULTS, key=DEFAULTS, before=before, after=after, note=note
        )
        audit.record(
            account.id,
            action="gates.defaults_set",
            object_type="account",
            object_id=account.id,
            actor=principal.actor,
            group=new_id(),
            metadata={"before": before, "after": after},
        )
    return account


def check(values: Mapping[str, Any]) -> CellValues:
    """Return what a cell is to say, or raise ``DomainError`` (``invalid_cell``) naming the field at fault."""
    names = CellValues.__dataclass_fields__
    if set(values) != set(names):
        raise DomainError("A cell says all of it.", code="invalid_cell", field=next(iter(set(values) ^ set(names))))
    for name, choices in (("gate_a", GateAMode), ("gate_b", GateBMode), ("minimum_evidence_level", EvidenceLevel)):
        if values[name] not in choices.values:
            raise DomainError("Choose one of these.", code="invalid_cell", field=name)
    _check_count("minimum_corroboration", values["minimum_corroboration"], most=MOST_CORROBORATION)
    if values["revalidate_after_days"] is not None:
        _check_count("revalidate_after_days", values["revalidate_after_days"], least=1, most=MOST_REVALIDATION_DAYS)
    _check_count("review_due_days", values["review_due_days"], least=1, most=MOST_DUE_DAYS)
    return CellValues(**values)


def check_preset(preset: str) -> None:
    """Raise ``DomainError`` (``invalid_cell``) for a preset that does not exist."""
    if preset not in GatePreset.values:
        raise DomainError("There is no such preset.", code="invalid_cell", field="preset")


def _check_count(name: str, number: Any, *, least: int = 0, most: int) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise DomainError(f"A whole number from {least} to {most}.", code="invalid_cell", field=name)


def _check_names(level: str, sensitivity: str) -> None:
    if level not in Level.values or sensitivity not in Sensitivity.values:
        raise NotFound("There is no such cell.", code="cell_not_found")


def _effective(
    rules: list[GateRule], scope: Scope | None, preset: str, level: str, sensitivity: str, subject_kind: str
) -> Cell:
    if scope is None:
        rules = [rule for rule in rules if rule.scope_id is None]
    return gates.find_cell(
        rules,
        scope_path=scope.path if scope else "/",
        preset=preset,
        level=level,
        sensitivity=sensitivity,
        subject_kind=subject_kind,
    )


def _locked(
    account_id: uuid.UUID, scope: Scope | None, level: str, sensitivity: str, *, expected: uuid.UUID | None
) -> GateRule | None:
    """Serialise changes of the account's rules, and return the rule that is there if it is the expected one."""
    Account.objects.select_for_update(no_key=True).get(pk=account_id)
    rule = GateRule.objects.filter(account_id=account_id, scope=scope, level=level, sensitivity=sensitivity).first()
    if (rule.change_id if rule else None) != expected:
        raise _changed()
    return rule


def _said(rule: GateRule | None) -> dict[str, Any] | None:
    return None if rule is None else {name: getattr(rule, name) for name in CellValues.__dataclass_fields__}


def _changed() -> Conflicting:
    return Conflicting("Somebody else has changed it meanwhile.", code="stale_version", field="expected")


def _record(
    principal: Principal,
    rule: GateRule,
    *,
    action: str,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    note: str,
) -> None:
    key = cell_key(rule.scope_id, rule.level, rule.sensitivity)
    rule_changes.note_change(principal, sort=RuleSort.GATE_RULE, key=key, before=before, after=after, note=note)
    audit.record(
        principal.account_id,
        action=action,
        object_type="gate_rule",
        object_id=rule.id,
        actor=principal.actor,
        group=rule.change_id,
        metadata={
            "scope": str(rule.scope_id) if rule.scope_id else None,
            "level": rule.level,
            "sensitivity": rule.sensitivity,
            "before": before,
            "after": after,
        },
    )
