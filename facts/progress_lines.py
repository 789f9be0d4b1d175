"""Progress as a line of text: the same words on the command line and in the admin."""

from __future__ import annotations

from datetime import datetime, timedelta

from facts.clock import now
from facts.long_jobs import estimated_end, is_silent
from facts.models import LongJob
from facts.models.long_jobs import LongJobState

BAR = 24


def share(job: LongJob) -> float | None:
    """Return how much is done, from 0 to 1; ``None`` while the whole is not known."""
    if job.state == LongJobState.DONE:
        return 1.0
    if job.total is None:
        return None
    return min(1.0, job.done / job.total) if job.total else 0.0


def amount(job: LongJob) -> str:
    """Return how much of how much, with its unit."""
    if job.total is None:
        return f"{job.done:,} {job.unit}"
    return f"{job.done:,} of {job.total:,} {job.unit}"


def rest(job: LongJob) -> str:
    """Return how long it will take, or why that is not known; "" for what is over."""
    match job.state:
        case LongJobState.RUNNING if is_silent(job):
            return "no sign of life"
        case LongJobState.RUNNING:
            end = estimated_end(job)
            return "time left unknown" if end is None else f"{duration(end - now())} left"
        case LongJobState.PAUSED | LongJobState.WAITING if job.resume_at is not None:
            return f"goes on in {duration(job.resume_at - now())}"
    return ""


def line(job: LongJob) -> str:
    """Return state, bar, amount and time left."""
    part = share(job)
    filled = round(BAR * part) if part is not None else 0
    bar = "" if part is None else f"[{'#' * filled}{'.' * (BAR - filled)}] {part:.0%} "
    left = rest(job)
    return f"{job.state:<10} {bar}{amount(job)}" + (f", {left}" if left else "")


def duration(length: timedelta) -> str:
    """Return a length of time in its two largest units."""
    seconds = max(0, round(length.total_seconds()))
    for size, name, smaller, small_name in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            whole, left = divmod(seconds, size)
            return f"{whole} {name} {left // smaller} {small_name}"
    return f"{seconds} s"


def instant(at: datetime | None) -> str:
    """Return an instant to the second, in UTC; a dash for none."""
    return "–" if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"
