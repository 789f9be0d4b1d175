"""What was said: events and their revisions, the passages cut from them, and the link from facts back to both."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models.owned import Owned, one_of
from facts.models.tenancy import Scope, Subject
from facts.vocabulary import Level, OriginTrust, Sensitivity, SourceType


class Event(Owned):
    """One observation: a message, a turn, a page, a search result, a manual entry.

    Append-only: an edit at the source is a new revision under the same source key, never an overwrite.
    ``subject`` is whom the capture is about, ``speaker`` who said it (``None`` when unknown or not a peer).
    """

    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="+")
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="events")
    speaker = models.ForeignKey(Subject, null=True, on_delete=models.PROTECT, related_name="+")
    source_key = models.CharField(max_length=400)
    revision = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=128)
    source_type = models.CharField(max_length=20, choices=SourceType.choices, default=SourceType.CONVERSATION)
    payload = models.JSONField(default=dict)
    text = models.TextField(blank=True, help_text="The evidence text, as it was said.")
    human = models.BooleanField(default=True, help_text="Whether a human wrote it; only then it corroborates.")
    occurred_at = models.DateTimeField()
    recorded_at = models.DateTimeField(default=now)
    processed_at = models.DateTimeField(null=True, blank=True)
    content_hash = models.CharField(max_length=71)
    origin_trust = models.CharField(max_length=16, choices=OriginTrust.choices, default=OriginTrust.TRUSTED)
    sensitivity = models.CharField(max_length=16, choices=Sensitivity.choices, default=Sensitivity.PERSONAL)
    channel_id = models.CharField(max_length=128, blank=True)
    channel_name = models.CharField(max_length=200, blank=True)
    platform_user_id = models.CharField(max_length=128, blank=True)
    ts = models.CharField(max_length=64, blank=True)
    thread = models.CharField(max_length=128, blank=True)
    agent_id = models.CharField(max_length=128, blank=True)
    run_id = models.CharField(max_length=128, blank=True)
    urls = models.JSONField(default=list, blank=True)
    recorded_claims = models.JSONField(
        default=dict,
        blank=True,
        help_text="Fields the sender stated that are kept but never used as authority, such as org_id.",
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    forgotten_at = models.DateTimeField(
        null=True, blank=True, help_text="Its subject is forgotten: no passage is served, cited by a fact or not."
    )
    text_removed_at = models.DateTimeField(
        null=True, blank=True, help_text="When retention removed what was said; quotes in facts stay."
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "source_key", "revision"], name="event_revision_once"),
            one_of("origin_trust", OriginTrust, "event_origin_trust_known"),
            one_of("sensitivity", Sensitivity, "event_sensitivity_known"),
            one_of("source_type", SourceType, "event_source_type_known"),
        ]
        indexes = [
            models.Index(fields=["account", "id"], name="event_by_account"),
            models.Index(fields=["account", "source_type", "id"], name="event_by_source"),
            models.Index(fields=["account", "origin_trust", "id"], name="event_by_trust"),
            models.Index(
                fields=["account", "id"], name="event_withdrawn", condition=models.Q(withdrawn_at__isnull=False)
            ),
            models.Index(fields=["account", "subject", "occurred_at"], name="event_by_subject_time"),
            models.Index(fields=["account", "thread", "occurred_at"], name="event_by_thread"),
            models.Index(
                fields=["account", "recorded_at"],
                name="event_unprocessed",
                condition=models.Q(processed_at__isnull=True),
            ),
            models.Index(
                fields=["account", "source_type", "recorded_at"],
                name="event_with_raw_text",
                condition=models.Q(text_removed_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.occurred_at:%Y-%m-%d %H:%M}"


class Withheld(models.TextChoices):
    """Why a fact or passage is kept from readers although its status alone would let it through."""

    NOTHING = "", "nothing withholds it"
    CONFLICT = "conflict_open", "an open conflict set"
    FORGOTTEN = "source_forgotten", "a fact that cites it was forgotten"
    DIRECTIVE = "directive_held", "it gives orders to whoever reads it, and nobody has let it be quoted"


class Passage(Owned):
    """A slice of an event, one per turn or at most about 1,000 characters; matched and served verbatim."""

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="passages")
    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="+")
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+")
    ordinal = models.PositiveIntegerField()
    speaker_name = models.CharField(max_length=200, blank=True)
    evidential = models.BooleanField(
        default=True, help_text="False for assistant text and recalled memory: kept, never evidence."
    )
    text = models.TextField()
    occurred_at = models.DateTimeField()
    level = models.CharField(max_length=8, choices=Level.choices, default=Level.PEER)
    sensitivity = models.CharField(max_length=16, choices=Sensitivity.choices, default=Sensitivity.PERSONAL)
    withheld = models.CharField(
        max_length=20, choices=Withheld.choices, default=Withheld.NOTHING, blank=True, db_default=""
    )

    class Meta:
        ordering = ["event", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["account", "event", "ordinal"], name="passage_ordinal_once"),
            one_of("level", Level, "passage_level_known"),
            one_of("sensitivity", Sensitivity, "passage_sensitivity_known"),
        ]
        indexes = [
            # What was said right before and after.
            models.Index(fields=["account", "scope", "subject", "occurred_at", "ordinal"], name="passage_by_time"),
        ]


class Evidence(Owned):
    """The link from a fact to the event (and passage) that supports it, with the quoted words."""

    fact = models.ForeignKey("facts.Fact", on_delete=models.CASCADE, related_name="evidence")
    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="evidence")
    passage = models.ForeignKey(Passage, null=True, on_delete=models.SET_NULL, related_name="evidence")
    quote = models.TextField(blank=True)
    human = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "evidence"
        constraints = [models.UniqueConstraint(fields=["account", "fact", "event"], name="evidence_event_once")]
        indexes = [models.Index(fields=["account", "event"], name="evidence_by_event")]
