"""What readers said of what they were served."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models import Fact
from facts.models.owned import Owned, one_of


class Rating(models.TextChoices):
    """What a reader says of something that was served."""

    USEFUL = "useful"
    IRRELEVANT = "irrelevant"
    INCORRECT = "incorrect"


class Feedback(Owned):
    """What a reader said about a trace or a fact."""

    trace_id = models.UUIDField(null=True, blank=True)
    fact = models.ForeignKey(Fact, null=True, blank=True, on_delete=models.CASCADE, related_name="feedback")
    rating = models.CharField(max_length=12, choices=Rating.choices)
    comment = models.CharField(max_length=2000, blank=True)
    actor = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "feedback"
        ordering = ["-id"]
        constraints = [one_of("rating", Rating, "feedback_rating_known")]
        indexes = [models.Index(fields=["account", "created_at"], name="feedback_by_time")]
