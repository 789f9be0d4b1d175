"""The job ledger: background work that is started once, retried with patience, and never lost.

The queue may deliver a job twice, late, or kill its worker. The ledger row decides: it is claimed by compare-and-set
with the attempt counted before work starts, and finished by whoever holds the claim token.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q

from facts.clock import now
from facts.ids import new_id
from facts.models import Job
from facts.models.records import JobStatus

#: ``dispatcher(function_path, [(job_id, account_id), …])`` puts jobs on the queue, in the running transaction.
Dispatcher = Callable[[str, Sequence[tuple[str, str]]], None]

#: A claim older than this is taken to be dead: as long as any task may run, and half of that as slack.
CLAIM_LASTS = timedelta(seconds=1.5 * settings.MEMORY_TASK_SECONDS)
#: Waiting time before attempt n+1: 5 s, 20 s, 80 s, 320 s; doubling twice keeps five attempts within about 8 minutes.
FIRST_RETRY = timedelta(seconds=5)
RETRY_FACTOR = 4
#: Waiting time of a job that is postponed, doubled each time: an outage of minutes costs minutes, one of hours a
#: look every quarter of an hour.
FIRST_DELAY = timedelta(seconds=30)
LONGEST_DELAY = timedelta(minutes=15)
#: Keys of ``payload`` that serve the ledger: intermediate results, and how often the job was postponed in a row.
KEPT = "kept"
POSTPONED = "postponed"

_dispatcher: Dispatcher | None = None
#: Job kind → dotted path of the task that runs it.
_runners: dict[str, str] = {}


def register_dispatcher(dispatcher: Dispatcher) -> None:
    """Tell the ledger how jobs reach the queue; called once when Django starts."""
    global _dispatcher
    _dispatcher = dispatcher


def register_runner(kind: str, function_path: str) -> None:
    """Tell which task runs jobs of ``kind``."""
    _runners[kind] = function_path


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that this process may work on now."""

    job: Job
    token: uuid.UUID


def submit(
    account_id: uuid.UUID,
    *,
    kind: str,
    input_key: str,
    recipe: str = "1",
    payload: Mapping[str, Any] | None = None,
    max_attempts: int = 5,
) -> Job:
    """Write the ledger row and put it on the queue, in the caller's transaction; a known input is returned as it is."""
    job, created = Job.objects.get_or_create(
        account_id=account_id,
        kind=kind,
        input_key=input_key,
        recipe=recipe,
        defaults={"id": new_id(), "payload": dict(payload or {}), "max_attempts": max_attempts},
    )
    if created:
        dispatch(job)
    return job


def submit_all(
    account_id: uuid.UUID,
    *,
    kind: str,
    input_keys: Sequence[str],
    recipe: str = "1",
    deliver: Collection[str],
    max_attempts: int = 5,
) -> dict[str, Job]:
    """Write the ledger rows of many new inputs at once; returns them by input.

    Only those in ``deliver`` are put on the queue: for kinds of which one delivery works on more than its own job.
    Raises ``IntegrityError`` for an input that is known already.
    """
    rows = Job.objects.bulk_create(
        Job(account_id=account_id, kind=kind, input_key=key, recipe=recipe, max_attempts=max_attempts)
        for key in input_keys
    )
    by_input = {job.input_key: job for job in rows}
    dispatch_all(by_input[key] for key in deliver)
    return by_input


def dispatch(job: Job) -> None:
    """Put an existing job on the queue (again). Harmless when it is there already: claiming decides."""
    dispatch_all([job])


def dispatch_all(waiting: Iterable[Job]) -> None:
    """Do :func:`dispatch` for many jobs, in one statement for each kind."""
    if _dispatcher is None:
        raise RuntimeError("No dispatcher is registered.")
    by_kind: dict[str, list[tuple[str, str]]] = {}
    for job in waiting:
        by_kind.setdefault(job.kind, []).append((str(job.id), str(job.account_id)))
    for kind, calls in by_kind.items():
        _dispatcher(_runners[kind], calls)


def hand_to(account_id: uuid.UUID, values: Mapping[uuid.UUID, Any], *, key: str) -> None:
    """Keep with each of these jobs (by id) what somebody else got for it, as :func:`keep` does for its own worker.

    Only with jobs that nobody has begun. In the caller's transaction.
    """
    waiting = Job.objects.select_for_update().filter(account_id=account_id, status=JobStatus.QUEUED)
    rows = list(waiting.filter(pk__in=list(values)).order_by("id"))
    for row in rows:
        row.payload = {**row.payload, KEPT: {**row.payload.get(KEPT, {}), key: values[row.id]}}
    Job.objects.bulk_update(rows, ["payload"])


def claim(account_id: uuid.UUID, job_id: uuid.UUID) -> Claim | None:
    """Claim a job, counting the attempt; ``None`` when it is done, dead, not due yet or in other hands.

    A job whose attempts are used up (its workers died) becomes dead here: this is what stops a poisoned input.
    """
    at, token = now(), new_id()
    free = Q(status=JobStatus.QUEUED, run_after__lte=at) | Q(status=JobStatus.RUNNING, claimed_at__lt=at - CLAIM_LASTS)
    mine = Job.objects.filter(account_id=account_id, pk=job_id)
    taken = (
        mine.filter(free, attempts__lt=F("max_attempts")).update(
            status=JobStatus.RUNNING, claim_token=token, claimed_at=at, attempts=F("attempts") + 1
        )
        == 1
    )
    if taken:
        return Claim(mine.get(), token)
    mine.filter(free, attempts__gte=F("max_attempts")).update(
        status=JobStatus.DEAD, finished_at=at, error_class="attempts_used_up"
    )
    return None


def holds(claim_: Claim) -> bool:
    """Tell whether the claim still stands, locking the job until the transaction ends."""
    return (
        Job.objects.select_for_update()
        .filter(pk=claim_.job.pk, account_id=claim_.job.account_id, claim_token=claim_.token)
        .filter(status=JobStatus.RUNNING)
        .exists()
    )


def finish(claim_: Claim) -> bool:
    """Mark the job done, in the transaction of its results; ``False`` when the claim was lost meanwhile.

    What was kept for further tries goes.
    """
    payload = {key: value for key, value in claim_.job.payload.items() if key not in {KEPT, POSTPONED}}
    change = {"status": JobStatus.DONE, "finished_at": now(), "payload": payload}
    return _mine(claim_).update(error="", error_class="", **change) == 1


def keep(claim_: Claim, key: str, value: Any) -> None:
    """Keep an intermediate result with the job until it is done, in the caller's transaction.

    For what was costly to get. It may hold content: it goes with the payload when that is erased. Nothing is kept
    where the claim was lost.
    """
    row = _mine(claim_).select_for_update().first()
    if row is not None:
        row.payload = {**row.payload, KEPT: {**row.payload.get(KEPT, {}), key: value}}
        row.save(update_fields=["payload"])


def held(claim_: Claim, key: str) -> Any:
    """Return what was kept with the job under ``key`` before it was claimed, or ``None``."""
    return claim_.job.payload.get(KEPT, {}).get(key)


def kept(claim_: Claim, key: str) -> Any:
    """Return what was kept with the job under ``key``, by this try or an earlier one, or ``None``."""
    row = Job.objects.filter(account_id=claim_.job.account_id, pk=claim_.job.pk).first()
    return row.payload.get(KEPT, {}).get(key) if row is not None else None


def postpone(claim_: Claim, *, error_class: str, pause: timedelta = timedelta(0), at_once: bool = False) -> Job:
    """Put a job back whose input is not at fault: the try does not count, however often this happens.

    It waits at least ``pause``, and longer each time; ``at_once``: it got ahead, and only ``pause`` counts.
    """
    job = claim_.job
    job.refresh_from_db()
    times = 0 if at_once else job.payload.get(POSTPONED, 0) + 1
    wait = pause if at_once else max(pause, min(FIRST_DELAY * 2 ** min(times - 1, 10), LONGEST_DELAY))
    # Spread by up to a fifth, so that what an outage stopped does not all come back in the same second.
    wait *= 1 + (job.id.int % 100) / 500
    _mine(claim_).update(
        status=JobStatus.QUEUED,
        run_after=now() + wait,
        attempts=F("attempts") - 1,
        claim_token=None,
        error_class=error_class[:128],
        error="",
        payload={**job.payload, POSTPONED: times},
    )
    job.refresh_from_db()
    return job


def go_on(claim_: Claim) -> bool:
    """Put back a job that got ahead and has more to do: due at once, with a fresh set of attempts, and queued again.

    ``False`` when the claim was lost meanwhile.
    """
    change = {"status": JobStatus.QUEUED, "run_after": now(), "attempts": 0, "claim_token": None}
    if not _mine(claim_).update(error="", error_class="", **change):
        return False
    dispatch(claim_.job)
    return True


def fail(claim_: Claim, *, error_class: str, error: str = "", retryable: bool = True) -> Job:
    """Record a failure: queued again after a growing pause, or dead when it cannot help or was the last attempt.

    ``error`` must hold no content; it is shown to operators.
    """
    job, at = claim_.job, now()
    if not retryable or job.attempts >= job.max_attempts:
        change = {"status": JobStatus.DEAD, "finished_at": at}
    else:
        pause = FIRST_RETRY * RETRY_FACTOR ** (job.attempts - 1)
        change = {"status": JobStatus.QUEUED, "run_after": at + pause}
    _mine(claim_).update(claim_token=None, error_class=error_class[:128], error=error[:500], **change)
    job.refresh_from_db()
    return job


def may_retry(job: Job) -> bool:
    """Tell whether a person can start another try: of what was given up, or of what pauses before its next one."""
    return job.status == JobStatus.DEAD or (job.status == JobStatus.QUEUED and job.run_after > now())


def retry(account_id: uuid.UUID, job_id: uuid.UUID) -> Job | None:
    """Queue a job that was given up, or that pauses, now and with a fresh set of attempts; ``None`` for any other."""
    at = now()
    waiting = Q(status=JobStatus.DEAD) | Q(status=JobStatus.QUEUED, run_after__gt=at)
    revived = Job.objects.filter(waiting, account_id=account_id, pk=job_id).update(
        status=JobStatus.QUEUED, attempts=0, run_after=at, finished_at=None, claim_token=None
    )
    if not revived:
        return None
    job = Job.objects.get(account_id=account_id, pk=job_id)
    dispatch(job)
    return job


def requeue_waiting(account_id: uuid.UUID, *, except_kinds: Collection[str] = (), limit: int = 500) -> int:
    """Queue again what is due but in nobody's hands: paused retries, dead claims, lost deliveries. Returns how many.

    ``except_kinds``: kinds whose owner does this in a way of its own.
    """
    at = now()
    waiting = (
        Job.objects.filter(
            Q(status=JobStatus.QUEUED, run_after__lte=at)
            | Q(status=JobStatus.RUNNING, claimed_at__lt=at - CLAIM_LASTS),
            account_id=account_id,
        )
        .exclude(kind__in=list(except_kinds))
        .order_by("run_after")[:limit]
    )
    count = 0
    for job in waiting:
        dispatch(job)
        count += 1
    return count


def _mine(claim_: Claim) -> Any:
    return Job.objects.filter(
        pk=claim_.job.pk,
        account_id=claim_.job.account_id,
        claim_token=claim_.token,
        status=JobStatus.RUNNING,
    )
