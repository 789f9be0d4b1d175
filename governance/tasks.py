"""Entry points of background work; the rules are in the services that they call."""

from __future__ import annotations

import logging
import uuid

from facts import conflict_sets, jobs
from facts.actors import pipeline, sweeper
from facts.clock import now
from facts.errors import DomainError
from facts.locks import lock_subject
from facts.models import Account, Fact
from facts.tenancy import account_transaction
from facts.vocabulary import Status
from governance.models import Review, ReviewStatus
from governance.placement import due_starts, place_waiting
from governance.sweeping import ageing, expiry, retention, revalidation

logger = logging.getLogger(__name__)


def place_again(job_id: str, account_id: str) -> None:
    """Plan a fact anew that its conflict set left alone."""
    account = uuid.UUID(account_id)
    with account_transaction(account):
        claim = jobs.claim(account, uuid.UUID(job_id))
    if claim is None:
        return
    try:
        with account_transaction(account):
            if jobs.holds(claim):
                _place_left_alone(account, uuid.UUID(claim.job.payload["fact_id"]))
                jobs.finish(claim)
    except Exception as error:
        with account_transaction(account):
            jobs.fail(claim, error_class=type(error).__name__)
        raise


def _place_left_alone(account_id: uuid.UUID, fact_id: uuid.UUID) -> None:
    fact = Fact.objects.filter(account_id=account_id, pk=fact_id).first()
    if fact is None:
        return
    lock_subject(fact.scope_id, fact.subject_id)
    fact.refresh_from_db()
    if fact.status in conflict_sets.ACCEPTED_AND_WAITING and not _is_spoken_for(fact):
        place_waiting(fact, actor=pipeline(), action="fact.placed", reason="conflict_dissolved")


def _is_spoken_for(fact: Fact) -> bool:
    """Whether somebody else decides about the fact by now: a person, another conflict, or the date of its start."""
    return (
        fact.starts_later
        or conflict_sets.is_contested(fact)
        or Review.objects.filter(account_id=fact.account_id, fact=fact, status=ReviewStatus.PENDING).exists()
    )


def start_due_facts() -> None:
    """Place the facts whose stated start has come; the value they follow ends there. Safe to run twice or late."""
    for account_id in Account.objects.values_list("id", flat=True):
        with account_transaction(account_id):
            due = due_starts(account_id, now())
        for fact in due:
            try:
                _start(account_id, fact)
            except DomainError as error:
                logger.warning("fact_not_started", extra={"fact": str(fact.id), "error": error.code})


def _start(account_id: uuid.UUID, fact: Fact) -> None:
    """Place one due fact, in a transaction of its own: one that fails stops no other."""
    with account_transaction(account_id):
        lock_subject(fact.scope_id, fact.subject_id)
        fact.refresh_from_db()
        if fact.status == Status.HELD and fact.starts_later:
            place_waiting(fact, actor=sweeper("start_due_facts"), action="fact.started", reason="starts_later")


def expire_facts() -> int:
    """Let facts expire whose time is over; return how many did."""
    return expiry.expire()


def ask_to_revalidate() -> int:
    """Ask about facts that a rule wants looked at again; return about how many."""
    return revalidation.ask()


def age_reviews() -> int:
    """Escalate overdue reviews, and reject proposals that stayed overdue; return how many changed."""
    return ageing.age()


def remove_raw_text() -> int:
    """Remove what was said word for word where it is kept no longer; return of how many events."""
    return retention.remove()
