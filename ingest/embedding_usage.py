"""The calls of remote embedders on the usage ledger, beside those of models that read and answer."""

from __future__ import annotations

import uuid

from facts.embedding_usage import Usage
from ingest.extraction.providers import prices
from ingest.models import ModelCall, ModelRole
from ingest.usage import briefly


def book(account_id: uuid.UUID, usage: Usage) -> None:
    """Write a call down; registered with ``facts.embedding_usage``. Its texts leave no trace, not even a digest."""
    with briefly(account_id):
        ModelCall.objects.create(
            account_id=account_id,
            role=ModelRole.EMBEDDING,
            provider=usage.provider,
            model=usage.model,
            prompt_version="",
            request_digest="",
            input_tokens=usage.tokens,
            output_tokens=None if usage.tokens is None else 0,
            cost_usd=prices.of_tokens(usage.model, list_prices=usage.list_prices, input_tokens=usage.tokens),
            latency_ms=usage.latency_ms,
            error_class=usage.error_class,
        )
