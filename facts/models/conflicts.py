"""Conflict sets, what people decided about them, and what must not be proposed again."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models.facts import Fact
from facts.models.owned import Owned, one_of
from facts.models.tenancy import Membership, Scope, Subject
from facts.vocabulary import ConflictKind, ConflictStatus


class ConflictSet(Owned):
    """Facts that cannot all hold. While it is open, it withholds members from every reader; it changes no status.

    ``version`` counts membership changes and decisions: a decision names the version it was made upon.
    """

    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="+")
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="conflict_sets")
    identity_key = models.CharField(max_length=64, blank=True)
    kind = models.CharField(max_length=16, choices=ConflictKind.choices)
    status = models.CharField(max_length=12, choices=ConflictStatus.choices, default=ConflictStatus.OPEN)
    reason = models.CharField(max_length=500)
    opened_by = models.JSONField(default=dict)
    opened_at = models.DateTimeField(default=now)
    closed_by = models.JSONField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    assignee = models.ForeignKey(Membership, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    due_at = models.DateTimeField(null=True, blank=True)
    deferred_until = models.DateTimeField(null=True, blank=True)
    resolution = models.CharField(max_length=24, blank=True)
    rationale = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["opened_at", "id"]
        constraints = [
            one_of("kind", ConflictKind, "conflict_kind_known"),
            one_of("status", ConflictStatus, "conflict_status_known"),
            models.UniqueConstraint(
                fields=["account", "scope", "subject", "identity_key"],
                condition=Q(status=ConflictStatus.OPEN, kind=ConflictKind.CONTRADICTION) & ~Q(identity_key=""),
                name="conflict_one_open_per_identity",
            ),
            models.CheckConstraint(
                condition=Q(status=ConflictStatus.OPEN, closed_at__isnull=True)
                | (~Q(status=ConflictStatus.OPEN) & Q(closed_at__isnull=False)),
                name="conflict_closed_iff_not_open",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "status", "opened_at"], name="conflict_queue"),
            models.Index(fields=["account", "opened_at"], name="conflict_by_opening"),
            models.Index(fields=["account", "closed_at"], name="conflict_by_close"),
            models.Index(
                fields=["account", "scope", "subject"],
                name="conflict_open_by_subject",
                condition=Q(status=ConflictStatus.OPEN),
            ),
        ]


class ConflictMember(Owned):
    """One side of a conflict set. Leaving is recorded, never deleted."""

    conflict_set = models.ForeignKey(ConflictSet, on_delete=models.CASCADE, related_name="members")
    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="conflict_memberships")
    withheld = models.BooleanField(default=True)
    joined_at = models.DateTimeField(default=now)
    left_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "conflict_set", "fact"], name="conflict_member_once")]
        indexes = [models.Index(fields=["account", "fact"], name="conflict_member_by_fact")]


class ConflictDecision(Owned):
    """What was decided about a conflict set: by whom, why, and which revision of each fact it led from and to.

    ``changes`` holds ``[{"fact": id, "from_version": n, "to_version": m}]``: what an undo has to restore.
    """

    conflict_set = models.ForeignKey(ConflictSet, on_delete=models.CASCADE, related_name="decisions")
    verb = models.CharField(max_length=24)
    detail = models.JSONField(default=dict)
    rationale = models.TextField(blank=True)
    actor = models.JSONField(default=dict)
    decided_at = models.DateTimeField(default=now)
    group = models.UUIDField()
    changes = models.JSONField(default=list)
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-decided_at"]
        indexes = [models.Index(fields=["account", "conflict_set"], name="decision_by_set")]


class Separation(Owned):
    """Two facts that people said do not contradict each other, and what sets them apart: never proposed again."""

    first = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="+")
    distinction = models.CharField(max_length=500)
    actor = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=now)
    lifted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "first", "second"], name="separation_once")]


class SuppressionCause(models.TextChoices):
    """Why something must not come back, and so for how long."""

    REJECTED = "rejected"
    FORGOTTEN = "forgotten"
    ERASED = "erased"


class Suppression(Owned):
    """Keeps what was rejected or forgotten from being extracted again.

    Matches by identity and value, or by statement hash. ``evidence_until`` set: only evidence dated up to then is
    blocked; ``None``: blocked for good. ``lifted_at`` set: no longer in force.
    """

    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="suppressions")
    fact = models.ForeignKey(Fact, null=True, on_delete=models.SET_NULL, related_name="suppressions")
    cause = models.CharField(max_length=12, choices=SuppressionCause.choices)
    identity_key = models.CharField(max_length=64, blank=True)
    value_key = models.CharField(max_length=64, blank=True)
    statement_hash = models.CharField(max_length=64, blank=True)
    evidence_until = models.DateTimeField(null=True, blank=True)
    actor = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=now)
    lifted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["account", "subject"],
                name="suppression_in_force",
                condition=Q(lifted_at__isnull=True),
            )
        ]
        constraints = [
            one_of("cause", SuppressionCause, "suppression_cause_known"),
            models.CheckConstraint(
                condition=~Q(statement_hash="") | (~Q(identity_key="") & ~Q(value_key="")),
                name="suppression_matches_something",
            ),
        ]


class PredicateAlias(Owned):
    """A predicate name that a person said means the same as another one, in this account."""

    alias = models.CharField(max_length=128)
    canonical = models.CharField(max_length=128)
    actor = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "predicate aliases"
        constraints = [
            models.UniqueConstraint(fields=["account", "alias"], name="predicate_alias_once"),
            models.CheckConstraint(condition=~Q(alias=models.F("canonical")), name="predicate_alias_differs"),
        ]
