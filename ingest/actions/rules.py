"""Which rule makes what of which fact: those of the account, or the built-in ones while it has none."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from facts.vocabulary import Category
from ingest.models import ActionKind, ActionRule, NoticeTo


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule as it holds: a fact of ``category`` with a confidence above ``threshold`` makes an action of ``kind``.

    ``version`` 0 is a built-in rule. ``target_id`` goes with the notice to a target of its own.
    """

    key: str
    category: str
    threshold: float
    kind: str
    notice_to: str = NoticeTo.NOBODY
    target_id: uuid.UUID | None = None
    enabled: bool = True
    version: int = 0

    def applies(self, *, category: str, confidence: float) -> bool:
        """Tell whether the rule makes something of a fact: strictly above its threshold."""
        return self.enabled and category == self.category and confidence > self.threshold


#: The built-in rules, with the thresholds of the design.
BUILT_IN: tuple[Rule, ...] = (
    Rule(key="commitment-task", category=Category.COMMITMENT, threshold=0.85, kind=ActionKind.TASK),
    Rule(key="blocker-blocker", category=Category.BLOCKER, threshold=0.7, kind=ActionKind.BLOCKER),
    Rule(
        key="handoff-message",
        category=Category.HANDOFF,
        threshold=0.75,
        kind=ActionKind.MESSAGE,
        notice_to=NoticeTo.RECEIVER,
    ),
    Rule(
        key="deadline-alert",
        category=Category.DEADLINE_MENTION,
        threshold=0.8,
        kind=ActionKind.ALERT,
        notice_to=NoticeTo.OPS,
    ),
    Rule(
        key="risk-blocker",
        category=Category.RISK_SIGNAL,
        threshold=0.7,
        kind=ActionKind.BLOCKER,
        notice_to=NoticeTo.OPS,
    ),
    Rule(key="mood-flag", category=Category.MOOD_SIGNAL, threshold=0.7, kind=ActionKind.FLAG, notice_to=NoticeTo.OPS),
)


def rules_of(account_id: uuid.UUID) -> list[Rule]:
    """Return the rules that hold in the account; one query."""
    stored = [of_row(row) for row in ActionRule.objects.filter(account_id=account_id).order_by("category", "key")]
    return stored or list(BUILT_IN)


def of_row(row: ActionRule) -> Rule:
    """Return a stored rule as it holds."""
    return Rule(
        key=row.key,
        category=row.category,
        threshold=row.threshold,
        kind=row.kind,
        notice_to=row.notice_to,
        target_id=row.target_id,
        enabled=row.enabled,
        version=row.version,
    )


def matching(rules: Iterable[Rule], *, category: str, confidence: float) -> list[Rule]:
    """Return the rules that make something of such a fact."""
    return [rule for rule in rules if rule.applies(category=category, confidence=confidence)]
