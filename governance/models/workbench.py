"""What reviewers leave beside their decisions: remarks, that they are looking at something, and what they chose."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models import ConflictSet, Membership
from facts.models.owned import Owned, one_of
from governance.models.reviews import Review


class Remark(Owned):
    """What somebody wrote to the others who decide, about one review or one conflict set. Never changed or removed
    but by erasure, which leaves it empty."""

    review = models.ForeignKey(Review, null=True, blank=True, on_delete=models.CASCADE, related_name="remarks")
    conflict_set = models.ForeignKey(
        ConflictSet, null=True, blank=True, on_delete=models.CASCADE, related_name="remarks"
    )
    text = models.TextField(blank=True)
    actor = models.JSONField(default=dict)
    made_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(review__isnull=True) ^ Q(conflict_set__isnull=True), name="remark_about_one_thing"
            )
        ]
        indexes = [
            models.Index(fields=["account", "review"], name="remark_by_review"),
            models.Index(fields=["account", "conflict_set"], name="remark_by_conflict"),
        ]


class LookedAt(models.TextChoices):
    """What people who decide look at."""

    REVIEW = "review"
    CONFLICT_SET = "conflict_set"


class Presence(Owned):
    """That a person who may decide has something open, and since when last. It warns others and locks nothing.

    One row per person and thing; those that are over go when the person opens something else.
    """

    membership = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="+")
    about = models.CharField(max_length=12, choices=LookedAt.choices)
    object_id = models.UUIDField()
    seen_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            one_of("about", LookedAt, "presence_about_known"),
            models.UniqueConstraint(fields=["account", "object_id", "membership"], name="presence_once"),
        ]
        indexes = [models.Index(fields=["account", "membership", "seen_at"], name="presence_by_person")]


class Selection(Owned):
    """What a person has chosen in one list, to do the same to all of it, and what became of it the last time.

    ``items``    the version that was seen (``null``: none), by the id of each chosen thing.
    ``outcome``  ``{"verb": …, "items": [{"id": …, "status": …, "code": …, "message": …}]}``, or empty.
    """

    membership = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=40, help_text="The list.")
    items = models.JSONField(default=dict)
    outcome = models.JSONField(default=dict)
    changed_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "membership", "name"], name="selection_once")]
