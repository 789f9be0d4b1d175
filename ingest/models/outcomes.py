"""What became of each event, and of each possible fact that was read out of it.

``EventOutcome`` is also the queue's waiting line: the rows that are ``pending`` are what is left to do, in the order
in which it was said.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models import Event, Fact, Job, Scope, Subject
from facts.models.owned import Owned, one_of
from ingest.models.batches import MessageBatch


class OutcomeResult(models.TextChoices):
    """What became of an event."""

    PENDING = "pending", "it waits to be processed, or to be tried again"
    FACTS = "facts", "at least one fact came of it"
    DUPLICATE = "duplicate", "it says only what is known already"
    REJECTED = "rejected", "everything read out of it was refused"
    NOTHING = "nothing", "nothing in it is worth remembering"
    FAILED = "failed", "it could not be processed; it is kept and can be tried again"


class CandidateResult(models.TextChoices):
    """What became of one possible fact."""

    FACT = "fact"
    DUPLICATE = "duplicate"
    REJECTED = "rejected"


class EventOutcome(Owned):
    """What became of one event under one recipe of processing.

    ``batch`` is that of a channel message which a model reads together with others; while ``waits_for_batch`` it is not
    its turn yet, wherever it stands in the line. ``scope``, ``subject`` and ``occurred_at`` repeat the event's, so that
    the line of a subject can be walked in order without touching the events. ``counts`` holds the number of candidates
    by result; ``reason`` a code of ``ingest.reasons`` when there is nothing to count.
    """

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="outcomes")
    recipe = models.CharField(max_length=64)
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    batch = models.ForeignKey(
        MessageBatch, null=True, on_delete=models.PROTECT, related_name="outcomes", db_index=False
    )
    waits_for_batch = models.BooleanField(default=False)
    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="+", db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+", db_index=False)
    occurred_at = models.DateTimeField()
    result = models.CharField(max_length=12, choices=OutcomeResult.choices, default=OutcomeResult.PENDING)
    reason = models.CharField(max_length=64, blank=True)
    counts = models.JSONField(default=dict, blank=True)
    provider = models.CharField(max_length=64, blank=True)
    model = models.CharField(max_length=128, blank=True)
    prompt_version = models.CharField(max_length=64, blank=True)
    error_class = models.CharField(max_length=128, blank=True)
    created_at = models.DateTimeField(default=now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "event", "recipe"], name="outcome_once_per_recipe"),
            one_of("result", OutcomeResult, "outcome_result_known"),
            models.CheckConstraint(
                condition=Q(result=OutcomeResult.PENDING, finished_at__isnull=True)
                | (~Q(result=OutcomeResult.PENDING) & Q(finished_at__isnull=False)),
                name="outcome_finished_iff_not_pending",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "scope", "subject", "occurred_at", "event"],
                name="outcome_line",
                condition=Q(result=OutcomeResult.PENDING),
            ),
            models.Index(fields=["account", "result", "id"], name="outcome_by_result"),
            models.Index(fields=["account", "finished_at"], name="outcome_by_finish"),
            models.Index(fields=["account", "batch"], name="outcome_by_batch", condition=Q(batch__isnull=False)),
        ]


class CandidateOutcome(Owned):
    """What became of one possible fact, in the order in which it was read; ``reason`` is a code of ``ingest.reasons``.

    ``statement`` and ``quote`` are kept only where no fact holds them.
    """

    outcome = models.ForeignKey(EventOutcome, on_delete=models.CASCADE, related_name="candidates")
    ordinal = models.PositiveIntegerField()
    result = models.CharField(max_length=12, choices=CandidateResult.choices)
    reason = models.CharField(max_length=64)
    statement = models.TextField(blank=True)
    quote = models.TextField(blank=True)
    fact = models.ForeignKey(Fact, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["outcome", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["account", "outcome", "ordinal"], name="candidate_ordinal_once"),
            one_of("result", CandidateResult, "candidate_result_known"),
        ]
