"""Entry points of background work; the rules are in the services that they call."""

from __future__ import annotations

import uuid

from facts import jobs
from facts.models import Account
from facts.tenancy import account_transaction
from ingest import line, processing


def process(job_id: str, account_id: str) -> None:
    """Process the line to which a job belongs."""
    processing.take_turn(uuid.UUID(account_id), uuid.UUID(job_id))


def requeue_waiting() -> None:
    """Queue again whatever is due and in nobody's hands, in every account. Safe to run twice or late."""
    for account_id in Account.objects.values_list("id", flat=True):
        with account_transaction(account_id):
            line.requeue(account_id)
            jobs.requeue_waiting(account_id, except_kinds={line.PROCESS})
