"""How fast work goes and when it will be done, told from its latest steps. Pure.

A pace is a list of [seconds since 1970, units done], oldest first, as it is stored with the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

#: Steps that are looked back upon: enough to smooth uneven ones, few enough to follow a change of speed.
STEPS = 20
#: Seconds that two kept steps are apart at least: quick steps would otherwise tell of one instant only.
APART = 1.0
#: No estimate reaches further: past this it tells no more than "very long".
LONGEST = timedelta(days=3_650)

Pace = Sequence[Sequence[float]]


def noted(pace: Pace, *, at: datetime, done: int) -> list[list[float]]:
    """Return the pace with one more step.

    The latest entry is replaced while it is less than :data:`APART` after the one before. Time or work that goes
    backwards (a changed clock, work that began anew) begins a new pace.
    """
    entry = [at.timestamp(), float(done)]
    known = [list(one) for one in pace]
    if known and (entry[0] < known[-1][0] or entry[1] < known[-1][1]):
        return [entry]
    if len(known) >= 2 and known[-1][0] - known[-2][0] < APART:
        known.pop()
    return [*known, entry][-STEPS:]


def rate(pace: Pace) -> float | None:
    """Return units a second over the kept steps; ``None`` where too little is known, or nothing was done."""
    if len(pace) < 2:
        return None
    seconds, done = pace[-1][0] - pace[0][0], pace[-1][1] - pace[0][1]
    return done / seconds if seconds > 0 and done > 0 else None


def end_of(pace: Pace, *, total: int | None, at: datetime) -> datetime | None:
    """Return when ``total`` will be done at this pace; ``None`` where it cannot be told.

    Counted from the last step. An end that has passed at ``at`` while work is left tells nothing either.
    """
    speed = rate(pace)
    if speed is None or total is None:
        return None
    rest = timedelta(seconds=min(max(0.0, total - pace[-1][1]) / speed, LONGEST.total_seconds()))
    end = datetime.fromtimestamp(pace[-1][0], tz=UTC) + rest
    return end if end >= at else None
