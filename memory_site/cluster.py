"""The queue's processes, with one rule added to the queue's own: whoever dies while it waits takes the queue along.

The processes pass tasks through pipes behind locks. One that is killed while it waits for work may hold such a lock,
and keeps it: then the others live on and nothing moves, or tasks run and are never noted as done. The queue itself only
puts a new process in the place of the dead one. A process that is killed at work holds none of these locks.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import django_q.cluster

from memory_site import processes

logger = logging.getLogger(__name__)

_IDLE = -1  # what the queue writes into a worker's timer while it waits for a task


class Sentinel(django_q.cluster.Sentinel):
    """Keeps the queue's processes going, and gives up where that would leave them waiting for each other."""

    def reincarnate(self, process: Any) -> None:
        """Put a new process in the place of one that ended, or end all of them for the watchdog to start anew."""
        if may_hold_a_lock(process):
            logger.critical("queue_process_killed")
            sys.exit(1)
        super().reincarnate(process)


def may_hold_a_lock(process: Any) -> bool:
    """Tell whether a process of the queue was killed (and did not end by itself) at a moment when it may hold a lock.

    Only workers have a timer; the others wait whenever they do not write.
    """
    killed = process.exitcode is not None and process.exitcode < 0
    timer = getattr(process, "timer", None)
    return killed and (timer is None or timer.value == _IDLE)


def run(*, grace: float) -> None:
    """Run the queue in this process until SIGTERM or Ctrl-C, or until it cannot go on.

    Where the process that started it is gone, its tasks get `grace` seconds to end.
    """
    django_q.cluster.Sentinel = Sentinel  # the name under which the cluster starts it
    cluster = django_q.cluster.Cluster()  # takes over SIGTERM and SIGINT
    cluster.start()
    processes.stop_with_parent(grace=grace)  # only now: it starts a thread, and `start` forks
    cluster.sentinel.join()
