"""The ledger of what models were asked and what it cost."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models import Event
from facts.models.owned import Owned, one_of


class ModelRole(models.TextChoices):
    """What a model was asked for."""

    EXTRACTION = "extraction"
    ANSWERER = "answerer"
    EMBEDDING = "embedding"
    MOOD = "mood"
    PAGE_SUMMARY = "page_summary"
    SUMMARY = "summary"
    REASONING = "reasoning"


class ModelCall(Owned):
    """One try of a call to a model, successful or not: figures and codes, no content.

    ``request_digest`` is keyed by the account's secret, and empty for embeddings. Tokens are as the provider counted
    them. ``cost_usd`` is ``None`` where tokens or price are not known. ``error_class`` is empty for an answer that
    could be used, ``notes`` names what was odd about one.
    """

    event = models.ForeignKey(Event, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    role = models.CharField(max_length=16, choices=ModelRole.choices)
    provider = models.CharField(max_length=64)
    model = models.CharField(max_length=128)
    prompt_version = models.CharField(max_length=64)
    request_digest = models.CharField(max_length=64)
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    cost_usd = models.DecimalField(null=True, max_digits=14, decimal_places=8)
    latency_ms = models.PositiveIntegerField()
    error_class = models.CharField(max_length=128, blank=True)
    notes = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-id"]
        constraints = [one_of("role", ModelRole, "model_call_role_known")]
        indexes = [
            models.Index(fields=["account", "created_at"], name="model_call_by_time"),
            models.Index(fields=["account", "event"], name="model_call_by_event"),
        ]
