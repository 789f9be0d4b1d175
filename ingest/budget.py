"""The daily budget of an account: how much models may still cost today, and when the next day begins.

Days are those of the account's time zone. What a budget cannot pay for waits; nothing is dropped.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import Sum

from facts.clock import now
from facts.models import Account
from ingest.extraction import ExtractionFailed
from ingest.extraction.dates import zone
from ingest.models import ModelCall

EXHAUSTED = "budget_exhausted"
#: Share of a day's budget that summaries and the like leave to the reading of new messages.
RESERVED = Decimal("0.2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What an account may spend in a day, and what it has spent today. A limit of ``None``: any amount."""

    limit_usd: Decimal | None
    limit_tokens: int | None
    spent_usd: Decimal
    spent_tokens: int
    resets_at: datetime

    @property
    def is_tight(self) -> bool:
        """Whether what is left is for what cannot wait: less than :data:`RESERVED` of a limit."""
        spent = Decimal(1) - RESERVED
        dollars = self.limit_usd is not None and self.spent_usd >= self.limit_usd * spent
        return dollars or (self.limit_tokens is not None and self.spent_tokens >= self.limit_tokens * spent)

    @property
    def is_used_up(self) -> bool:
        """Whether nothing may be spent any more today."""
        dollars = self.limit_usd is not None and self.spent_usd >= self.limit_usd
        return dollars or (self.limit_tokens is not None and self.spent_tokens >= self.limit_tokens)


def today(account_id: uuid.UUID) -> Budget:
    """Return the account's budget and what is left of it. Calls of unknown cost count by their tokens only."""
    timezone = zone(Account.objects.values_list("timezone", flat=True).get(pk=account_id))
    day = now().astimezone(timezone).date()
    begins = datetime.combine(day, time.min, tzinfo=timezone)
    spent = ModelCall.objects.filter(account_id=account_id, created_at__gte=begins).aggregate(
        usd=Sum("cost_usd"), tokens_in=Sum("input_tokens"), tokens_out=Sum("output_tokens")
    )
    return Budget(
        limit_usd=Decimal(str(settings.MODEL_BUDGET_USD)) if settings.MODEL_BUDGET_USD else None,
        limit_tokens=settings.MODEL_BUDGET_TOKENS or None,
        spent_usd=spent["usd"] or Decimal(0),
        spent_tokens=(spent["tokens_in"] or 0) + (spent["tokens_out"] or 0),
        resets_at=datetime.combine(day + timedelta(days=1), time.min, tzinfo=timezone),
    )


def require(account_id: uuid.UUID) -> None:
    """Raise ``ExtractionFailed`` (:data:`EXHAUSTED`), with the time until the next day, when nothing is left."""
    if not (settings.MODEL_BUDGET_USD or settings.MODEL_BUDGET_TOKENS):
        return
    budget = today(account_id)
    if budget.is_used_up:
        raise ExtractionFailed(
            retryable=True, error_class=EXHAUSTED, outside=True, pause=max(budget.resets_at - now(), timedelta(0))
        )
