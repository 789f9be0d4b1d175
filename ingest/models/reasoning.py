"""How far the reasoning pass has come in each scope."""

from __future__ import annotations

from django.db import models

from facts.models import Scope
from facts.models.owned import Owned


class ReasoningMark(Owned):
    """All that was recorded in a scope up to ``reached_at`` has been reasoned about."""

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+", db_index=False)
    reached_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "scope"], name="reasoning_mark_once")]
