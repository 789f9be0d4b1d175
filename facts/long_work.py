"""Doing long work in steps: in turns in the worker, or to its end in the process of a command.

Between two steps it looks whether the work is to end. A step that raises is tried again by the worker with growing
pauses, as any job is; a command gives up and says so. What was done by the steps before it is kept.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from datetime import timedelta

from django.db import connection

from facts import jobs
from facts.clock import now
from facts.errors import NotFound
from facts.jobs import Claim
from facts.long_jobs import CancelAsked, Run, Step, TakenOver, class_of, kind_of, leave, take
from facts.models import Job, LongJob
from facts.models.long_jobs import LongJobState
from facts.models.records import JobStatus
from facts.tenancy import account_transaction

logger = logging.getLogger(__name__)

#: Seconds that the worker gives to one piece of long work before others have their turn. With one more step (a call
#: to the outside, and its writing) it stays within a task's 120 seconds.
TURN_SECONDS = 15.0
#: Longest pause that is waited in the worker; for a longer one the work goes back to the queue.
NAP = timedelta(seconds=10)
#: Seconds between two looks whether work that pauses is to end.
LOOK = 1.0


def take_turn(account_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Answer one delivery of a turn: do steps for a while, then queue the next turn. Safe to run twice or late."""
    with account_transaction(account_id):
        claim = jobs.claim(account_id, job_id)
        turn = Job.objects.filter(account_id=account_id, pk=job_id).first()
        if claim is None:
            _note_death(turn)
            return
        work = LongJob.objects.filter(account_id=account_id, pk=turn.input_key).first()
        is_current = work is not None and str(work.runs) == turn.recipe
    run = take(account_id, work.pk) if is_current else None
    if run is None:
        with account_transaction(account_id):
            jobs.finish(claim)
        return
    try:
        step = _steps(run, until=time.monotonic() + TURN_SECONDS)
    except (CancelAsked, TakenOver) as ending:
        with account_transaction(account_id):
            if isinstance(ending, CancelAsked):
                run.close(LongJobState.CANCELLED)
            jobs.finish(claim)
    except Exception as error:
        logger.exception("long_job_step_failed", extra={"job": str(run.job.pk), "kind": run.job.kind})
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
        _give_back(run, claim, error)
    else:
        _end_turn(run, claim, step)


def drive(
    account_id: uuid.UUID,
    job_id: uuid.UUID,
    *,
    tell: Callable[[LongJob], None] = lambda job: None,
) -> LongJob:
    """Do all steps of work in this process, pauses included; return the work as it was left. ``tell`` hears of each.

    An interrupt pauses it, a step that raises ends it as failed; both are passed on. Raises ``NotFound``
    (``job_not_found``) for what is over.
    """
    run = take(account_id, job_id)
    if run is None:
        raise NotFound("There is no such work, or it is over.", code="job_not_found")
    try:
        while True:
            step = _step(run)
            tell(run.job)
            if step.failed:
                run.close(LongJobState.FAILED, error_class=step.failed)
                break
            if step.finished:
                run.close(LongJobState.DONE)
                break
            _wait(run, step.pause)
    except CancelAsked:
        run.close(LongJobState.CANCELLED)
    except TakenOver:
        run.job.refresh_from_db()
    except (KeyboardInterrupt, SystemExit):
        run.close(LongJobState.PAUSED)
        raise
    except Exception as error:
        run.close(LongJobState.FAILED, error_class=class_of(error))
        raise
    return run.job


def _steps(run: Run, *, until: float) -> Step:
    """Do steps until the work is finished, pauses for long, or the time is up; return the last one."""
    while True:
        step = _step(run)
        if step.finished or step.failed or step.pause > NAP or time.monotonic() + step.pause.total_seconds() >= until:
            return step
        _wait(run, step.pause)


def _step(run: Run) -> Step:
    run.check()
    step = kind_of(run.job.kind).step
    if step is None:
        raise NotFound("Nothing does this work in steps.", code="job_not_found")
    return step(run)


def _wait(run: Run, pause: timedelta) -> None:
    """Wait, looking now and then whether the work is to end."""
    left = pause.total_seconds()
    while left > 0:
        time.sleep(min(left, LOOK))
        left -= LOOK
        if left > 0:
            run.check()


def _end_turn(run: Run, claim: Claim, step: Step) -> None:
    account_id = run.job.account_id
    with account_transaction(account_id):
        if step.finished or step.failed:
            run.close(LongJobState.FAILED if step.failed else LongJobState.DONE, error_class=step.failed)
            jobs.finish(claim)
        elif step.pause > NAP:
            resume_at = now() + step.pause
            run.close(LongJobState.PAUSED, error_class=step.reason, resume_at=resume_at)
            jobs.postpone(claim, error_class=step.reason, pause=step.pause, at_once=True)
        else:
            run.close(LongJobState.WAITING)
            jobs.go_on(claim)


def _give_back(run: Run, claim: Claim, error: Exception) -> None:
    """Leave the work to another try, or as failed when that was the last one."""
    error_class = class_of(error)
    with account_transaction(run.job.account_id):
        job = jobs.fail(claim, error_class=error_class)
        if job.status == JobStatus.DEAD:
            run.close(LongJobState.FAILED, error_class=error_class)
        else:
            run.close(LongJobState.WAITING, error_class=error_class, resume_at=job.run_after)


def _note_death(turn: Job | None) -> None:
    """Close work whose turns all ended with the death of their worker."""
    if turn is None or turn.status != JobStatus.DEAD:
        return
    work = LongJob.objects.select_for_update().filter(account_id=turn.account_id, pk=turn.input_key).first()
    if work is not None and work.is_open and str(work.runs) == turn.recipe:
        leave(work, LongJobState.FAILED, error_class=turn.error_class)
