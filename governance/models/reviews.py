"""What waits for people, and what they decided."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models import ConflictSet, Event, Fact, Membership
from facts.models.owned import Owned, one_of


class ReviewKind(models.TextChoices):
    """What waits for a person."""

    NEW_FACT = "new_fact"
    PROMOTION = "promotion"
    REVALIDATION = "revalidation"
    CONTEST = "contest"
    CONFLICT = "conflict"
    POSSIBLE_CONFLICT = "possible_conflict"
    UNRESOLVED_SUBJECT = "unresolved_subject"
    DIRECTIVE = "directive"


class ReviewStatus(models.TextChoices):
    """Where a review stands."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class Review(Owned):
    """Something that waits for a person's decision. Names the fact version that the decision is about."""

    kind = models.CharField(max_length=20, choices=ReviewKind.choices)
    status = models.CharField(max_length=12, choices=ReviewStatus.choices, default=ReviewStatus.PENDING)
    fact = models.ForeignKey(Fact, null=True, blank=True, on_delete=models.CASCADE, related_name="reviews")
    fact_version = models.PositiveIntegerField(null=True, blank=True)
    event = models.ForeignKey(Event, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    conflict_set = models.ForeignKey(
        ConflictSet, null=True, blank=True, on_delete=models.CASCADE, related_name="reviews"
    )
    reasons = models.JSONField(default=list)
    detail = models.JSONField(default=dict, blank=True)
    requested_by = models.JSONField(default=dict)
    assignee = models.ForeignKey(Membership, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=now)
    due_at = models.DateTimeField(null=True, blank=True)
    deferred_until = models.DateTimeField(
        null=True, blank=True, help_text="Put off: it is in no queue until then, and waits as before."
    )
    escalated_at = models.DateTimeField(
        null=True, blank=True, help_text="When it had been due and nobody had decided; its due date was moved then."
    )
    decided_by = models.JSONField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    rationale = models.TextField(blank=True)

    class Meta:
        ordering = ["due_at", "id"]
        constraints = [
            one_of("kind", ReviewKind, "review_kind_known"),
            one_of("status", ReviewStatus, "review_status_known"),
            models.UniqueConstraint(
                fields=["account", "fact", "kind"],
                condition=Q(status=ReviewStatus.PENDING, fact__isnull=False),
                name="review_one_pending_per_fact",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "due_at"], name="review_queue", condition=Q(status=ReviewStatus.PENDING)),
            models.Index(fields=["account", "created_at"], name="review_by_opening"),
            models.Index(fields=["account", "id"], name="review_by_account"),
            models.Index(fields=["account", "status", "id"], name="review_by_status"),
            models.Index(fields=["account", "decided_at"], name="review_by_decision"),
        ]


class ReviewVerb(models.TextChoices):
    """What somebody did about a review; every one can be taken back."""

    APPROVE = "approve"
    REJECT = "reject"
    END = "end"
    EDIT = "edit"
    MERGE = "merge"
    NAME_SUBJECT = "name_subject"
    DEFER = "defer"


class ReviewDecision(Owned):
    """What was decided about a review, and which revision of each fact it led from and to: what an undo restores.

    ``changes`` holds ``[{"fact": id, "from_version": n, "to_version": m}]``, with ``from_version`` 0 for a fact that
    the decision made. ``detail`` holds ids, times and states, never words.
    """

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="decisions")
    verb = models.CharField(max_length=16, choices=ReviewVerb.choices)
    detail = models.JSONField(default=dict)
    changes = models.JSONField(default=list)
    actor = models.JSONField(default=dict)
    decided_at = models.DateTimeField(default=now)
    group = models.UUIDField()
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-decided_at", "-id"]
        constraints = [one_of("verb", ReviewVerb, "review_decision_verb_known")]
        indexes = [models.Index(fields=["account", "review"], name="review_decision_by_review")]
