"""Pages that messages name: each is fetched once in a while, one host and one account at a time not too often.

A job is unique for an address and a scope within :data:`FRESH`. It is tried again where that may help, and is dead
afterwards: visible like every other job.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import timedelta
from urllib.parse import urlsplit

from django.conf import settings

from facts import jobs
from facts.actors import pipeline
from facts.clock import now
from facts.errors import DomainError
from facts.guarded_requests import SendFailed
from facts.models import Event, Job
from facts.models.records import JobStatus
from facts.public_addresses import AddressRefused
from facts.tenancy import account_transaction
from facts.vocabulary import Sensitivity, SourceType
from ingest.observations import IMPORTED
from ingest.web import addresses, keeping, pages, summing_up

FETCH = "web.fetch"
#: How long a page counts as read: whoever names it again meanwhile adds nothing.
FRESH = timedelta(days=7)
#: An account's pages in an hour that are queued, and in a minute that are fetched.
PER_HOUR = 600
PER_MINUTE = 30
#: Pause between two pages of one host.
HOST_PAUSE = timedelta(seconds=5)
_FETCHED = (JobStatus.RUNNING, JobStatus.DONE)
_SHARED = (Sensitivity.PUBLIC, Sensitivity.INTERNAL)


def queue_pages(account_id: uuid.UUID, events: Iterable[Event]) -> int:
    """Queue the pages that messages of shared channels name, in the caller's transaction; return how many are new.

    Not those of imported history, of private messages, of machines, and links that are for their receiver alone.
    """
    wanted = _wanted(events) if settings.MEMORY_FETCH_URLS else {}
    if not wanted:
        return 0
    window = int(now().timestamp() // FRESH.total_seconds())
    keys = {f"{event.scope_id}:{addresses.digest(url)[:40]}:{window}": (url, event) for url, event in wanted.items()}
    known = set(Job.objects.filter(account_id=account_id, kind=FETCH, input_key__in=keys).values_list("input_key"))
    fresh = {key: value for key, value in keys.items() if (key,) not in known}
    left = PER_HOUR - _queued_lately(account_id) if fresh else 0
    for key, (url, event) in list(fresh.items())[: max(left, 0)]:
        payload = {"url": url, "host": urlsplit(url).netloc, "scope": event.scope.path, "event": str(event.id)}
        jobs.submit(account_id, kind=FETCH, input_key=key, payload=payload)
    return min(len(fresh), max(left, 0))


def run(account_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Fetch, sum up and keep one page; safe to run twice, late, or killed in between."""
    with account_transaction(account_id):
        claim = jobs.claim(account_id, job_id)
        if claim is None:
            return
        pause = _pause(claim.job)
        if pause:
            jobs.postpone(claim, error_class="", pause=pause, at_once=True)
            return
        if not _still_said(claim.job):
            jobs.finish(claim)
            return
    asked = claim.job.payload
    try:
        page = pages.fetch(asked["url"])
        summary = summing_up.sum_up(page, account_id=account_id)
        with account_transaction(account_id):
            if jobs.holds(claim) and _still_said(claim.job):
                keeping.keep_page(
                    account_id,
                    page,
                    summary,
                    scope=asked["scope"],
                    actor=pipeline("web"),
                    asked_by={"asked_by_event": asked["event"]},
                )
                jobs.finish(claim)
    except SendFailed as failure:
        _fail(claim, failure.reason, retryable=failure.retryable)
    except AddressRefused as refused:
        _fail(claim, refused.code, retryable=False)
    except DomainError as error:
        _fail(claim, error.code, retryable=error.status >= 500)


def _fail(claim: jobs.Claim, error_class: str, *, retryable: bool) -> None:
    with account_transaction(claim.job.account_id):
        jobs.fail(claim, error_class=error_class, retryable=retryable)


def _wanted(events: Iterable[Event]) -> dict[str, Event]:
    """Return the pages that are to be read, each with the first message that names it."""
    wanted: dict[str, Event] = {}
    for event in events:
        live = event.channel_id and event.human and event.source_type == SourceType.CHANNEL_MESSAGE
        live = live and not event.recorded_claims.get(IMPORTED)
        if not live or event.sensitivity not in _SHARED:
            continue
        named = event.urls or addresses.in_text(event.text)
        for url in named[: addresses.MAX_IN_MESSAGE]:
            try:
                address = addresses.normalise(url)
            except AddressRefused:
                continue
            if not addresses.is_for_its_receiver(address):
                wanted.setdefault(address, event)
    return wanted


def _queued_lately(account_id: uuid.UUID) -> int:
    return Job.objects.filter(account_id=account_id, kind=FETCH, created_at__gte=now() - timedelta(hours=1)).count()


def _pause(job: Job) -> timedelta:
    """Return how long to wait, so that neither the host nor the account is asked too often; none: now."""
    at = now()
    fetched = Job.objects.filter(account_id=job.account_id, kind=FETCH, status__in=_FETCHED).exclude(pk=job.pk)
    if fetched.filter(claimed_at__gte=at - HOST_PAUSE, payload__host=job.payload.get("host")).exists():
        return HOST_PAUSE
    if fetched.filter(claimed_at__gte=at - timedelta(minutes=1)).count() >= PER_MINUTE:
        return timedelta(minutes=1)
    return timedelta(0)


def _still_said(job: Job) -> bool:
    """Tell whether the message that named the page stands, and was not forgotten or erased meanwhile."""
    said = job.payload.get("event")
    return (
        bool(job.payload.get("url"))
        and Event.objects.filter(
            account_id=job.account_id, pk=said, withdrawn_at__isnull=True, forgotten_at__isnull=True
        ).exists()
    )
