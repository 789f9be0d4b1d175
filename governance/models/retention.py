"""How long what was said is kept word for word."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models.owned import Owned, one_of
from facts.vocabulary import SourceType


class RetentionRule(Owned):
    """How long an account keeps the raw text of one kind of source, everywhere or in one channel.

    ``days`` count from when it was recorded; ``None``: for ever. Without a rule the installation's own holds.
    """

    source_type = models.CharField(max_length=20, choices=SourceType.choices)
    channel_id = models.CharField(max_length=128, blank=True, help_text="Empty: every channel without its own rule.")
    days = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: for ever.")
    set_by = models.JSONField(default=dict)
    set_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["source_type", "channel_id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "source_type", "channel_id"], name="retention_rule_once"),
            one_of("source_type", SourceType, "retention_source_type_known"),
        ]
