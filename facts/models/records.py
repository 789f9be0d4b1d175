"""The records kept about changes and work: the audit chain, the outbox and the job ledger."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models.owned import Owned, one_of


class AuditEntry(Owned):
    """One link of an account's hash chain: ids, states, flags, counts and hashes, never text. Append-only."""

    seq = models.PositiveBigIntegerField()
    action = models.CharField(max_length=64)
    object_type = models.CharField(max_length=64)
    object_id = models.CharField(max_length=64)
    actor = models.JSONField(default=dict)
    group = models.UUIDField()
    metadata = models.JSONField(default=dict)
    occurred_at = models.DateTimeField()
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        verbose_name_plural = "audit entries"
        ordering = ["-seq"]
        constraints = [models.UniqueConstraint(fields=["account", "seq"], name="audit_seq_once")]
        indexes = [models.Index(fields=["account", "object_type", "object_id"], name="audit_by_object")]


class AuditTip(models.Model):
    """The last entry of an account's chain, written with it: by this a chain whose end was cut off is known.

    ``seq`` is also the number of entries that were ever written.
    """

    account = models.OneToOneField("facts.Account", on_delete=models.PROTECT, primary_key=True, related_name="+")
    seq = models.PositiveBigIntegerField()
    hash = models.CharField(max_length=64)


class OutboxEntry(Owned):
    """Something that happened to a fact, for those who must react to it; written in the same transaction."""

    topic = models.CharField(max_length=64)
    object_id = models.UUIDField()
    payload = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=now)
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "outbox entries"
        ordering = ["id"]
        indexes = [
            models.Index(
                fields=["account", "id"],
                name="outbox_undelivered",
                condition=Q(delivered_at__isnull=True),
            )
        ]


class JobStatus(models.TextChoices):
    """Where a job stands. ``dead``: given up after its last attempt; a person may retry it."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"


class Job(Owned):
    """The ledger of background work: one row per (kind, input, recipe), whatever the queue delivers how often."""

    kind = models.CharField(max_length=64)
    input_key = models.CharField(max_length=200)
    recipe = models.CharField(max_length=128, default="1")
    payload = models.JSONField(default=dict)
    status = models.CharField(max_length=8, choices=JobStatus.choices, default=JobStatus.QUEUED)
    attempts = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(default=5)
    claim_token = models.UUIDField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    run_after = models.DateTimeField(default=now)
    created_at = models.DateTimeField(default=now)
    finished_at = models.DateTimeField(null=True, blank=True)
    error_class = models.CharField(max_length=128, blank=True)
    error = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "kind", "input_key", "recipe"], name="job_once"),
            one_of("status", JobStatus, "job_status_known"),
        ]
        indexes = [
            models.Index(fields=["account", "status", "id"], name="job_by_status"),
            models.Index(fields=["account", "id"], name="job_by_account"),
            models.Index(fields=["account", "input_key"], name="job_by_input"),
            models.Index(
                fields=["account", "run_after"],
                name="job_waiting",
                condition=Q(status__in=["queued", "running"]),
            ),
        ]
