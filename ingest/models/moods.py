"""The record of moods: one entry for each person and day."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models import Subject
from facts.models.owned import Owned, one_of


class MoodSource(models.TextChoices):
    """Who says so."""

    MANUAL = "manual", "entered by the person"
    DETECTED = "detected", "read out of what was said"


class MoodEntry(Owned):
    """How somebody felt on a day of the account's time zone, from 1 (bad) to 5 (good).

    ``facts`` are the ids of those from which a detected one was read; ``scorer`` says who read it.
    """

    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="moods")
    day = models.DateField()
    score = models.PositiveSmallIntegerField()
    source = models.CharField(max_length=8, choices=MoodSource.choices)
    note = models.CharField(max_length=500, blank=True)
    facts = models.JSONField(default=list, blank=True)
    scorer = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-day"]
        verbose_name_plural = "mood entries"
        constraints = [
            models.UniqueConstraint(fields=["account", "subject", "day"], name="mood_once_a_day"),
            models.CheckConstraint(condition=Q(score__gte=1, score__lte=5), name="mood_score_range"),
            one_of("source", MoodSource, "mood_source_known"),
        ]

    def __str__(self) -> str:
        return f"{self.day}: {self.score}"
