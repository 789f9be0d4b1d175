"""What the rules of an account said before, who changed them, and why."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models.owned import Owned, one_of

NOTE_LENGTH = 500


class RuleSort(models.TextChoices):
    """Of which rules there is a history. Profiles keep their own versions."""

    GATE_RULE = "gate_rule"
    GATE_DEFAULTS = "gate_defaults"
    ACTION_RULE = "action_rule"


class RuleChange(Owned):
    """One change of one rule: what it said before and after, ``None`` where there was none, by whom, when and why.

    ``key`` names the rule among those of its sort, also after it is gone. The audit chain says the same without the
    reason, which is text.
    """

    sort = models.CharField(max_length=16, choices=RuleSort.choices)
    key = models.CharField(max_length=100)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    note = models.CharField(max_length=NOTE_LENGTH, blank=True)
    made_by = models.JSONField(default=dict)
    made_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-id"]
        constraints = [one_of("sort", RuleSort, "rule_change_sort_known")]
        indexes = [models.Index(fields=["account", "sort", "key", "id"], name="rule_change_by_rule")]
