"""Long work: begun, told how far it is, cancelled at its next step, and resumed where it stopped.

Two kinds of work go by this. Work *in steps* registers one function that does the next step; the worker does one
after another, or a command does in its own process. Other work tells :class:`Run` what it has done, from within
its own loop. Every step commits with its progress, so that a kill costs one step at most.

Whoever begins or takes over writes a new token on the row. A process whose token stands there no more has been
overtaken: it raises :class:`TakenOver` at its next step and writes nothing.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from facts import audit, jobs, pace
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound
from facts.ids import new_id
from facts.models import LongJob
from facts.models.long_jobs import OPEN_STATES, LongJobState
from facts.tenancy import account_transaction

#: Kind of the ledger's jobs that give long work its turns in the worker.
TURN = "long_job.turn"
#: Work that gives no sign of life for so long is taken to be dead: as long as a claim lasts.
SILENT = jobs.CLAIM_LASTS


class CancelAsked(Exception):
    """Somebody wants the work to end; what was done so far is kept."""


class TakenOver(Exception):
    """Another process goes on with the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step came to.

    ``pause`` is waited before the next one. ``reason`` names what it waits for, "" for an ordinary pause. ``failed``
    names why the work cannot go on, where trying again does not help; "" when it can.
    """

    finished: bool = False
    failed: str = ""
    pause: timedelta = timedelta()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of long work: ``title`` for people, the plural noun of what it counts, and how it goes on.

    ``step`` does the next step outside of any transaction. Work without one is done by ``command`` in its own process.
    ``ended`` is called in the transaction that closes the work, however it ended.
    """

    name: str
    title: str
    unit: str
    command: str = ""
    step: Callable[[Run], Step] | None = None
    ended: Callable[[LongJob], None] | None = None


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Make a kind of long work known; called when Django starts."""
    _kinds[kind.name] = kind


def kind_of(name: str) -> Kind:
    """Return a kind; one that is registered no more (its rows remain) has its name for a title."""
    return _kinds.get(name) or Kind(name=name, title=name, unit="steps")


@dataclass(slots=True)
class Run:
    """The hold of one process on long work."""

    job: LongJob
    token: uuid.UUID

    def note(
        self,
        done: int,
        *,
        total: int | None = None,
        position: Mapping[str, Any] | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """Write how much is ``done`` in all, in the caller's transaction or one of its own.

        ``counts`` are added to those that are known; ``None`` leaves total and position as they are. Raises
        :class:`TakenOver`.
        """
        with account_transaction(self.job.account_id):
            row = self._row()
            row.done, row.updated_at = done, now()
            row.total = row.total if total is None else total
            row.position = row.position if position is None else dict(position)
            row.counts = dict(sorted((Counter(row.counts) + Counter(counts or {})).items()))
            row.pace = pace.noted(row.pace, at=row.updated_at, done=done)
            row.save(update_fields=["done", "updated_at", "total", "position", "counts", "pace"])
            self.job = row

    def check(self) -> None:
        """Give a sign of life; raises :class:`CancelAsked` when the work is to end, :class:`TakenOver`."""
        with account_transaction(self.job.account_id):
            row = self._row()
            row.updated_at = now()
            row.save(update_fields=["updated_at"])
            self.job = row
        if row.state == LongJobState.CANCELLING:
            raise CancelAsked

    def advance(self, done: int, **more: Any) -> None:
        """Do :meth:`note`, then :meth:`check`: for loops that are not inside a transaction."""
        self.note(done, **more)
        if self.job.state == LongJobState.CANCELLING:
            raise CancelAsked

    def close(self, state: LongJobState, *, error_class: str = "", resume_at: datetime | None = None) -> None:
        """Leave the work in ``state``; of no effect when another process has taken over."""
        with account_transaction(self.job.account_id):
            try:
                row = self._row()
            except TakenOver:
                return
            leave(row, state, error_class=error_class, resume_at=resume_at)
            self.job = row

    def _row(self) -> LongJob:
        row = (
            LongJob.objects.select_for_update()
            .filter(account_id=self.job.account_id, pk=self.job.pk, token=self.token)
            .first()
        )
        if row is None or not row.is_open:
            raise TakenOver
        return row


def submit(
    account_id: uuid.UUID,
    *,
    kind: str,
    input_key: str = "",
    title: str = "",
    options: Mapping[str, Any] | None = None,
    total: int | None = None,
    actor: Actor,
) -> LongJob:
    """Have work in steps done by the worker, in the caller's account transaction; what is open is returned as it is."""
    job, created = _open(account_id, kind=kind, input_key=input_key, title=title, options=options, actor=actor)
    if created:
        job.total = total
        job.save(update_fields=["total"])
        queue(job)
    return job


def begin(
    account_id: uuid.UUID,
    *,
    kind: str,
    input_key: str = "",
    title: str = "",
    options: Mapping[str, Any] | None = None,
    total: int | None = None,
    actor: Actor,
) -> Run:
    """Begin work in this process, or go on with what is open of the same kind and input; commits."""
    with account_transaction(account_id):
        job, _ = _open(account_id, kind=kind, input_key=input_key, title=title, options=options, actor=actor)
        return _take(job, total=total)


def take(account_id: uuid.UUID, job_id: uuid.UUID) -> Run | None:
    """Take hold of work in this process; ``None`` when it is over, or was cancelled meanwhile. Commits."""
    with account_transaction(account_id):
        job = LongJob.objects.select_for_update().filter(account_id=account_id, pk=job_id).first()
        if job is None or not job.is_open:
            return None
        if job.state == LongJobState.CANCELLING:
            leave(job, LongJobState.CANCELLED)
            return None
        return _take(job)


@contextmanager
def working(
    account_id: uuid.UUID,
    *,
    kind: str,
    input_key: str = "",
    title: str = "",
    options: Mapping[str, Any] | None = None,
    total: int | None = None,
    actor: Actor,
) -> Iterator[Run]:
    """Do work in this process with a record of it: done at the end, paused when interrupted, failed on an error.

    A cancelled or overtaken run leaves by :class:`CancelAsked` or :class:`TakenOver`, as anything raised inside does.
    """
    run = begin(account_id, kind=kind, input_key=input_key, title=title, options=options, total=total, actor=actor)
    try:
        yield run
    except CancelAsked:
        run.close(LongJobState.CANCELLED)
        raise
    except TakenOver:
        raise
    except (KeyboardInterrupt, SystemExit):
        run.close(LongJobState.PAUSED)
        raise
    except Exception as error:
        run.close(LongJobState.FAILED, error_class=class_of(error))
        raise
    run.close(LongJobState.DONE)


def cancel(account_id: uuid.UUID, job_id: uuid.UUID, *, actor: Actor) -> LongJob:
    """Ask for the end of work, in the caller's account transaction: at its next step, at once where nobody is at work.

    Raises ``NotFound`` (``job_not_found``) and ``Conflicting`` (``job_over``).
    """
    job = _locked(account_id, job_id)
    if not job.is_open:
        raise Conflicting("This work is over already.", code="job_over")
    job.cancelled_by, job.cancelled_at = actor.as_json(), now()
    job.save(update_fields=["cancelled_by", "cancelled_at"])
    if job.state == LongJobState.RUNNING and not is_silent(job):
        job.state = LongJobState.CANCELLING
        job.save(update_fields=["state"])
    else:
        leave(job, LongJobState.CANCELLED)
    _record(job, "long_job.cancelled", actor)
    return job


def resume(account_id: uuid.UUID, job_id: uuid.UUID, *, actor: Actor) -> LongJob:
    """Let work go on that was paused, cancelled or failed, or whose process died, from where it stopped.

    Work in steps is queued; other work waits for its command to be called again. Runs in the caller's account
    transaction. Raises ``NotFound`` (``job_not_found``) and ``Conflicting`` (``job_not_resumable``).
    """
    job = _locked(account_id, job_id)
    if not may_resume(job):
        raise Conflicting("Only what was stopped can be resumed.", code="job_not_resumable")
    others = LongJob.objects.filter(
        account_id=account_id, kind=job.kind, input_key=job.input_key, state__in=OPEN_STATES
    ).exclude(pk=job.pk)
    if others.exists():
        raise Conflicting("The same work was begun anew meanwhile.", code="job_not_resumable")
    job.state, job.token, job.finished_at, job.resume_at = LongJobState.WAITING, None, None, None
    job.error_class, job.cancelled_by, job.cancelled_at, job.pace = "", {}, None, []
    job.runs += 1
    job.save()
    _record(job, "long_job.resumed", actor)
    queue(job)
    return job


def may_resume(job: LongJob) -> bool:
    """Tell whether :func:`resume` does anything for it."""
    if job.state in {LongJobState.PAUSED, LongJobState.CANCELLED, LongJobState.FAILED}:
        return True
    return job.state in {LongJobState.RUNNING, LongJobState.CANCELLING} and is_silent(job)


def is_silent(job: LongJob) -> bool:
    """Tell whether work that should go on gives no sign of life any more."""
    return job.state in {LongJobState.RUNNING, LongJobState.CANCELLING} and job.updated_at < now() - SILENT


def estimated_end(job: LongJob) -> datetime | None:
    """Return when the work will be done at its present pace; ``None`` where that is not known."""
    if job.state != LongJobState.RUNNING or is_silent(job):
        return None
    return pace.end_of(job.pace, total=job.total, at=now())


def of_account(account_id: uuid.UUID, *, kind: str = "") -> QuerySet[LongJob]:
    """Return the long work of an account, the newest first."""
    found = LongJob.objects.filter(account_id=account_id)
    return found.filter(kind=kind) if kind else found


def queue(job: LongJob) -> None:
    """Give work in steps a turn in the worker, in the caller's transaction; nothing for other work."""
    if kind_of(job.kind).step is not None:
        jobs.submit(job.account_id, kind=TURN, input_key=str(job.id), recipe=str(job.runs))


def class_of(error: Exception) -> str:
    """Return what is told of an error: a code or the name of its class, never its text."""
    return (error.code if isinstance(error, DomainError) else type(error).__name__)[:128]


def leave(job: LongJob, state: LongJobState, *, error_class: str = "", resume_at: datetime | None = None) -> None:
    """Leave work in ``state`` with nobody at it, in the transaction that has locked its row."""
    at = now()
    job.state, job.token, job.updated_at, job.resume_at = state, None, at, resume_at
    job.error_class = error_class[:128]
    job.finished_at = None if state in OPEN_STATES else at
    job.save()
    ended = kind_of(job.kind).ended
    if not job.is_open and ended is not None:
        ended(job)


def _open(
    account_id: uuid.UUID,
    *,
    kind: str,
    input_key: str,
    title: str,
    options: Mapping[str, Any] | None,
    actor: Actor,
) -> tuple[LongJob, bool]:
    """Return the open work of a kind on an input, locked, or make it."""
    return LongJob.objects.select_for_update().get_or_create(
        account_id=account_id,
        kind=kind,
        input_key=input_key[:200],
        state__in=OPEN_STATES,
        defaults={
            "state": LongJobState.WAITING,
            "title": title[:200],
            "unit": kind_of(kind).unit,
            "options": dict(options or {}),
            "started_by": actor.as_json(),
        },
    )


def _take(job: LongJob, *, total: int | None = None) -> Run:
    token = new_id()
    job.state, job.token, job.resume_at, job.error_class = LongJobState.RUNNING, token, None, ""
    job.cancelled_by, job.cancelled_at = {}, None
    at = now()
    if job.updated_at < at - SILENT:
        job.pace = []
    job.updated_at = at
    job.started_at = job.started_at or job.updated_at
    job.total = job.total if total is None else total
    job.pace = pace.noted(job.pace, at=job.updated_at, done=job.done)
    job.save()
    return Run(job, token)


def _locked(account_id: uuid.UUID, job_id: uuid.UUID) -> LongJob:
    job = LongJob.objects.select_for_update().filter(account_id=account_id, pk=job_id).first()
    if job is None:
        raise NotFound("There is no such work.", code="job_not_found")
    return job


def _record(job: LongJob, action: str, actor: Actor) -> None:
    audit.record(
        job.account_id,
        action=action,
        object_type="long_job",
        object_id=job.id,
        actor=actor,
        group=new_id(),
        metadata={"state": job.state, "done": job.done},
    )
