"""Cards: rebuildable summaries that are served when nothing is asked."""

from __future__ import annotations

from django.db import models
from pgvector.django import HalfVectorField

from facts.clock import now
from facts.models import EmbeddingSpace, Membership, Scope, Subject
from facts.models.owned import Owned, one_of


class CardKind(models.TextChoices):
    """What a card sums up.

    A ``subject_profile`` is a peer's own, a ``shared_profile`` what every reader of the scope may know of a subject.
    """

    SUBJECT_PROFILE = "subject_profile"
    SHARED_PROFILE = "shared_profile"
    SCOPE_CARD = "scope_card"
    ENTITY_CARD = "entity_card"
    SESSION_SUMMARY = "session_summary"


class Card(Owned):
    """A summary of facts, each line citing those it rests on.

    With a ``subject`` it is for that subject alone and may hold what only the subject may see; without one it
    holds only what every reader of its scope may see. ``key`` tells apart the cards of one kind in one place: the
    thread of a session summary, the folded name of an entity card, the subject's id of a shared profile, empty
    otherwise. ``lines`` is a list of ``{"text", "facts": [ids], "edited", "section", "composed"}``. A line is served
    only while every fact it cites may be seen by the reader: a card is a cache, never a right to read.

    ``due_at`` asks for a build: at once after a change, or when time alone will change what may be said. ``pending``
    names the facts that have changed since the last build; ``null`` asks for a whole build. A card with an empty
    ``builder`` was not built yet.

    ``compact_due`` asks for the nightly compaction; ``offered`` names the facts that a model was shown in those since
    the last whole one, of which there were ``compactions``.
    """

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+", db_index=False)
    subject = models.ForeignKey(Subject, null=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=16, choices=CardKind.choices)
    key = models.CharField(max_length=200, blank=True)
    title = models.CharField(max_length=600, blank=True)
    lines = models.JSONField(default=list)
    sources = models.PositiveIntegerField(default=0, help_text="Facts it could rest on at the last whole build.")
    sensitivity = models.CharField(max_length=10, help_text="The strictest of its sources.")
    builder = models.CharField(max_length=128, blank=True, help_text="What wrote it, and its version.")
    version = models.PositiveIntegerField(default=0, help_text="How often its lines have changed.")
    delta_count = models.PositiveIntegerField(default=0, help_text="Builds since the last whole one.")
    pending = models.JSONField(null=True)
    due_at = models.DateTimeField(null=True)
    built_at = models.DateTimeField(default=now)
    compact_due = models.BooleanField(default=True, db_default=True)
    compacted_at = models.DateTimeField(null=True)
    compactions = models.PositiveIntegerField(default=0, db_default=0)
    offered = models.JSONField(default=list, db_default=[])
    created_at = models.DateTimeField(default=now)

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


class EditKind(models.TextChoices):
    """What a person did about a line."""

    REWORDED = "reworded"
    PINNED = "pinned"
    REMOVED = "removed"


class CardEdit(Owned):
    """What a person decided about one line of a card; in force until it is undone, through every build.

    ``original`` is the line as it was, as cards store lines; ``text`` is what it says instead (of a pinned line what it
    said, of a removed one nothing). It rests on ``facts``, ids with the version that the person saw.
    """

    card = models.ForeignKey(Card, on_delete=models.CASCADE, related_name="edits", db_index=False)
    kind = models.CharField(max_length=8, choices=EditKind.choices)
    original = models.JSONField()
    text = models.CharField(max_length=400, blank=True)
    facts = models.JSONField()
    made_by = models.ForeignKey(Membership, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    made_at = models.DateTimeField(default=now)
    undone_by = models.ForeignKey(Membership, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [one_of("kind", EditKind, "card_edit_kind_known")]
        indexes = [models.Index(fields=["account", "card", "id"], name="card_edit_of_card")]


class CardChange(models.TextChoices):
    """What made a version of a card."""

    BUILT = "built"
    COMPACTED = "compacted"
    EDITED = "edited"
    UNDONE = "undone", "undone by a person"


class CardVersion(Owned):
    """What a card said from ``made_at`` on. Lines leave it with the facts that they rest on, as they leave the card."""

    card = models.ForeignKey(Card, on_delete=models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    lines = models.JSONField()
    change = models.CharField(max_length=9, choices=CardChange.choices)
    builder = models.CharField(max_length=128, blank=True)
    made_by = models.ForeignKey(Membership, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    made_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["account", "card", "number"], name="card_version_once"),
            one_of("change", CardChange, "card_version_change_known"),
        ]


class CardVector(Owned):
    """The vector of what a card says in one version, and the embedding space that it is of."""

    card = models.OneToOneField(Card, on_delete=models.CASCADE, related_name="vector")
    version = models.PositiveIntegerField()
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.CASCADE, related_name="+", db_index=False)
    h = HalfVectorField()
