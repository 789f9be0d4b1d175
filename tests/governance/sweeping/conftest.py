"""The clock of the sweeps, and running one from several threads at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime

import pytest
from django.db import connection

from governance.sweeping import rounds
from governance.sweeping.rounds import SweepIncomplete


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    """Set the time at which the next sweeps run."""

    def _set(moment: datetime) -> None:
        monkeypatch.setattr(rounds, "now", lambda: moment)

    return _set


@pytest.fixture
def together() -> Callable[[Callable[[], int]], int]:
    """Run a sweep in four threads at once and return how much they settled in all."""

    def _run(sweep: Callable[[], int], *, threads: int = 4) -> int:
        start, done = threading.Barrier(threads), []

        def work() -> None:
            try:
                start.wait(timeout=10)
                done.append(sweep())
            except SweepIncomplete as error:
                done.append(error)
            finally:
                connection.close()

        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(timeout=60)
        return sum(done)

    return _run
