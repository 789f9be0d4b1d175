"""The demo account: something to look at and to ask, on a machine where nothing was said yet."""

from __future__ import annotations

from facts import tenancy

KEY = "demo"


def load() -> None:
    """Create the demo account."""
    tenancy.create_account(key=KEY, name="Demo")
