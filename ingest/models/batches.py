"""Channel messages that a model reads together."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models import Job
from facts.models.owned import Owned


class MessageBatch(Owned):
    """Some messages of an account's channels, read in one go when it is full or nobody has said anything for a while.

    It is open (``closed_at`` null: it takes messages; one an account), then closed, and read or given up when
    ``done_at`` says so. Which messages belong to it is decided when they are captured, and by nothing else.

    ``size``      its messages so far.
    ``last_at``   when its last message was recorded.
    ``job``       its reading, from the moment it is closed.
    """

    size = models.PositiveIntegerField(default=0)
    opened_at = models.DateTimeField(default=now)
    last_at = models.DateTimeField(default=now)
    closed_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        verbose_name_plural = "message batches"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["account"], condition=Q(closed_at__isnull=True), name="batch_one_open"),
            models.CheckConstraint(
                condition=Q(done_at__isnull=True) | Q(closed_at__isnull=False), name="batch_done_only_when_closed"
            ),
        ]
