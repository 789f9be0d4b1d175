"""However the worker is stopped, and whoever of it is gone already: no process survives."""

from __future__ import annotations

import os
import signal

import pytest

from tests.faults import story
from tests.faults.installation import Installation, Worker, kill, until, working

pytestmark = pytest.mark.slow

SLOW = {"DJANGO_SETTINGS_MODULE": "tests.faults.settings", "FAULTS_THINKING": "2"}


def ended(worker: Worker) -> bool:
    return worker.has_ended() and not worker.members()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_twice_to_stop_at_work(installation: Installation, number: int) -> None:
    account = installation.inside("account", f"stopped by {signal.Signals(number).name}")
    installation.tell(account, story.story(2)[:2])
    with working(installation, environment=SLOW) as worker:
        until(worker.is_up, "the worker does not start")
        worker.signal(number)
        worker.signal(number)
        until(lambda: ended(worker), "processes are left")


def test_told_to_stop_before_it_is_up(installation: Installation) -> None:
    with working(installation) as worker:
        until(worker.members, "the worker does not start")
        until(lambda: len(worker.tree()) >= 2 or worker.has_ended(), "the queue does not start")
        worker.signal(signal.SIGTERM)
        until(lambda: ended(worker), "processes are left")


def test_a_queue_that_lost_its_watchdog_and_cannot_stop_by_itself(installation: Installation) -> None:
    """The guard is stopped as by a debugger: the queue hears SIGTERM and waits for its guard for ever."""
    with working(installation) as worker:
        until(worker.is_up, "the worker does not start")
        watchdog, _, guard, *_ = worker.tree()
        os.kill(guard, signal.SIGSTOP)
        kill(watchdog)
        until(lambda: ended(worker), "processes are left")


def test_a_helper_that_is_killed_takes_the_queue_along_and_all_comes_back(installation: Installation) -> None:
    account = installation.inside("account", "helped")
    with working(installation) as worker:
        until(worker.is_up, "the worker does not start")
        before = worker.tree()
        kill(sorted(before[3:])[2])
        until(lambda: worker.is_up() and not set(worker.tree()[1:]) & set(before), "the queue does not come back")
        installation.tell(account, story.story(1))
        until(lambda: story.pending(installation, account) == 0, "nothing is worked on")
        assert worker.tree()[0] == before[0]
