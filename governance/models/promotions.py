"""Requests to let a fact be known in a scope above its own."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models import Fact, Scope
from facts.models.owned import Owned, one_of
from governance.models.reviews import Review


class PromotionStatus(models.TextChoices):
    """Where a request stands. ``refused``: by the subject, before; ``withdrawn``: the copy was pulled back after."""

    REQUESTED = "requested"
    APPROVED = "approved"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"


class Promotion(Owned):
    """One request: this version of this fact, to that scope, for this reason. ``copy`` is what its approval made."""

    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="promotions")
    fact_version = models.PositiveIntegerField()
    target = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="+")
    reason = models.CharField(max_length=500)
    status = models.CharField(max_length=12, choices=PromotionStatus.choices, default=PromotionStatus.REQUESTED)
    review = models.OneToOneField(Review, on_delete=models.CASCADE, related_name="promotion")
    copy = models.ForeignKey(Fact, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    requested_by = models.JSONField(default=dict)
    requested_at = models.DateTimeField(default=now)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            one_of("status", PromotionStatus, "promotion_status_known"),
            models.UniqueConstraint(
                fields=["account", "fact"], condition=Q(status=PromotionStatus.REQUESTED), name="promotion_one_open"
            ),
        ]
        indexes = [
            models.Index(fields=["account", "fact"], name="promotion_by_fact"),
            models.Index(fields=["account", "target", "status"], name="promotion_by_target"),
        ]
