"""The job that asks a subject by e-mail: it makes a link and sends it; the message says that there is a question.

What the question is about stands on the page behind the link, never in the message.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.core.mail import send_mail

from facts import jobs
from facts.models import Job
from facts.models.records import JobStatus
from facts.tenancy import account_transaction
from governance.models import Consent, ConsentStatus
from governance.sharing import consent_asking, consent_codes, consent_links, consent_question


def run(job_id: str, account_id: str) -> None:
    """Send one question, unless it is answered by now; the message goes out while no transaction is open."""
    account = uuid.UUID(account_id)
    with account_transaction(account):
        claim = jobs.claim(account, uuid.UUID(job_id))
        if claim is None:
            # Perhaps because its workers died once too often.
            for job in Job.objects.filter(account_id=account, pk=job_id):
                _note_given_up(job)
            return
    consent_id = uuid.UUID(claim.job.payload["consent_id"])
    try:
        with account_transaction(account):
            consent = _open_question(account, consent_id)
            found = _message(consent) if consent else None
        if found is not None:
            _send(*found)
        with account_transaction(account):
            if found is not None:
                consent_asking.note_reached(consent)
            elif consent is not None:
                consent_asking.note_unreached(consent)
            jobs.finish(claim)
    except Exception as error:
        with account_transaction(account):
            _note_given_up(jobs.fail(claim, error_class=type(error).__name__))
        raise


def _note_given_up(job: Job) -> None:
    """Write down that the subject could not be asked, where nothing tries any more."""
    consent = _open_question(job.account_id, uuid.UUID(job.input_key)) if job.status == JobStatus.DEAD else None
    if consent is not None:
        consent_asking.note_unreached(consent)


def _open_question(account_id: uuid.UUID, consent_id: uuid.UUID) -> Consent | None:
    waiting = Consent.objects.filter(account_id=account_id, pk=consent_id, status=ConsentStatus.PENDING)
    return waiting.select_related("account").first()


def _message(consent: Consent) -> tuple[str, str, str, str] | None:
    """Return (address, name of the account, token of a new link, code), or ``None`` where there is no address."""
    address = consent_asking.address_of(consent)
    if not address:
        return None
    return address, consent.account.name, consent_links.issue(consent), consent_codes.code_of(consent.id)


def _send(address: str, account: str, token: str, code: str) -> None:
    question = consent_question.worded(account, token=token, code=code)
    send_mail(
        subject=question.title, message=question.text, from_email=settings.DEFAULT_FROM_EMAIL, recipient_list=[address]
    )
