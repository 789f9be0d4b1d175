"""Which deaths of a queue's process the queue can go on from."""

from __future__ import annotations

from types import SimpleNamespace

import django_q.cluster
import pytest

from memory_site import cluster


def process(exitcode: int | None, *timer: float) -> SimpleNamespace:
    """Return a process as the queue keeps it; only workers have a timer."""
    known = SimpleNamespace(exitcode=exitcode)
    if timer:
        known.timer = SimpleNamespace(value=timer[0])
    return known


KILLED_WHILE_IDLE = process(-9, -1)
KILLED_AT_WORK = process(-9, 118)


@pytest.mark.parametrize(
    ("ended", "holds"),
    [
        (KILLED_WHILE_IDLE, True),
        (KILLED_AT_WORK, False),
        (process(None, 0), False),  # took too long, and is still there
        (process(-15, 0), False),
        (process(0, -2), False),  # did its share
        (process(1, -1), False),  # ended by an error of its own, letting go of everything
        (process(-9), True),  # a monitor or a pusher
        (process(1), False),
    ],
)
def test_what_is_killed_while_it_waits_may_hold_a_lock(ended: SimpleNamespace, holds: bool) -> None:
    assert cluster.may_hold_a_lock(ended) is holds


def test_the_queue_ends_with_it_or_replaces_it(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced: list[object] = []
    monkeypatch.setattr(django_q.cluster.Sentinel, "reincarnate", lambda self, process: replaced.append(process))
    sentinel = cluster.Sentinel.__new__(cluster.Sentinel)
    sentinel.reincarnate(KILLED_AT_WORK)
    assert replaced == [KILLED_AT_WORK]
    with pytest.raises(SystemExit):
        sentinel.reincarnate(KILLED_WHILE_IDLE)
    assert replaced == [KILLED_AT_WORK]
