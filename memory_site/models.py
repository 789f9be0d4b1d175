"""What the project itself keeps: signs of life of its background processes, what ran by the clock, counts of calls,
and how people like to look at lists."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models import Membership
from facts.models.owned import Owned


class Heartbeat(models.Model):
    """When a background process last showed that it gets work done."""

    name = models.CharField(primary_key=True, max_length=64)
    beat_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class ScheduledRun(models.Model):
    """When something that runs by the clock was scheduled first, and when a run of it was last completed.

    ``settled``: how many things that run dealt with, where it counts them. ``failed_at``: when a run of it failed last,
    with the class of the error.
    """

    name = models.CharField(primary_key=True, max_length=100)
    scheduled_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True)
    settled = models.PositiveIntegerField(null=True)
    failed_at = models.DateTimeField(null=True)
    error_class = models.CharField(max_length=128, blank=True, default="")

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


class SavedView(Owned):
    """A list of the admin under filters, kept by a person under a name.

    ``list_name`` is the label of the model whose list it is, ``query`` the list's own parameters with one text each.
    It holds no rows: whoever opens it is shown what they may see. ``shared``: offered to everybody who may open the
    list, not to its owner alone.
    """

    owner = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="+")
    list_name = models.CharField(max_length=100)
    name = models.CharField(max_length=60)
    query = models.JSONField(default=dict)
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "owner", "list_name", "name"], name="saved_view_once"),
        ]
        indexes = [models.Index(fields=["account", "list_name", "shared"], name="saved_view_by_list")]

    def __str__(self) -> str:
        return self.name


class LastFilters(Owned):
    """The filters under which a person looked at a list last, as in :class:`SavedView`; no row: none."""

    owner = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="+", db_index=False)
    list_name = models.CharField(max_length=100)
    query = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "owner", "list_name"], name="last_filters_once"),
        ]
