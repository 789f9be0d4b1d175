"""How far the history of a channel has been read from Slack."""

from __future__ import annotations

from django.db import models

from facts.models import LongJob
from facts.models.owned import Owned, one_of


class BackfillState(models.TextChoices):
    """Where the reading of one channel stands. ``skipped``: nobody opted it in, or Slack refuses it."""

    PENDING = "pending"
    READING = "reading"
    DONE = "done"
    SKIPPED = "skipped"


class BackfillChannel(Owned):
    """One channel, across all backfills. Time stamps are Slack's; "" where there is none yet.

    ``newest``   everything up to here was read by a backfill that came to its end: the next one begins after it.
    ``floor``, ``top``, ``oldest``   the backfill that is reading goes back to ``floor``, began at ``top`` and has come
                 back to ``oldest``, which is its cursor.
    ``threads``  time stamps of messages whose answers are still to be read; ``thread_cursor``: Slack's cursor within
                 the first of them. ``more_to_read``: there are older pages.
    """

    work = models.ForeignKey(LongJob, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    team = models.CharField(max_length=64)
    channel_id = models.CharField(max_length=64)
    state = models.CharField(max_length=8, choices=BackfillState.choices, default=BackfillState.PENDING)
    reason = models.CharField(max_length=64, blank=True)
    newest = models.CharField(max_length=32, blank=True)
    floor = models.CharField(max_length=32, blank=True)
    top = models.CharField(max_length=32, blank=True)
    oldest = models.CharField(max_length=32, blank=True)
    threads = models.JSONField(default=list, blank=True)
    thread_cursor = models.CharField(max_length=500, blank=True)
    more_to_read = models.BooleanField(default=True)
    messages = models.PositiveIntegerField(default=0)
    replies = models.PositiveIntegerField(default=0)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            one_of("state", BackfillState, "backfill_state_known"),
            models.UniqueConstraint(fields=["account", "team", "channel_id"], name="backfill_channel_once"),
        ]

    def __str__(self) -> str:
        return self.channel_id
