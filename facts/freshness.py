"""How facts age: the horizons of the volatility classes, computed when a fact is read."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from facts.vocabulary import Volatility

#: Days after the last confirmation. ``None``: never ages. Figures from the design, section 4.
HORIZON_DAYS: dict[str, int | None] = {
    Volatility.STABLE: None,
    Volatility.SLOW: 365,
    Volatility.VOLATILE: 60,
    Volatility.EPHEMERAL: 7,
}


class Freshness(StrEnum):
    """What ageing says about a fact at the question's time."""

    CURRENT = "current"
    UNCONFIRMED = "unconfirmed"
    STALE = "stale"


def last_confirmed(
    *, last_reinforced_at: datetime | None, valid_from: datetime | None, recorded_from: datetime
) -> datetime:
    """Return the instant from which a fact ages."""
    return last_reinforced_at or valid_from or recorded_from


def freshness(*, volatility: str, confirmed_at: datetime, at: datetime) -> Freshness:
    """Return how fresh a fact of this class is at ``at``: past its horizon slow facts are unconfirmed, others stale."""
    days = HORIZON_DAYS[volatility]
    if days is None or at - confirmed_at <= timedelta(days=days):
        return Freshness.CURRENT
    return Freshness.UNCONFIRMED if volatility == Volatility.SLOW else Freshness.STALE
