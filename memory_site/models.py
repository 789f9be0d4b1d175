"""What the project itself keeps: signs of life of its background processes, what ran by the clock, counts of calls."""

from __future__ import annotations

from django.db import models


class Heartbeat(models.Model):
    """When a background process last showed that it gets work done."""

    name = models.CharField(primary_key=True, max_length=64)
    beat_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class ScheduledRun(models.Model):
    """When something that runs by the clock was scheduled first, and when a run of it was last completed.

    ``settled``: how many things that run dealt with, where it counts them.
    """

    name = models.CharField(primary_key=True, max_length=100)
    scheduled_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True)
    settled = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return self.name


class CallCount(models.Model):
    """How many calls a client made in the current minute; one row a client, overwritten when a new minute begins.

    Not a table of an account: addresses are counted before anybody is known. Unlogged: a crash forgets one minute.
    """

    client = models.CharField(primary_key=True, max_length=100)
    starts_at = models.DateTimeField(db_index=True)
    calls = models.PositiveIntegerField()

    def __str__(self) -> str:
        return self.client
