"""People who do not want to be remembered from channels."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models import Subject
from facts.models.owned import Owned


class OptOut(Owned):
    """What a person last said about being remembered from channels; ``active``: nothing of theirs is kept.

    ``said_at`` orders what they said: an older word that comes late changes nothing. ``via`` says how it came.
    ``known_as`` are keyed digests of the platform's identifiers of the person: they stay when the person is erased, so
    that whoever comes again under one of them is not remembered either.
    """

    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="+")
    active = models.BooleanField(default=True)
    said_at = models.DateTimeField(default=now)
    via = models.CharField(max_length=32)
    known_as = models.JSONField(default=list)

    class Meta:
        ordering = ["-said_at"]
        constraints = [models.UniqueConstraint(fields=["account", "subject"], name="opt_out_once")]

    def __str__(self) -> str:
        return f"{self.subject} {'is not remembered' if self.active else 'is remembered'}"
