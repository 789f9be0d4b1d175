"""What the tests have done inside an installation of its own, as another process: ``python -m tests.faults.inside``.

``account KEY``: make an account; prints its id. ``key ACCOUNT``: make a key; prints it. ``tell ACCOUNT``: capture
batches of events, one a line of JSON, noting each. ``settle ACCOUNT``: process what waits, undisturbed.
``tick``: queue what the clock queues each minute, much more often. ``retry ACCOUNT EVENT``: try a failed event again.
``audit ACCOUNT``: print the number of faults of the audit chain.
"""

from __future__ import annotations

import json
import sys
import time
from uuid import UUID

import django

django.setup()

from facts import audit, tenancy  # noqa: E402 - only once Django is set up
from facts.actors import pipeline  # noqa: E402
from facts.clock import now  # noqa: E402
from facts.models import Account  # noqa: E402
from facts.tenancy import account_transaction  # noqa: E402
from ingest import outcomes, processing  # noqa: E402
from ingest.capture import capture  # noqa: E402
from ingest.line import Part  # noqa: E402
from ingest.observations import read_batch  # noqa: E402
from memory_site import queue  # noqa: E402
from tests.factories import api_key, key_principal  # noqa: E402


def account(key: str) -> None:
    """Make an account."""
    print(tenancy.create_account(key=key, name=key).id)


def key(account_id: str) -> None:
    """Make a key that may capture and read."""
    owner = Account.objects.get(pk=account_id)
    with account_transaction(owner.id):
        _, raw = api_key(owner)
    print(raw)


def tell(account_id: str) -> None:
    """Capture what comes in, line by line."""
    principal = key_principal(Account.objects.get(pk=account_id))
    for row in sys.stdin:
        observations, batch_key = read_batch({"events": json.loads(row)}, at=now())
        capture(principal, observations, batch_key=batch_key)
        print("captured", flush=True)


def settle(account_id: str) -> None:
    """Process everything that waits in the account, one by one; prints what still waits."""
    print(processing.drain(Part(account_id=UUID(account_id)), seconds=600).pending)


def retry(account_id: str, event_id: str) -> None:
    """Try a failed event again."""
    with account_transaction(UUID(account_id)):
        outcomes.retry(UUID(account_id), UUID(event_id), actor=pipeline("test"))


def tick() -> None:
    """Queue the look for what waits in nobody's hands, every two seconds, until this process is ended."""
    while True:
        queue.enqueue("ingest.tasks.requeue_waiting")
        time.sleep(2)


def check_audit(account_id: str) -> None:
    """Count the faults of the chain."""
    with account_transaction(UUID(account_id)):
        print(len(list(audit.verify(UUID(account_id)))))


COMMANDS = {
    "account": account,
    "key": key,
    "tell": tell,
    "settle": settle,
    "retry": retry,
    "tick": tick,
    "audit": check_audit,
}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
