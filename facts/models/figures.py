"""What happened, in figures a day: kept so that looking back costs the same however much there was."""

from __future__ import annotations

from django.db import models

from facts.models.owned import Owned


class DayFigure(Owned):
    """How often one thing happened on one day (UTC) in one scope.

    ``name`` is one of ``facts.figure_names``, ``key`` tells its sorts apart: codes, and names of models, never words.
    ``number`` may also be a sum. ``spread`` counts how long each took, by bucket of ``facts.spread``.
    """

    day = models.DateField()
    scope_path = models.CharField(max_length=512)
    name = models.CharField(max_length=32)
    key = models.CharField(max_length=220, blank=True)
    number = models.BigIntegerField()
    spread = models.JSONField(default=dict)

    class Meta:
        ordering = ["-day", "scope_path", "name", "key"]
        constraints = [
            models.UniqueConstraint(fields=["account", "name", "day", "scope_path", "key"], name="day_figure_once")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.name}"


class CountedUntil(Owned):
    """Up to which instant the figures of one source are written."""

    source = models.CharField(max_length=32)
    until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "source"], name="counted_until_once")]

    def __str__(self) -> str:
        return f"{self.source} {self.until:%Y-%m-%d %H:%M}"
