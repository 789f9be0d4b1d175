"""By which rule something was placed: the cells of the gate matrix, and what the gates said."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.ids import new_id
from facts.models import Fact, Scope
from facts.models.owned import Owned, one_of
from facts.vocabulary import EvidenceLevel, Level, Sensitivity


class GateAMode(models.TextChoices):
    """Gate A: is it worth keeping?"""

    AUTO_KEEP = "auto_keep"
    AUTO_REJECT = "auto_reject"
    HUMAN = "human"


class GateBMode(models.TextChoices):
    """Gate B: how widely may it be seen?"""

    AUTO_PLACE = "auto_place"
    HUMAN = "human"


class GateRule(Owned):
    """One cell of the gate matrix: for a level and a sensitivity, in a scope and below, or account-wide."""

    scope = models.ForeignKey(Scope, null=True, blank=True, on_delete=models.CASCADE, related_name="gate_rules")
    level = models.CharField(max_length=8, choices=Level.choices)
    sensitivity = models.CharField(max_length=16, choices=Sensitivity.choices)
    gate_a = models.CharField(max_length=12, choices=GateAMode.choices, default=GateAMode.HUMAN)
    gate_b = models.CharField(max_length=12, choices=GateBMode.choices, default=GateBMode.HUMAN)
    minimum_evidence_level = models.CharField(max_length=8, choices=EvidenceLevel.choices, default=EvidenceLevel.DIRECT)
    minimum_corroboration = models.PositiveIntegerField(default=1)
    revalidate_after_days = models.PositiveIntegerField(null=True, blank=True)
    review_due_days = models.PositiveIntegerField(default=7)
    change_id = models.UUIDField(
        default=new_id, help_text="Names the last change, here and in the audit: a change says which one it knows."
    )
    created_by = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "scope", "level", "sensitivity"], nulls_distinct=False, name="gate_rule_once"
            ),
            one_of("gate_a", GateAMode, "gate_rule_a_known"),
            one_of("gate_b", GateBMode, "gate_rule_b_known"),
        ]


class Gate(models.TextChoices):
    """The two questions, always asked apart."""

    A = "A"
    B = "B"


class GateDecision(Owned):
    """What one gate said about one fact, by which cell or which person. Immutable."""

    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="gate_decisions")
    gate = models.CharField(max_length=1, choices=Gate.choices)
    outcome = models.CharField(max_length=12, help_text="pass, reject or wait")
    cell = models.JSONField(default=dict, help_text="The rule that applied: where it was found and what it says.")
    reasons = models.JSONField(default=list)
    actor = models.JSONField(default=dict)
    decided_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["decided_at", "gate"]
        indexes = [models.Index(fields=["account", "fact"], name="gate_decision_by_fact")]
