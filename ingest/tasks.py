"""Entry points of background work; the rules are in the services that they call."""

from __future__ import annotations

import uuid

from facts import jobs
from facts.isolation import each_account
from facts.models import Account
from facts.tenancy import account_transaction
from ingest import batch_reading, batches, line, processing
from ingest.deliveries import outbox
from ingest.imports import running
from ingest.reasoning import passing
from ingest.slack import asking, receiving
from ingest.web import queue


def process(job_id: str, account_id: str) -> None:
    """Process the line to which a job belongs."""
    processing.take_turn(uuid.UUID(account_id), uuid.UUID(job_id))


def fetch_page(job_id: str, account_id: str) -> None:
    """Fetch a page that a message names."""
    queue.run(uuid.UUID(account_id), uuid.UUID(job_id))


def read_batch(job_id: str, account_id: str) -> None:
    """Read the batch that a job is for."""
    batch_reading.take(uuid.UUID(account_id), uuid.UUID(job_id))


def requeue_waiting() -> None:
    """Queue again whatever is due and in nobody's hands, in every account, and batches whose time has come.

    Safe to run twice or late.
    """

    def requeue(account_id: uuid.UUID) -> int:
        with account_transaction(account_id):
            batches.close_quiet(account_id)
            return line.requeue(account_id) + jobs.requeue_waiting(account_id, except_kinds={line.PROCESS})

    each_account(Account.objects.values_list("id", flat=True), requeue, name="requeue_waiting")


def begin_reasoning() -> None:
    """Begin the reasoning pass of each account's night. Safe to run twice or late."""
    passing.begin_nights()


def begin_reasoning_night(job_id: str, account_id: str) -> None:
    """Begin one account's pass."""
    passing.begin_night(uuid.UUID(account_id), uuid.UUID(job_id))


def ask_slack(job_id: str, account_id: str) -> None:
    """Ask Slack what a job is for."""
    asking.run(uuid.UUID(account_id), uuid.UUID(job_id))


def prune_uploads() -> None:
    """Delete the content of files that were uploaded for an import with which nobody went on, in every account."""

    def prune(account_id: uuid.UUID) -> int:
        with account_transaction(account_id):
            return running.prune(account_id)

    each_account(Account.objects.values_list("id", flat=True), prune, name="prune_uploads")


def prune_slack() -> None:
    """Delete what was noted of Slack's requests and is of no use any more, in every account."""

    def prune(account_id: uuid.UUID) -> int:
        with account_transaction(account_id):
            return receiving.prune(account_id)

    each_account(Account.objects.values_list("id", flat=True), prune, name="prune_slack")


def prune_deliveries() -> None:
    """Delete the records of deliveries that are over for long, in every account."""

    def prune(account_id: uuid.UUID) -> int:
        pruned = outbox.PRUNED_AT_ONCE
        total = 0
        while pruned == outbox.PRUNED_AT_ONCE:
            with account_transaction(account_id):
                pruned = outbox.prune(account_id)
            total += pruned
        return total

    each_account(Account.objects.values_list("id", flat=True), prune, name="prune_deliveries")
