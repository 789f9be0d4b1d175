"""The records of governance: who may do what, by which rule something was placed, and what people decided."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.ids import new_id
from facts.models import Account, ConflictSet, Event, Fact, Membership, Scope, Subject
from facts.models.owned import Owned, one_of
from facts.vocabulary import EvidenceLevel, Level, Sensitivity


class Role(models.TextChoices):
    """What a person may do in a scope; each role includes those below it."""

    READER = "reader"
    MEMBER = "member"
    CURATOR = "curator"
    ACCOUNT_ADMIN = "account_admin"


class Effect(models.TextChoices):
    """Whether a grant gives its role or takes it away; any applicable deny wins."""

    ALLOW = "allow"
    DENY = "deny"


class Grant(Owned):
    """A role of a subject on a scope, and below it when it propagates."""

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="grants")
    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="grants")
    role = models.CharField(max_length=16, choices=Role.choices)
    effect = models.CharField(max_length=8, choices=Effect.choices, default=Effect.ALLOW)
    propagates = models.BooleanField(default=True)
    restricted = models.BooleanField(default=False, help_text="Whether restricted facts about others may be read here.")
    granted_by = models.JSONField(default=dict)
    granted_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "scope", "subject", "role", "effect"], name="grant_once"),
            one_of("role", Role, "grant_role_known"),
            one_of("effect", Effect, "grant_effect_known"),
        ]
        indexes = [models.Index(fields=["account", "subject"], name="grant_by_subject")]


class ApiKey(Owned):
    """A machine's credential. Only a digest is stored; the key itself is shown once.

    ``rights`` are its own; ``delegated`` are what its maker lets it do in their name.
    """

    label = models.CharField(max_length=128)
    prefix = models.CharField(max_length=16, help_text="The first characters, to recognise a key by.")
    digest = models.CharField(max_length=64, unique=True)
    rights = models.JSONField(default=list)
    delegated = models.JSONField(default=list, blank=True)
    maker = models.ForeignKey(Membership, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    peer = models.ForeignKey(Subject, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    scope_limit = models.ForeignKey(Scope, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.label} ({self.prefix}…)"


class GateAMode(models.TextChoices):
    """Gate A: is it worth keeping?"""

    AUTO_KEEP = "auto_keep"
    AUTO_REJECT = "auto_reject"
    HUMAN = "human"


class GateBMode(models.TextChoices):
    """Gate B: how widely may it be seen?"""

    AUTO_PLACE = "auto_place"
    HUMAN = "human"


class GateRule(Owned):
    """One cell of the gate matrix: for a level and a sensitivity, in a scope and below, or account-wide."""

    scope = models.ForeignKey(Scope, null=True, blank=True, on_delete=models.CASCADE, related_name="gate_rules")
    level = models.CharField(max_length=8, choices=Level.choices)
    sensitivity = models.CharField(max_length=16, choices=Sensitivity.choices)
    gate_a = models.CharField(max_length=12, choices=GateAMode.choices, default=GateAMode.HUMAN)
    gate_b = models.CharField(max_length=12, choices=GateBMode.choices, default=GateBMode.HUMAN)
    minimum_evidence_level = models.CharField(max_length=8, choices=EvidenceLevel.choices, default=EvidenceLevel.DIRECT)
    minimum_corroboration = models.PositiveIntegerField(default=1)
    revalidate_after_days = models.PositiveIntegerField(null=True, blank=True)
    review_due_days = models.PositiveIntegerField(default=7)
    created_by = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "scope", "level", "sensitivity"], nulls_distinct=False, name="gate_rule_once"
            ),
            one_of("gate_a", GateAMode, "gate_rule_a_known"),
            one_of("gate_b", GateBMode, "gate_rule_b_known"),
        ]


class Gate(models.TextChoices):
    """The two questions, always asked apart."""

    A = "A"
    B = "B"


class GateDecision(Owned):
    """What one gate said about one fact, by which cell or which person. Immutable."""

    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="gate_decisions")
    gate = models.CharField(max_length=1, choices=Gate.choices)
    outcome = models.CharField(max_length=12, help_text="pass, reject or wait")
    cell = models.JSONField(default=dict, help_text="The rule that applied: where it was found and what it says.")
    reasons = models.JSONField(default=list)
    actor = models.JSONField(default=dict)
    decided_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["decided_at", "gate"]
        indexes = [models.Index(fields=["account", "fact"], name="gate_decision_by_fact")]


class ReviewKind(models.TextChoices):
    """What waits for a person."""

    NEW_FACT = "new_fact"
    PROMOTION = "promotion"
    REVALIDATION = "revalidation"
    CONTEST = "contest"
    CONFLICT = "conflict"
    POSSIBLE_CONFLICT = "possible_conflict"
    UNRESOLVED_SUBJECT = "unresolved_subject"
    DIRECTIVE = "directive"


class ReviewStatus(models.TextChoices):
    """Where a review stands."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class Review(Owned):
    """Something that waits for a person's decision. Names the fact version that the decision is about."""

    kind = models.CharField(max_length=20, choices=ReviewKind.choices)
    status = models.CharField(max_length=12, choices=ReviewStatus.choices, default=ReviewStatus.PENDING)
    fact = models.ForeignKey(Fact, null=True, blank=True, on_delete=models.CASCADE, related_name="reviews")
    fact_version = models.PositiveIntegerField(null=True, blank=True)
    event = models.ForeignKey(Event, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    conflict_set = models.ForeignKey(
        ConflictSet, null=True, blank=True, on_delete=models.CASCADE, related_name="reviews"
    )
    reasons = models.JSONField(default=list)
    detail = models.JSONField(default=dict, blank=True)
    requested_by = models.JSONField(default=dict)
    assignee = models.ForeignKey(Membership, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=now)
    due_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.JSONField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    rationale = models.TextField(blank=True)

    class Meta:
        ordering = ["due_at", "id"]
        constraints = [
            one_of("kind", ReviewKind, "review_kind_known"),
            one_of("status", ReviewStatus, "review_status_known"),
            models.UniqueConstraint(
                fields=["account", "fact", "kind"],
                condition=Q(status=ReviewStatus.PENDING, fact__isnull=False),
                name="review_one_pending_per_fact",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "due_at"], name="review_queue", condition=Q(status=ReviewStatus.PENDING))
        ]


class Rating(models.TextChoices):
    """What a reader says of something that was served."""

    USEFUL = "useful"
    IRRELEVANT = "irrelevant"
    INCORRECT = "incorrect"


class Feedback(Owned):
    """What a reader said about a trace or a fact."""

    trace_id = models.UUIDField(null=True, blank=True)
    fact = models.ForeignKey(Fact, null=True, blank=True, on_delete=models.CASCADE, related_name="feedback")
    rating = models.CharField(max_length=12, choices=Rating.choices)
    comment = models.CharField(max_length=2000, blank=True)
    actor = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "feedback"
        ordering = ["-id"]
        constraints = [one_of("rating", Rating, "feedback_rating_known")]


class ForgetMode(models.TextChoices):
    """``disable`` hides reversibly; ``delete`` removes content."""

    DISABLE = "disable"
    DELETE = "delete"


class ForgetReceipt(Owned):
    """What a forget request did: whom it named, counters per store, and the actor. Holds no content."""

    mode = models.CharField(max_length=8, choices=ForgetMode.choices)
    target = models.CharField(max_length=8, help_text="fact or subject")
    target_id = models.UUIDField()
    counters = models.JSONField(default=dict)
    actor = models.JSONField(default=dict)
    reason = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=now)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]


class IdempotencyRecord(Owned):
    """The answer to a request that carried an ``Idempotency-Key``, kept so that a repeat gets the same answer.

    Written in the transaction of what the request did. ``body`` holds ids, states and counts, never a raw key.
    """

    credential_id = models.UUIDField(help_text="The key or membership that made the request.")
    key = models.CharField(max_length=200)
    request_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "credential_id", "key"], name="idempotency_key_once")]
        indexes = [models.Index(fields=["account", "created_at"], name="idempotency_by_age")]


class DeviceLoginStatus(models.TextChoices):
    """What a person has said about a terminal that asked to be let in."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"


class DeviceLogin(models.Model):
    """A terminal that asks a person for a key. Belongs to no account until somebody decides.

    Only digests of its two codes are stored, and never a key: the key is made when the terminal picks it up.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    account = models.ForeignKey(
        Account, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    device_digest = models.CharField(max_length=64, unique=True)
    user_code_digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField(db_index=True)
    status = models.CharField(max_length=8, choices=DeviceLoginStatus.choices, default=DeviceLoginStatus.WAITING)
    decided_by = models.ForeignKey(Membership, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    label = models.CharField(max_length=128, blank=True)
    project = models.CharField(max_length=512, blank=True, help_text="Path of the scope that the client works in.")
    is_confined = models.BooleanField(default=False, help_text="Whether the key is confined to the project.")
    rights = models.JSONField(default=list, blank=True)
    delegated = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            one_of("status", DeviceLoginStatus, "device_login_status_known"),
            models.CheckConstraint(
                condition=Q(status=DeviceLoginStatus.WAITING, account__isnull=True, decided_by__isnull=True)
                | (~Q(status=DeviceLoginStatus.WAITING) & Q(account__isnull=False, decided_by__isnull=False)),
                name="device_login_decided_in_an_account",
            ),
        ]
