"""Overrides of retrieval profiles, and the questions by which a change is judged before it is made."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models import Scope
from facts.models.owned import Owned, one_of


class ProfileName(models.TextChoices):
    """The profiles there are; the code holds their built-in settings (``retrieval.profiles.shipped``)."""

    CONTEXT = "context"
    FAST = "fast"
    BALANCED = "balanced"
    THOROUGH = "thorough"
    MINIMAL = "minimal"


class ProfileAction(models.TextChoices):
    """How a version of an override came about."""

    SAVED = "saved"
    REVERTED = "reverted", "went back"
    SWITCHED_OFF = "switched_off", "switched off"


class RetrievalProfile(Owned):
    """One version of an override of a profile, for a scope and what is below it, or (``scope`` null) the account.

    Versions are never changed: an edit writes the next one and makes it the active one; switching off writes one
    that is not active. ``settings`` holds only what differs from the built-in profile; its keys and bounds are
    those of ``retrieval.profiles.profile_settings``.
    """

    scope = models.ForeignKey(Scope, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=16, choices=ProfileName.choices)
    version = models.PositiveIntegerField()
    action = models.CharField(max_length=12, choices=ProfileAction.choices, default=ProfileAction.SAVED)
    settings = models.JSONField(default=dict)
    active = models.BooleanField(default=True)
    note = models.CharField(max_length=500, blank=True, help_text="Why it was changed.")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "scope", "name", "version"], nulls_distinct=False, name="retrieval_profile_once"
            ),
            models.UniqueConstraint(
                fields=["account", "scope", "name"],
                condition=Q(active=True),
                nulls_distinct=False,
                name="retrieval_profile_one_active",
            ),
            one_of("name", ProfileName, "retrieval_profile_name_known"),
            one_of("action", ProfileAction, "retrieval_profile_action_known"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class StoredQuery(Owned):
    """A question kept to see what a change of a profile would do to its answer."""

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+", db_index=False)
    subject_key = models.CharField(max_length=200, blank=True, help_text="On whose behalf it is asked.")
    query = models.TextField()
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "stored queries"
        indexes = [models.Index(fields=["account", "scope", "id"], name="stored_query_by_scope")]

    def __str__(self) -> str:
        return self.query[:80]
