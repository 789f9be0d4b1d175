"""Reading a batch: one question to the model about its messages, whose answers are handed to the messages' own jobs.

After that every message takes its turn in the line as if it had been read alone. What could not be read together is
read by itself then. A batch that fails waits as a whole, and its messages with it.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection

from facts import jobs
from facts.clock import now
from facts.errors import DomainError
from facts.jobs import Claim
from facts.models import Job
from facts.models.records import JobStatus
from facts.tenancy import account_transaction
from ingest import budget, line, outcomes, reading, reasons, usage
from ingest.extraction import ExtractionFailed, ExtractionInput, ExtractionResult, Extractor, ExtractorIdentity
from ingest.extraction.providers import together
from ingest.extraction.providers.calls import MAYBE_THE_MESSAGE, REJECTED, TOO_LARGE, UNREADABLE
from ingest.extraction.providers.extractor import ModelExtractor, read_rows
from ingest.models import EventOutcome, MessageBatch, OutcomeResult

logger = logging.getLogger(__name__)

#: Name under which a message's job keeps what was read of it together with others.
ANSWER = "read_together"
#: What tells at once that the messages, not the provider, are the trouble: they are then read one by one.
_THE_MESSAGES = frozenset({REJECTED, TOO_LARGE, UNREADABLE})
#: Delays in a row after which a batch is taken apart whose failures one message might bring about (about 15 minutes).
PATIENCE = 5


@dataclass(frozen=True, slots=True)
class Answered:
    """An extractor that knows already what the model said of its one message."""

    identity: ExtractorIdentity
    rows: Sequence[Mapping[str, Any]]

    def extract(self, item: ExtractionInput) -> ExtractionResult:
        """Return what the rows state of the message, checked as ever."""
        return read_rows(self.rows, item)


def answered(claim: Claim) -> Extractor | None:
    """Return the extractor of a message that was read with its batch, or ``None``."""
    held = jobs.held(claim, ANSWER)
    if held is None:
        return None
    identity = ExtractorIdentity(provider=held["provider"], model=held["model"], prompt_version=held["prompt_version"])
    return Answered(identity, held["rows"])


def take(account_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Answer one delivery of a batch's job: read it, and let its messages take their turns."""
    with account_transaction(account_id):
        claim = jobs.claim(account_id, job_id)
        if claim is None:
            _give_up_dead(account_id, job_id)
            return
    try:
        listed = _read(claim)
    except ExtractionFailed as failure:
        _give_back(claim, failure)
    except Exception as error:
        logger.exception("batch_not_read", extra={"job": str(job_id)})
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
        what = error.code if isinstance(error, DomainError) else type(error).__name__
        _give_back(claim, ExtractionFailed(retryable=True, error_class=what))
    else:
        _hand_out(claim, listed)


def forget_answers(account_id: uuid.UUID, event_ids: Sequence[uuid.UUID]) -> None:
    """Drop what models said of the batches in which these messages are; who reads one now reads it anew.

    Part of an erasure, in its transaction.
    """
    of_events = MessageBatch.objects.filter(account_id=account_id, outcomes__event_id__in=list(event_ids))
    kept = Job.objects.filter(account_id=account_id, pk__in=of_events.values("job_id"))
    kept.update(payload={})
    kept.filter(status=JobStatus.RUNNING).update(status=JobStatus.QUEUED, claim_token=None, run_after=now())


def _read(claim: Claim) -> dict[uuid.UUID, dict[str, Any]]:
    """Return what the model says of the messages it can read together, by their jobs. Writes nothing but the books."""
    account_id = claim.job.account_id
    extractor = reading.configured_extractor()
    if not isinstance(extractor, ModelExtractor):
        return {}
    with account_transaction(account_id):
        if settings.MODEL_BUDGET_FALLBACK and budget.today(account_id).is_used_up:
            return {}
        waiting = {str(outcome.job_id): outcome for outcome in _waiting(claim)}
        messages = [message for key, outcome in waiting.items() if (message := _message(key, outcome)) is not None]
    if len(messages) < 2:
        return {}
    if not connection.in_atomic_block:
        connection.close()
    identity = together.identity(extractor.client)
    reader = together.Reader(
        client=extractor.client,
        circuit_name=extractor.circuit_name,
        timeout=settings.MODEL_CALL_TIMEOUT,
        books=usage.AccountBooks(extractor.client, prompt_version=identity.prompt_version, claim=claim),
        deadline=time.monotonic() + reading.EXTRACTION_SECONDS - 5,
    )
    return {
        uuid.UUID(key): {
            "provider": identity.provider,
            "model": identity.model,
            "prompt_version": identity.prompt_version,
            "rows": rows,
        }
        for key, rows in reader.read(messages).items()
    }


def _waiting(claim: Claim) -> list[EventOutcome]:
    """Return the batch's messages that nobody has processed, in the order in which they were said."""
    waiting = EventOutcome.objects.filter(
        account_id=claim.job.account_id, batch_id=claim.job.input_key, waits_for_batch=True
    )
    return list(waiting.select_related("job", "event").order_by("occurred_at", "event_id"))


def _message(key: str, outcome: EventOutcome) -> together.Message | None:
    """Return what there is to read in an event, or ``None`` for what is no single message of a human."""
    event = outcome.event
    if outcome.result != OutcomeResult.PENDING or event.withdrawn_at is not None or event.forgotten_at is not None:
        return None
    turns = reading.load(event.account_id, event.id).turns
    if len(turns) != 1 or turns[0].item is None:
        return None
    place = (str(event.scope_id), event.channel_id, event.thread)
    return together.Message(key=key, place=place, channel=event.channel_name, item=turns[0].item)


def _hand_out(claim: Claim, listed: Mapping[uuid.UUID, dict[str, Any]]) -> None:
    """Give every message what was read of it, let them take their turns, and end the batch: once, or not at all."""
    account_id = claim.job.account_id
    with account_transaction(account_id):
        if not jobs.holds(claim):
            return
        _release(account_id, uuid.UUID(claim.job.input_key), listed)
        jobs.finish(claim)


def _release(account_id: uuid.UUID, batch_id: uuid.UUID, listed: Mapping[uuid.UUID, dict[str, Any]]) -> None:
    MessageBatch.objects.filter(account_id=account_id, pk=batch_id).update(done_at=now())
    # Locked, so that whoever erases a message meanwhile waits, or has come first.
    members = EventOutcome.objects.filter(account_id=account_id, batch_id=batch_id, waits_for_batch=True)
    found = list(members.select_for_update(of=("self",)).select_related("job").order_by("id"))
    open_jobs = {outcome.job_id for outcome in found if outcome.result == OutcomeResult.PENDING}
    jobs.hand_to(account_id, {job: answer for job, answer in listed.items() if job in open_jobs}, key=ANSWER)
    line.go_on(account_id, found)


def _give_up_dead(account_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Let the messages of a batch whose workers died time and again be read one by one."""
    batch = MessageBatch.objects.filter(account_id=account_id, job_id=job_id, done_at__isnull=True).first()
    if batch is not None and Job.objects.filter(account_id=account_id, pk=job_id, status=JobStatus.DEAD).exists():
        _release(account_id, batch.id, {})


def _give_back(claim: Claim, failure: ExtractionFailed) -> None:
    """Let a batch wait for its next try, or take it apart when one of its messages may be what stops the others."""
    account_id, batch_id = claim.job.account_id, uuid.UUID(claim.job.input_key)
    error_class = failure.error_class
    with account_transaction(account_id):
        if not jobs.holds(claim):
            return
        delays = claim.job.payload.get(jobs.POSTPONED, 0)
        tired = error_class in MAYBE_THE_MESSAGE and delays >= PATIENCE
        if error_class in _THE_MESSAGES or tired:
            _release(account_id, batch_id, {})
            jobs.finish(claim)
        elif failure.outside:
            jobs.postpone(claim, error_class=error_class, pause=failure.pause, at_once=failure.progressed)
            used_up = error_class == budget.EXHAUSTED
            reason = reasons.BUDGET_EXHAUSTED if used_up else reasons.PROVIDER_UNAVAILABLE
            outcomes.record_delay_of_batch(account_id, batch_id, error_class=error_class, reason=reason)
        elif jobs.fail(claim, error_class=error_class, retryable=failure.retryable).status == JobStatus.DEAD:
            _release(account_id, batch_id, {})
