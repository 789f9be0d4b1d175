"""What tokens cost. A price that is not known stays unknown: it is never taken for nothing.

The table holds list prices in US dollars a million tokens, input and output, as known in November 2026: Anthropic's
from its own documentation, OpenAI's from third parties. Prices change: check them against your contract and give your
own in ``MODEL_PRICES``, which adds to the table and overrides it. Discounts (cached input, batches) are left out, so
that a budget errs on the side of care.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from django.conf import settings

from ingest.extraction.providers.calls import Answer, Client

MILLION = Decimal(1_000_000)


class Price(NamedTuple):
    """US dollars a million tokens."""

    input: Decimal
    output: Decimal


LIST_PRICES: dict[str, Price] = {
    "claude-haiku-4-5": Price(Decimal("1.00"), Decimal("5.00")),
    "gpt-5.4-mini": Price(Decimal("0.75"), Decimal("4.50")),
    "gpt-4.1-mini": Price(Decimal("0.40"), Decimal("1.60")),
    "gpt-4o-mini": Price(Decimal("0.15"), Decimal("0.60")),
    "text-embedding-3-small": Price(Decimal("0.02"), Decimal(0)),
    "text-embedding-3-large": Price(Decimal("0.13"), Decimal(0)),
}
#: A dated snapshot of a model costs what the model costs.
_SNAPSHOT = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")


def parse(entries: Sequence[str]) -> dict[str, Price]:
    """Read ``model=input/output`` entries. Raises ``ValueError`` naming the first that is malformed."""
    found = {}
    for entry in entries:
        try:
            model, _, pair = entry.rpartition("=")
            price = Price(*(Decimal(amount) for amount in pair.split("/")))
        except (InvalidOperation, TypeError):
            raise ValueError(entry) from None
        if not model or not all(amount.is_finite() and amount >= 0 for amount in price):
            raise ValueError(entry)
        found[model] = price
    return found


def price_of(model: str, *, list_prices: bool) -> Price | None:
    """Return the price of a model; the vendor's list counts only where the vendor itself is asked."""
    own = parse(settings.MODEL_PRICES)
    for known in (own, LIST_PRICES if list_prices else {}):
        for name in (model, _SNAPSHOT.sub("", model)):
            if name in known:
                return known[name]
    return None


def of_tokens(
    model: str, *, list_prices: bool, input_tokens: int | None, output_tokens: int | None = 0
) -> Decimal | None:
    """Return what tokens cost in US dollars; ``None`` when the price or the tokens are not known."""
    price = price_of(model, list_prices=list_prices)
    if price is None or input_tokens is None or output_tokens is None:
        return None
    return (price.input * input_tokens + price.output * output_tokens) / MILLION


def cost(client: Client, answer: Answer) -> Decimal | None:
    """Return what an answer cost in US dollars; ``None`` when the price or the tokens are not known."""
    return of_tokens(
        client.model,
        list_prices=client.list_prices,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )
