"""What reading leaves behind: traces, and the daily figures made of them."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models import Scope, Subject
from facts.models.owned import Owned


class TraceKind(models.TextChoices):
    """Which read left the trace. Replays and previews are looks at what a read would serve; no figure counts them."""

    CONTEXT = "context"
    SEARCH = "search"
    ASK = "ask"
    PROFILE = "profile"
    REPLAY = "replay"
    PREVIEW = "preview"


class Trace(Owned):
    """One read: who asked what, what was considered, and what happened to each of it.

    Holds ids and revisions and no content but the question, which falls under retention and erasure. The
    table is partitioned by month on the id, so that old traces leave by dropping a partition
    (``retrieval.traces.partitions``); a scope or subject may be gone before its traces, hence no foreign keys in
    the database. ``decisions`` is packed, see ``retrieval.traces.writing``.
    """

    kind = models.CharField(max_length=16, choices=TraceKind.choices, default=TraceKind.CONTEXT)
    scope = models.ForeignKey(
        Scope, null=True, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    scope_path = models.CharField(max_length=512)
    subject = models.ForeignKey(
        Subject, null=True, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    subject_key = models.CharField(max_length=200, blank=True)
    reader_posture = models.CharField(max_length=16)
    reader = models.ForeignKey(
        Subject, null=True, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    credential_id = models.UUIDField(help_text="The API key, or the membership of the person.")
    credential_name = models.CharField(max_length=200)
    query = models.TextField(blank=True)
    purpose = models.CharField(max_length=128, blank=True)
    budget = models.PositiveIntegerField(help_text="Tokens, characters or, of a search, results.")
    budget_unit = models.CharField(max_length=10)
    request = models.JSONField(default=dict, help_text="Whatever else the call asked for.")
    question_time = models.DateTimeField()
    as_of = models.DateTimeField(null=True)
    known_at = models.DateTimeField(null=True)
    profile = models.CharField(max_length=64, help_text="Name and version.")
    ranker = models.CharField(max_length=64)
    embedder = models.CharField(max_length=300, blank=True)
    strategies = models.JSONField(default=dict)
    timings = models.JSONField(default=dict, help_text="Milliseconds of each stage.")
    decisions = models.JSONField(default=list)
    reasons = models.JSONField(default=dict, help_text="Number of decisions for each reason code.")
    considered = models.PositiveIntegerField()
    facts_served = models.PositiveIntegerField()
    passages_served = models.PositiveIntegerField()
    withheld = models.PositiveIntegerField()
    tokens = models.PositiveIntegerField()
    status = models.CharField(max_length=10)
    empty_reason = models.CharField(max_length=24, blank=True)
    warnings = models.JSONField(default=list)
    duration_ms = models.FloatField()
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["account", "id"], name="trace_by_account"),
            models.Index(fields=["account", "subject", "id"], name="trace_by_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.created_at:%Y-%m-%d %H:%M:%S}"


class ReadStat(Owned):
    """The reads of one day, kind, scope, purpose and profile in figures; made from traces, kept after they are gone.

    ``reasons`` counts decisions by reason code, ``empty`` answers by empty reason. ``timings`` counts for each stage,
    and for the whole as ``total``, how many took how long, by bucket of ``facts.spread``, in milliseconds.
    ``distances`` counts cosine distances by what became of the row, of the latest context calls of the day.
    """

    day = models.DateField()
    kind = models.CharField(max_length=16, choices=TraceKind.choices, default=TraceKind.CONTEXT)
    scope_path = models.CharField(max_length=512)
    purpose = models.CharField(max_length=128, blank=True)
    profile = models.CharField(max_length=64, blank=True)
    calls = models.PositiveIntegerField()
    calls_with_facts = models.PositiveIntegerField()
    degraded = models.PositiveIntegerField()
    failed = models.PositiveIntegerField()
    considered = models.PositiveBigIntegerField()
    served = models.PositiveBigIntegerField()
    withheld = models.PositiveBigIntegerField()
    tokens = models.PositiveBigIntegerField()
    empty = models.JSONField(default=dict)
    reasons = models.JSONField(default=dict)
    timings = models.JSONField(default=dict)
    distances = models.JSONField(default=dict)

    class Meta:
        ordering = ["-day", "kind", "scope_path", "purpose", "profile"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "day", "kind", "scope_path", "purpose", "profile"], name="read_stat_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.kind} {self.scope_path}"
