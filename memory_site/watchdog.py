"""The watchdog over the background queue.

A worker process that dies while it waits for work can leave the queue's processes waiting for each other
forever, with every process alive. So what counts is progress: when no task was taken up for
`heartbeat.STALE_AFTER`, the whole group is killed and started again. That is safe: tasks are claimed in the
job ledger and may run again.
"""

from __future__ import annotations

import logging
import sys
from datetime import datetime

from django.conf import settings
from django.db import DatabaseError, connection

from facts.clock import now
from memory_site import checks, heartbeat, processes, queue

logger = logging.getLogger(__name__)

CHECK_INTERVAL = 1.0  # seconds


def run(*, grace: float) -> None:
    """Keep the queue running until SIGTERM or Ctrl-C, and then give it `grace` seconds to end its tasks.

    Raises `processes.TooManyFailures` when it cannot be kept running.
    """
    checks.refuse_errors(worker=True)
    processes.stop_with_parent()
    stopping = processes.stop_requested()
    manage = str(settings.BASE_DIR / "manage.py")
    child = processes.Child("queue", [sys.executable, manage, "worker", "--unwatched", "--grace", str(grace)])
    restarts = processes.Restarts("The background queue")
    started = _start(child)
    try:
        while not stopping.wait(CHECK_INTERVAL):
            if child.has_ended():
                logger.error("queue_ended")
            elif is_stuck(started=started):
                logger.error("queue_stuck")
            else:
                continue
            child.kill()
            if stopping.wait(restarts.pause_after_failure()):
                break
            started = _start(child)
    finally:
        child.stop(grace=grace)


def is_stuck(*, started: datetime) -> bool:
    """Tell whether the queue, running since `started`, has shown no progress for too long.

    Where the database does not answer, nothing can be said against the queue.
    """
    try:
        beat_at = heartbeat.last_beat()
    except DatabaseError:
        connection.close()
        return False
    reference = max(beat_at, started) if beat_at is not None else started
    return not heartbeat.is_fresh(reference, at=now())


def _start(child: processes.Child) -> datetime:
    """Start the queue with a first task in it, so that its first sign of life comes soon; return when.

    It looks for what waits in nobody's hands: the queue runs its schedules only once it has lasted half a minute.
    """
    try:
        queue.enqueue("ingest.tasks.requeue_waiting")
    except DatabaseError:
        connection.close()
    child.start()
    return now()
