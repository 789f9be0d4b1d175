"""Entry points of background work; the rules are in the services that they call."""

from __future__ import annotations

import uuid

from facts import jobs
from facts.actors import pipeline, sweeper
from facts.clock import now
from facts.models import Account, Fact
from facts.status_graph import LIVE
from facts.tenancy import account_transaction
from governance.placement import due_starts, place_waiting


def place_again(job_id: str, account_id: str) -> None:
    """Plan a fact anew that its conflict set left alone."""
    account = uuid.UUID(account_id)
    with account_transaction(account):
        claim = jobs.claim(account, uuid.UUID(job_id))
    if claim is None:
        return
    with account_transaction(account):
        if not jobs.holds(claim):
            return
        fact = Fact.objects.filter(account_id=account, pk=claim.job.payload["fact_id"]).first()
        if fact is not None and fact.status in LIVE and fact.withheld == "":
            place_waiting(fact, actor=pipeline(), action="fact.placed", reason="conflict_dissolved")
        jobs.finish(claim)


def start_due_facts() -> None:
    """Place the facts whose stated start has come; the value they follow ends there. Safe to run twice or late."""
    for account_id in Account.objects.values_list("id", flat=True):
        with account_transaction(account_id):
            for fact in due_starts(account_id, now()):
                place_waiting(fact, actor=sweeper("start_due_facts"), action="fact.started", reason="starts_later")
