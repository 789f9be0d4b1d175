from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from facts.embedding_usage import Usage
from facts.models import Account
from ingest import embedding_usage
from ingest.models import ModelCall

CALL = Usage(provider="openai", model="text-embedding-3-small", list_prices=True, tokens=1_000_000, latency_ms=80)


@pytest.mark.parametrize(
    ("call", "tokens", "cost"),
    [
        (CALL, (1_000_000, 0), Decimal("0.02")),
        (replace(CALL, list_prices=False), (1_000_000, 0), None),
        (replace(CALL, tokens=None, error_class="http_503"), (None, None), None),
    ],
)
def test_a_call_is_a_line_of_the_ledger(
    account: Account, call: Usage, tokens: tuple[int | None, int | None], cost: Decimal | None
) -> None:
    embedding_usage.book(account.id, call)
    line = ModelCall.objects.get()
    assert (line.account_id, line.event_id, line.role) == (account.id, None, "embedding")
    assert (line.provider, line.model, line.latency_ms) == ("openai", "text-embedding-3-small", 80)
    assert ((line.input_tokens, line.output_tokens), line.cost_usd) == (tokens, cost)
    assert (line.error_class, line.request_digest) == (call.error_class, "")
