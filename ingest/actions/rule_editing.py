"""Changing the rules of an account, by its administrators, and looking at what a change would do.

The first change writes the built-in rules down as the account's own, under their keys: a fact that set off a built-in
rule does not set off the same rule again.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import Any

from facts import audit
from facts.errors import Conflicting, DomainError, NotFound
from facts.ids import new_id
from facts.models import Account, Fact
from facts.vocabulary import Category
from governance import rule_changes
from governance.access import Principal
from governance.models import RuleSort
from ingest.actions import rules
from ingest.actions.firing import sets_off
from ingest.actions.rules import BUILT_IN, Rule
from ingest.deliveries.targets import require_administrator
from ingest.models import ActionKind, ActionRule, DeliveryTarget, NoticeTo

#: Facts that a look asks about unless told otherwise, and at most.
LOOKED_AT = 100
MOST_LOOKED_AT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleValues:
    """What a rule is to say."""

    category: str
    threshold: float
    kind: str
    notice_to: str
    target: DeliveryTarget | None
    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a rule makes of one fact now and after a change."""

    fact: Fact
    before: bool
    after: bool

    @property
    def changes(self) -> bool:
        """Whether the change makes a difference."""
        return self.before != self.after


def adopt_built_in(principal: Principal) -> list[ActionRule]:
    """Write the built-in rules down as the account's own, unless it has some; return its rules."""
    require_administrator(principal)
    Account.objects.select_for_update(no_key=True).get(pk=principal.account_id)
    own = ActionRule.objects.filter(account_id=principal.account_id)
    if not own.exists():
        for rule in BUILT_IN:
            row = ActionRule.objects.create(
                account_id=principal.account_id,
                key=rule.key,
                category=rule.category,
                threshold=rule.threshold,
                kind=rule.kind,
                notice_to=rule.notice_to,
            )
            _record(principal, row, action="action_rule.adopted", before=None)
    return list(own.order_by("category", "key"))


def add_rule(principal: Principal, *, values: RuleValues, note: str) -> ActionRule:
    """Add a rule of the account's own; ``note`` says why. Raises ``DomainError`` (``invalid_rule`` with the field, and
    what :func:`governance.rule_changes.reason` raises) and ``Refused``."""
    require_administrator(principal)
    _check(principal, values)
    note = rule_changes.reason(note)
    adopt_built_in(principal)
    row = ActionRule(account_id=principal.account_id, key=f"own-{new_id().hex}")
    _apply(row, values)
    row.save()
    _record(principal, row, action="action_rule.added", before=None)
    _note(principal, row, before=None, note=note)
    return row


def change_rule(principal: Principal, *, key: str, values: RuleValues, expected_version: int, note: str) -> ActionRule:
    """Say anew what a rule does, and why; version 0 is a built-in rule. Facts that became current before stay as they
    were.

    Raises as :func:`add_rule`, ``NotFound`` (``rule_not_found``) and ``Conflicting`` (``stale_version``).
    """
    require_administrator(principal)
    _check(principal, values)
    note = rule_changes.reason(note)
    was_built_in = not ActionRule.objects.filter(account_id=principal.account_id).exists()
    adopt_built_in(principal)
    row = ActionRule.objects.select_for_update().filter(account_id=principal.account_id, key=key).first()
    if row is None:
        raise NotFound("There is no such rule.", code="rule_not_found")
    if expected_version != (0 if was_built_in else row.version):
        raise Conflicting("Somebody else has changed it meanwhile.", code="stale_version", field="version")
    before = _said(row)
    _apply(row, values)
    row.version += 1
    row.save()
    _record(principal, row, action="action_rule.changed", before=before)
    _note(principal, row, before=before, note=note)
    return row


def preview(account_id: uuid.UUID, *, key: str, values: RuleValues, limit: int = LOOKED_AT) -> list[Look]:
    """Return what a rule would have made of the last facts of its category, before the change and after. Writes
    nothing.

    ``key`` "" is a rule that is not there yet. Three queries.
    """
    now_rule = next((rule for rule in rules.rules_of(account_id) if rule.key == key), None)
    then = Rule(
        key=key,
        category=values.category,
        threshold=values.threshold,
        kind=values.kind,
        notice_to=values.notice_to,
        enabled=values.enabled,
    )
    now_rule = now_rule or replace(then, enabled=False)
    facts = list(
        Fact.objects.filter(account_id=account_id, category__in={now_rule.category, then.category})
        .select_related("scope", "subject")
        .order_by("-id")[: min(limit, MOST_LOOKED_AT)]
    )
    live = sets_off(account_id, [fact.id for fact in facts])
    return [
        Look(
            fact=fact,
            before=fact.id in live and now_rule.applies(category=fact.category, confidence=fact.confidence),
            after=fact.id in live and then.applies(category=fact.category, confidence=fact.confidence),
        )
        for fact in facts
    ]


def _check(principal: Principal, values: RuleValues) -> None:
    if values.category not in Category.values:
        raise _invalid("category", "Choose one of these.")
    if values.kind not in ActionKind.values:
        raise _invalid("kind", "Choose one of these.")
    if values.notice_to not in NoticeTo.values:
        raise _invalid("notice_to", "Choose one of these.")
    if not 0 <= values.threshold < 1:
        raise _invalid("threshold", "A number from 0 to below 1.")
    if (values.notice_to == NoticeTo.TARGET) != (values.target is not None):
        raise _invalid("target", "A target goes with 'a target of the rule's own', and only with that.")
    if values.target is not None and values.target.account_id != principal.account_id:
        raise _invalid("target", "There is no such target.")
    if values.notice_to == NoticeTo.RECEIVER and values.category != Category.HANDOFF:
        raise _invalid("notice_to", "Only what is handed over has a receiver.")


def _apply(row: ActionRule, values: RuleValues) -> None:
    for name in RuleValues.__dataclass_fields__:
        setattr(row, name, getattr(values, name))


def _said(row: ActionRule) -> dict[str, Any]:
    said = {name: getattr(row, name) for name in ("category", "threshold", "kind", "notice_to", "enabled", "version")}
    return {**said, "target": str(row.target_id) if row.target_id else None}


def _invalid(field: str, message: str) -> DomainError:
    return DomainError(message, code="invalid_rule", field=field)


def _note(principal: Principal, row: ActionRule, *, before: dict[str, Any] | None, note: str) -> None:
    rule_changes.note_change(
        principal, sort=RuleSort.ACTION_RULE, key=row.key, before=before, after=_said(row), note=note
    )


def _record(principal: Principal, row: ActionRule, *, action: str, before: dict[str, Any] | None) -> None:
    audit.record(
        principal.account_id,
        action=action,
        object_type="action_rule",
        object_id=row.id,
        actor=principal.actor,
        group=new_id(),
        metadata={"key": row.key, "before": before, "after": _said(row)},
    )
