"""Cards: rebuildable summaries that are served when nothing is asked."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models import Scope, Subject
from facts.models.owned import Owned, one_of


class CardKind(models.TextChoices):
    """What a card sums up."""

    SUBJECT_PROFILE = "subject_profile"
    SCOPE_CARD = "scope_card"
    ENTITY_CARD = "entity_card"
    SESSION_SUMMARY = "session_summary"


class Card(Owned):
    """A summary of facts, each line citing those it rests on.

    ``key`` tells apart the cards of one kind in one place: the thread of a session summary, the folded name
    of an entity card, empty otherwise. ``lines`` is a list of ``{"text", "facts": [ids], "edited"}``. A line
    is served only while every fact it cites may be seen by the reader: a card is a cache, never a right to
    read. ``dirty`` asks for a rebuild; ``watermark`` is the newest change that the card has seen.
    """

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+", db_index=False)
    subject = models.ForeignKey(Subject, null=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=16, choices=CardKind.choices)
    key = models.CharField(max_length=200, blank=True)
    title = models.CharField(max_length=200, blank=True)
    lines = models.JSONField(default=list)
    sensitivity = models.CharField(max_length=10, help_text="The strictest of its sources.")
    builder = models.CharField(max_length=64, help_text="What wrote it, and its version.")
    version = models.PositiveIntegerField(default=1)
    delta_count = models.PositiveIntegerField(default=0, help_text="Changes taken in since the last whole build.")
    watermark = models.DateTimeField(null=True)
    dirty = models.BooleanField(default=False)
    built_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["kind", "key"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "scope", "subject", "kind", "key"], nulls_distinct=False, name="card_once"
            ),
            one_of("kind", CardKind, "card_kind_known"),
        ]
        indexes = [
            models.Index(fields=["account", "subject"], name="card_by_subject"),
            models.Index(fields=["account", "built_at"], condition=models.Q(dirty=True), name="card_to_build"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.title}".strip()
