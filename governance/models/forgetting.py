"""What was forgotten, by whom, and what it took."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models.owned import Owned


class ForgetMode(models.TextChoices):
    """``disable`` hides reversibly; ``delete`` removes content."""

    DISABLE = "disable"
    DELETE = "delete"


class ForgetReceipt(Owned):
    """What a forget request did: whom it named, counters per store, and the actor. Holds no content."""

    mode = models.CharField(max_length=8, choices=ForgetMode.choices)
    target = models.CharField(max_length=8, help_text="fact or subject")
    target_id = models.UUIDField()
    counters = models.JSONField(default=dict)
    actor = models.JSONField(default=dict)
    reason = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=now)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
