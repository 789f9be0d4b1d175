"""Entry points of background work; the rules are in the services that they call."""

from __future__ import annotations

import uuid

from facts import long_work


def work_on(job_id: str, account_id: str) -> None:
    """Give a piece of long work its turn."""
    long_work.take_turn(uuid.UUID(account_id), uuid.UUID(job_id))
