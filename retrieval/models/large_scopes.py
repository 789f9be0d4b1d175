"""Scopes so large that they have indexes of their own."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models import EmbeddingSpace, Scope
from facts.models.owned import Owned


class LargeScope(Owned):
    """Says that the indexes of a scope are there (``retrieval.large_scope_indexes``), so that reads may use them.

    ``space`` is the embedding space whose vectors are indexed, ``None`` where only text is; ``rows`` how many facts and
    passages could be found when the indexes were made.
    """

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+", db_index=False)
    space = models.ForeignKey(EmbeddingSpace, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    rows = models.PositiveIntegerField()
    built_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "scope"], name="large_scope_once")]

    def __str__(self) -> str:
        return str(self.scope_id)
