"""What a change of a gate rule would have done to the last facts, asked of them as they were proposed. Writes nothing.

Asked are the two gates alone: what a fact contradicts or repeats does not depend on a rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Q

from facts.models import Account, Fact, FactRevision, Scope
from facts.status_graph import FINAL
from facts.tenancy import ROOT
from governance.access import Principal
from governance.gating import gate_rules, gates
from governance.gating.gates import Question, Verdict
from governance.models import GateRule
from governance.sharing import consent_records

#: Facts that a look asks about unless told otherwise, and at most.
LOOKED_AT = 100
MOST_LOOKED_AT = 500

#: The rules of an account, and the preset that holds where none is set.
_Matrix = tuple[Sequence[GateRule], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the gates would make of one fact now and after the change: the status, and the reasons for less."""

    fact: Fact
    before: str
    after: str
    reasons_before: tuple[str, ...]
    reasons_after: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """Whether the change would have made a difference."""
        return self.before != self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The outcomes, newest fact first, and how many there are of each (before, after)."""

    outcomes: list[Outcome]
    counts: dict[tuple[str, str], int]

    @property
    def changed(self) -> list[Outcome]:
        """Those for which something would be different."""
        return [outcome for outcome in self.outcomes if outcome.changes]


def preview(
    principal: Principal,
    *,
    scope: Scope | None,
    level: str,
    sensitivity: str,
    values: Mapping[str, Any] | None,
    limit: int = LOOKED_AT,
) -> Preview:
    """Return what the cell would do with ``values``, or without a rule (``None``), to the last ``limit`` facts that
    were proposed with this level and sensitivity in ``scope`` or below it.

    Raises what :func:`governance.gating.gate_rules.set_cell` raises, but for ``stale_version``. Runs in the caller's
    account transaction.
    """
    gate_rules.require_administrator(principal)
    gate_rules.cell_at(principal.account_id, scope=scope, level=level, sensitivity=sensitivity)
    present = gates.rules_of(principal.account_id)
    proposed = [rule for rule in present if _cell(rule) != (scope.id if scope else None, level, sensitivity)]
    if values is not None:
        said = asdict(gate_rules.check(values))
        proposed.append(
            GateRule(account_id=principal.account_id, scope=scope, level=level, sensitivity=sensitivity, **said)
        )
    preset = Account.objects.values_list("gate_preset", flat=True).get(pk=principal.account_id)
    cell = Q(level=level, sensitivity=sensitivity)
    return _asked(
        _first_revisions(principal, _within(scope) & cell, limit=limit), (present, preset), (proposed, preset)
    )


def preview_preset(principal: Principal, *, preset: str, limit: int = LOOKED_AT) -> Preview:
    """Return what another preset would do to the last ``limit`` facts that were proposed in the account.

    Raises ``DomainError`` (``invalid_cell``) and what :func:`gate_rules.require_administrator` raises.
    """
    gate_rules.require_administrator(principal)
    gate_rules.check_preset(preset)
    rules = gates.rules_of(principal.account_id)
    present = Account.objects.values_list("gate_preset", flat=True).get(pk=principal.account_id)
    return _asked(_first_revisions(principal, Q(), limit=limit), (rules, present), (rules, preset))


def _asked(firsts: Sequence[FactRevision], before: _Matrix, after: _Matrix) -> Preview:
    outcomes = [_outcome(first, before, after) for first in firsts]
    return Preview(outcomes=outcomes, counts=dict(Counter((one.before, one.after) for one in outcomes)))


def _cell(rule: GateRule) -> tuple[Any, str, str]:
    return rule.scope_id, rule.level, rule.sensitivity


def _within(scope: Scope | None) -> Q:
    if scope is None or scope.path == ROOT:
        return Q()
    return Q(fact__scope__path=scope.path) | Q(fact__scope__path__startswith=f"{scope.path}/")


def _first_revisions(principal: Principal, wanted: Q, *, limit: int) -> list[FactRevision]:
    """Return how the newest facts were proposed. What was withdrawn or wiped is not asked about."""
    return list(
        FactRevision.objects.filter(wanted, account_id=principal.account_id, version=1)
        .exclude(fact__status__in=FINAL)
        .select_related("fact__subject", "fact__scope")
        .order_by("-fact_id")[: min(limit, MOST_LOOKED_AT)]
    )


def _outcome(first: FactRevision, present: _Matrix, proposed: _Matrix) -> Outcome:
    question = _question(first)
    before, after = (_verdict(first, question, *matrix) for matrix in (present, proposed))
    return Outcome(
        fact=first.fact,
        before=gates.placed_status(before, level=first.level),
        after=gates.placed_status(after, level=first.level),
        reasons_before=before.reasons_a + before.reasons_b,
        reasons_after=after.reasons_a + after.reasons_b,
    )


def _verdict(first: FactRevision, question: Question, rules: Sequence[GateRule], preset: str) -> Verdict:
    cell = gates.find_cell(
        rules,
        scope_path=first.fact.scope.path,
        preset=preset,
        level=first.level,
        sensitivity=first.sensitivity,
        subject_kind=first.fact.subject.kind,
    )
    return gates.judge(question, cell)


def _question(first: FactRevision) -> Question:
    fact = first.fact
    return Question(
        level=first.level,
        sensitivity=first.sensitivity,
        subject_kind=fact.subject.kind,
        kind=fact.kind,
        evidence_level=fact.evidence_level,
        origin_trust=fact.origin_trust,
        corroboration=first.corroboration,
        consent_given=consent_records.needs_consent(fact) and consent_records.is_granted(fact),
    )
