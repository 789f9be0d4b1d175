"""What is believed: facts, the revisions they went through, and the relations between them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models.evidence import Withheld
from facts.models.owned import Owned, one_of
from facts.models.tenancy import Scope, Subject
from facts.vocabulary import (
    Category,
    EvidenceLevel,
    Form,
    Kind,
    Level,
    OriginTrust,
    RelationKind,
    Sensitivity,
    Status,
    Volatility,
)


class Fact(Owned):
    """A short dated statement with its claim, its audience, its validity and its status.

    ``status`` is changed by ``facts.lifecycle.transition`` alone. ``identity_key`` and ``value_key`` are digests
    of (predicate, qualifiers) and of the canonical value; both are empty when there is no structured claim.
    ``withheld`` mirrors membership in open conflict sets and is maintained by ``facts.withholding`` alone.
    """

    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="facts")
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="facts")
    level = models.CharField(max_length=8, choices=Level.choices)
    sensitivity = models.CharField(max_length=16, choices=Sensitivity.choices)
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.CANDIDATE)
    withheld = models.CharField(
        max_length=20, choices=Withheld.choices, default=Withheld.NOTHING, blank=True, db_default=""
    )
    possibly_conflicting = models.BooleanField(default=False, db_default=False)

    statement = models.TextField()
    statement_hash = models.CharField(max_length=64)
    category = models.CharField(max_length=20, choices=Category.choices, default=Category.GENERAL)
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.ATTRIBUTE)
    form = models.CharField(max_length=8, choices=Form.choices, default=Form.STATE)
    predicate = models.CharField(max_length=128, blank=True)
    value = models.JSONField(null=True, blank=True)
    qualifiers = models.JSONField(default=dict, blank=True)
    identity_key = models.CharField(max_length=64, blank=True)
    value_key = models.CharField(max_length=64, blank=True)
    denies = models.BooleanField(default=False, db_default=False)
    denial_key = models.CharField(
        max_length=64,
        blank=True,
        db_default="",
        help_text="The denied value's key: denials of different values do not compete with each other.",
    )

    confidence = models.FloatField()
    evidence_level = models.CharField(max_length=8, choices=EvidenceLevel.choices, default=EvidenceLevel.DIRECT)
    origin_trust = models.CharField(max_length=16, choices=OriginTrust.choices, default=OriginTrust.TRUSTED)
    volatility = models.CharField(max_length=12, choices=Volatility.choices, default=Volatility.STABLE)
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_to = models.DateTimeField(null=True, blank=True)
    start_assumed = models.BooleanField(default=False, db_default=False)
    came_by_marker = models.BooleanField(default=False, db_default=False)
    starts_later = models.BooleanField(default=False, db_default=False)
    directive = models.BooleanField(
        default=False,
        db_default=False,
        help_text="It quotes an order to whoever reads it; the passage is withheld unless a person let it be quoted.",
    )
    recorded_from = models.DateTimeField(default=now)
    recorded_to = models.DateTimeField(null=True, blank=True)
    revalidate_after = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_reinforced_at = models.DateTimeField(null=True, blank=True)
    corroboration = models.PositiveIntegerField(default=0)
    extractor_provider = models.CharField(max_length=64, blank=True)
    extractor_model = models.CharField(max_length=128, blank=True)
    prompt_version = models.CharField(max_length=64, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "scope", "subject", "identity_key", "denial_key"],
                condition=Q(status=Status.ACTIVE, form=Form.STATE) & ~Q(identity_key=""),
                name="fact_one_active_per_identity",
            ),
            models.CheckConstraint(
                condition=Q(valid_to__isnull=True)
                | Q(valid_from__isnull=True)
                | Q(valid_from__lte=models.F("valid_to")),
                name="fact_validity_not_inverted",
            ),
            models.CheckConstraint(
                condition=Q(predicate="", value__isnull=True, identity_key="", value_key="")
                | (~Q(predicate="") & Q(value__isnull=False) & ~Q(identity_key="") & ~Q(value_key="")),
                name="fact_claim_all_or_nothing",
            ),
            models.CheckConstraint(condition=Q(confidence__gte=0, confidence__lte=1), name="fact_confidence_in_range"),
            models.CheckConstraint(condition=Q(version__gte=1), name="fact_version_positive"),
            one_of("status", Status, "fact_status_known"),
            one_of("level", Level, "fact_level_known"),
            one_of("sensitivity", Sensitivity, "fact_sensitivity_known"),
            one_of("category", Category, "fact_category_known"),
            one_of("kind", Kind, "fact_kind_known"),
            one_of("form", Form, "fact_form_known"),
            one_of("volatility", Volatility, "fact_volatility_known"),
        ]
        indexes = [
            models.Index(fields=["account", "scope", "subject", "status"], name="fact_by_subject"),
            models.Index(fields=["account", "scope", "subject", "predicate", "identity_key"], name="fact_by_claim"),
            models.Index(fields=["account", "subject", "statement_hash"], name="fact_by_statement"),
            models.Index(fields=["account", "status", "id"], name="fact_by_status"),
            models.Index(fields=["account", "id"], name="fact_by_account"),
            # What is rare in lists; what most facts are is found soon without an index.
            models.Index(
                fields=["account", "sensitivity", "id"],
                name="fact_by_sensitivity",
                condition=Q(sensitivity__in=["public", "restricted"]),
            ),
            models.Index(
                fields=["account", "category", "id"],
                name="fact_by_category",
                condition=~Q(category=Category.GENERAL),
            ),
            models.Index(
                fields=["account", "expires_at"],
                name="fact_expiring",
                condition=Q(expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.statement[:120]


class FactRevision(Owned):
    """A full snapshot of a fact's mutable fields, valid in record time from ``recorded_from`` to ``recorded_to``.

    Rows are never changed but for closing ``recorded_to``; a trigger refuses anything else.
    """

    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="revisions")
    version = models.PositiveIntegerField()
    status = models.CharField(max_length=20, choices=Status.choices)
    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="+")
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+")
    level = models.CharField(max_length=8)
    sensitivity = models.CharField(max_length=16)
    form = models.CharField(max_length=8)
    value = models.JSONField(null=True)
    value_key = models.CharField(max_length=64, blank=True)
    qualifiers = models.JSONField(default=dict)
    identity_key = models.CharField(max_length=64, blank=True)
    confidence = models.FloatField()
    volatility = models.CharField(max_length=12)
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)
    start_assumed = models.BooleanField(default=False)
    starts_later = models.BooleanField(default=False)
    revalidate_after = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    last_reinforced_at = models.DateTimeField(null=True)
    corroboration = models.PositiveIntegerField(default=0)
    recorded_from = models.DateTimeField()
    recorded_to = models.DateTimeField(null=True)
    action = models.CharField(max_length=64)
    reason = models.CharField(max_length=500, blank=True)
    actor = models.JSONField(default=dict)
    group = models.UUIDField(help_text="One id for all changes of one decision.")

    class Meta:
        ordering = ["fact", "version"]
        constraints = [
            models.UniqueConstraint(fields=["account", "fact", "version"], name="revision_version_once"),
            models.CheckConstraint(
                condition=Q(recorded_to__isnull=True) | Q(recorded_to__gte=models.F("recorded_from")),
                name="revision_interval_not_inverted",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "scope", "subject", "recorded_from"], name="revision_by_record_time"),
            models.Index(fields=["account", "group"], name="revision_by_group"),
        ]


class Relation(Owned):
    """A typed edge between two facts, read from ``source`` to ``target``: the new one supersedes the old one."""

    source = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="relations_out")
    target = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="relations_in")
    kind = models.CharField(max_length=16, choices=RelationKind.choices)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "source", "target", "kind"], name="relation_once"),
            one_of("kind", RelationKind, "relation_kind_known"),
        ]
        indexes = [models.Index(fields=["account", "target", "kind"], name="relation_by_target")]
