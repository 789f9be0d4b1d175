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

    With a ``subject`` it is for that subject alone and may hold what only the subject may see; without one it
    holds only what every reader of its scope may see. ``key`` tells apart the cards of one kind in one place: the
    thread of a session summary, the folded name of an entity card, empty otherwise. ``lines`` is a list of
    ``{"text", "facts": [ids], "edited"}``. A line is served only while every fact it cites may be seen by the
    reader: a card is a cache, never a right to read.

    ``due_at`` asks for a build: at once after a change, or when time alone will change what may be said. ``pending``
    names the facts that have changed since the last build; ``null`` asks for a whole build. A card with an empty
    ``builder`` was not built yet.
    """

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+", db_index=False)
    subject = models.ForeignKey(Subject, null=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=16, choices=CardKind.choices)
    key = models.CharField(max_length=200, blank=True)
    title = models.CharField(max_length=600, blank=True)
    lines = models.JSONField(default=list)
    sources = models.PositiveIntegerField(default=0, help_text="Facts it could rest on at the last whole build.")
    sensitivity = models.CharField(max_length=10, help_text="The strictest of its sources.")
    builder = models.CharField(max_length=64, blank=True, help_text="What wrote it, and its version.")
    version = models.PositiveIntegerField(default=0, help_text="How often its lines have changed.")
    delta_count = models.PositiveIntegerField(default=0, help_text="Builds since the last whole one.")
    pending = models.JSONField(null=True)
    due_at = models.DateTimeField(null=True)
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
            models.Index(fields=["account", "due_at"], condition=models.Q(due_at__isnull=False), name="card_due"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.title}".strip()
