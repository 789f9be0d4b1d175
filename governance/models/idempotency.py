"""Answers kept for repeated requests."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models.owned import Owned


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
