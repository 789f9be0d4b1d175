"""Who may do what: roles on scopes, and the keys of machines."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models import Membership, Scope, Subject
from facts.models.owned import Owned, one_of


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
