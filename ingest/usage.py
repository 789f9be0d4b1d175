"""The usage ledger: what every call to a model cost, whoever made it and however it ended.

An answer is kept with the job that needs it until that is done, so that a worker that dies in between does not make
anybody pay twice. It is part of the job's payload, and so goes when that is erased; the ledger itself holds no content.
"""

from __future__ import annotations

import hashlib
import hmac
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

from facts import jobs
from facts.account_secret import statement_key
from facts.jobs import Claim
from facts.tenancy import account_transaction
from ingest import budget
from ingest.extraction import Extractor, get_extractor
from ingest.extraction.providers import prices
from ingest.extraction.providers.calls import MAYBE_THE_MESSAGE, Answer, Ask, Call, Client
from ingest.extraction.providers.extractor import ModelExtractor
from ingest.models import EventOutcome, ModelCall, ModelRole


class AccountBooks:
    """The books of one event's calls, or of a batch's. Opens a connection for a moment around each transaction."""

    def __init__(self, client: Client, *, prompt_version: str, claim: Claim, event_id: uuid.UUID | None = None) -> None:
        """``claim`` is the one under which the event is processed, or the batch read."""
        self._client = client
        self._prompt_version = prompt_version
        self._claim = claim
        self._event_id = event_id

    def before(self, ask: Ask) -> Answer | None:
        """Return the answer that an earlier try got. Raises ``ExtractionFailed`` when the budget is used up."""
        account_id = self._claim.job.account_id
        with briefly(account_id):
            held = jobs.kept(self._claim, self._digest(ask))
            if held is None:
                budget.require(account_id)
                return None
        return Answer(text=held["text"], refused=held["refused"], truncated=held["truncated"])

    def book(self, call: Call) -> None:
        """Write the call down, and keep its answer with the job."""
        answer = call.answer
        with briefly(self._claim.job.account_id):
            digest = _record(
                call,
                account_id=self._claim.job.account_id,
                client=self._client,
                role=ModelRole.EXTRACTION,
                prompt_version=self._prompt_version,
                event_id=self._event_id,
            )
            if answer is not None:
                held = {"text": answer.text, "refused": answer.refused, "truncated": answer.truncated}
                jobs.keep(self._claim, digest, held)

    def _digest(self, ask: Ask) -> str:
        return _digest(self._claim.job.account_id, ask, model=self._client.model)


class OpenBooks:
    """The books of calls that belong to no event, and whose answers are not kept."""

    def __init__(self, *, account_id: uuid.UUID, client: Client, role: ModelRole, prompt_version: str) -> None:
        self._account_id = account_id
        self._client = client
        self._role = role
        self._prompt_version = prompt_version

    def before(self, ask: Ask) -> Answer | None:
        """Return nothing. Raises ``ExtractionFailed`` when the budget is used up."""
        with briefly(self._account_id):
            budget.require(self._account_id)
        return None

    def book(self, call: Call) -> None:
        """Write the call down."""
        with briefly(self._account_id):
            _record(
                call,
                account_id=self._account_id,
                client=self._client,
                role=self._role,
                prompt_version=self._prompt_version,
            )


def _record(
    call: Call,
    *,
    account_id: uuid.UUID,
    client: Client,
    role: ModelRole,
    prompt_version: str,
    event_id: uuid.UUID | None = None,
) -> str:
    """Write a call down in the running transaction, and return the name of its request."""
    answer = call.answer
    digest = _digest(account_id, call.ask, model=client.model)
    ModelCall.objects.create(
        account_id=account_id,
        event_id=event_id,
        role=role,
        provider=client.provider,
        model=client.model,
        prompt_version=prompt_version,
        request_digest=digest,
        input_tokens=answer.input_tokens if answer else None,
        output_tokens=answer.output_tokens if answer else None,
        cost_usd=prices.cost(client, answer) if answer else None,
        latency_ms=call.latency_ms,
        error_class=call.error_class,
        notes=list(call.notes),
    )
    return digest


def _digest(account_id: uuid.UUID, ask: Ask, *, model: str) -> str:
    """Return the name of a request that tells nobody else what is in it."""
    return hmac.new(statement_key(account_id), ask.serialised(model=model), hashlib.sha256).hexdigest()


@contextmanager
def briefly(account_id: uuid.UUID) -> Iterator[None]:
    """Be in the account for one short transaction, and give the connection back: a model's turn comes next."""
    outermost = not connection.in_atomic_block
    try:
        with account_transaction(account_id):
            yield
    finally:
        if outermost:
            connection.close()


def accounted(extractor: Extractor, *, claim: Claim, outcome: EventOutcome, seconds: float) -> Extractor:
    """Return the extractor with its calls booked on the event and all of them bounded by ``seconds``.

    A local one needs no books. Where the budget is used up and ``MODEL_BUDGET_FALLBACK`` is set, the local rules take
    the model's place.
    """
    if not isinstance(extractor, ModelExtractor):
        return extractor
    if settings.MODEL_BUDGET_FALLBACK:
        with account_transaction(outcome.account_id):
            if budget.today(outcome.account_id).is_used_up:
                return get_extractor("rules")
    books = AccountBooks(
        extractor.client,
        prompt_version=extractor.identity.prompt_version,
        claim=claim,
        event_id=outcome.event_id,
    )
    return extractor.booked(books, seconds=seconds)


def blames_message(outcome: EventOutcome, *, error_class: str) -> bool:
    """Tell whether a failed call is the message's own fault, by all that the ledger knows.

    So it seems when the same provider answered another message after this one had failed for the first time: the
    provider is there, and this message fails again. Runs in the account's transaction.
    """
    if error_class not in MAYBE_THE_MESSAGE:
        return False
    calls = ModelCall.objects.filter(account_id=outcome.account_id, role=ModelRole.EXTRACTION)
    failed = calls.filter(event_id=outcome.event_id).exclude(error_class="").order_by("created_at").first()
    if failed is None:
        return False
    answered = calls.filter(created_at__gt=failed.created_at, error_class="").exclude(event_id=outcome.event_id)
    return answered.filter(provider=failed.provider, model=failed.model).exists()
