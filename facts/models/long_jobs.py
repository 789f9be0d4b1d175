"""The record of work that takes long: what it is, how far it has come, and who stopped it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models.owned import Owned, one_of


class LongJobState(models.TextChoices):
    """Where long work stands.

    ``waiting``: nobody has begun, or the next try is due later. ``paused``: stopped with its place kept, until
    ``resume_at`` or until somebody resumes it. ``cancelling``: it ends with the step that is being done.
    """

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    DONE = "done"
    FAILED = "failed"


#: States from which work goes on by itself or by its process.
OPEN_STATES = (LongJobState.WAITING, LongJobState.RUNNING, LongJobState.PAUSED, LongJobState.CANCELLING)


class LongJob(Owned):
    """One piece of long work of an account, across restarts. It holds no content.

    ``input_key``  what the work is done to; of one kind and input at most one is open.
    ``options``    what was asked for; ``position``: where to go on. Ids, paths, cursors and counts.
    ``done``, ``total``   in ``unit`` (a plural noun); ``total`` ``None``: not known yet.
    ``counts``     what became of what was done, by reason.
    ``pace``       the latest steps as [seconds since 1970, done], from which the end is estimated.
    ``token``      names the process that works on it: whoever takes it over writes another one.
    ``updated_at`` its last sign of life.
    """

    kind = models.CharField(max_length=64)
    input_key = models.CharField(max_length=200, blank=True)
    title = models.CharField(max_length=200, blank=True)
    unit = models.CharField(max_length=32)
    state = models.CharField(max_length=10, choices=LongJobState.choices, default=LongJobState.WAITING)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(null=True, blank=True)
    options = models.JSONField(default=dict, blank=True)
    position = models.JSONField(default=dict, blank=True)
    counts = models.JSONField(default=dict, blank=True)
    pace = models.JSONField(default=list, blank=True)
    token = models.UUIDField(null=True, blank=True)
    runs = models.PositiveIntegerField(default=0)
    started_by = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=now)
    started_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(default=now)
    finished_at = models.DateTimeField(null=True, blank=True)
    resume_at = models.DateTimeField(null=True, blank=True)
    error_class = models.CharField(max_length=128, blank=True)
    cancelled_by = models.JSONField(default=dict, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            one_of("state", LongJobState, "long_job_state_known"),
            models.UniqueConstraint(
                fields=["account", "kind", "input_key"], condition=Q(state__in=OPEN_STATES), name="long_job_open_once"
            ),
            models.CheckConstraint(
                condition=Q(state__in=OPEN_STATES, finished_at__isnull=True)
                | (~Q(state__in=OPEN_STATES) & Q(finished_at__isnull=False)),
                name="long_job_finished_iff_closed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def is_open(self) -> bool:
        """Tell whether it is not over."""
        return self.state in OPEN_STATES
