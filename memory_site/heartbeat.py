"""Signs of life of the worker: written by the tasks it runs, read by the watchdog and by `/ready`.

Every task beats when it is taken up, and a schedule queues a task that does nothing else each minute. So a
worker that is busy beats as surely as one that is idle, and one that is stuck does not.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection
from django_q.models import OrmQ

from facts.clock import now
from memory_site.models import Heartbeat

WORKER = "worker"
BEAT_INTERVAL = timedelta(seconds=10)  # writing at every task would only make dead rows
#: Longer than the longest silence of a sound worker: one task may last `Q_CLUSTER["timeout"]` (120 s).
STALE_AFTER = timedelta(minutes=3)


def beat(*, name: str = WORKER) -> None:
    """Note that the process lives, at most once per `BEAT_INTERVAL`."""
    moment = now()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memory_site_heartbeat AS h (name, beat_at) VALUES (%s, %s)"
            " ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at WHERE h.beat_at < %s",
            [name, moment, moment - BEAT_INTERVAL],
        )


def last_beat(*, name: str = WORKER) -> datetime | None:
    """Return when the process last beat, or `None` when it never did."""
    return Heartbeat.objects.filter(name=name).values_list("beat_at", flat=True).first()


def is_fresh(beat_at: datetime | None, *, at: datetime) -> bool:
    """Tell whether a beat is recent enough to prove that the process lives."""
    return beat_at is not None and at - beat_at <= STALE_AFTER


def oldest_due(*, at: datetime) -> datetime | None:
    """Return since when the longest waiting task could have been taken up, or `None` when none waits."""
    return OrmQ.objects.filter(lock__lt=at).order_by("lock").values_list("lock", flat=True).first()
