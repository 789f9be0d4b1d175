"""Child processes that are started again when they fail, and that never outlive their parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence

PARENT_PIPE = "MEMORY_PARENT_PIPE"
FIRST_PAUSE = 1.0  # seconds before the first restart; doubled for each one that follows soon
FAILURES_ALLOWED = 5
FAILURE_WINDOW = 120.0  # seconds; failures further apart than this are not a series


class TooManyFailures(RuntimeError):
    """A child keeps failing; the message names it."""


class Child:
    """A command that runs in a process group of its own and is told when this process is gone.

    Ctrl-C in the terminal does not reach it, so that the parent decides the order in which things stop.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        descriptors: Sequence[int] = (),
    ) -> None:
        """Describe the child; `descriptors` are open files that it shall inherit under the same numbers."""
        self.name = name
        self.command = list(command)
        self.environment = dict(environment or {})
        self.descriptors = tuple(descriptors)
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: int | None = None
        self._asked = False

    def start(self) -> None:
        """Start the command."""
        self._asked = False
        reading, self._pipe = os.pipe()
        environment = {**os.environ, **self.environment, PARENT_PIPE: str(reading)}
        try:
            self._process = subprocess.Popen(
                self.command,
                env=environment,
                stdin=subprocess.DEVNULL,
                pass_fds=(reading, *self.descriptors),
                start_new_session=True,
            )
        finally:
            os.close(reading)

    @property
    def pid(self) -> int:
        """Return the process id of a started child."""
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started.")
        return self._process.pid

    def has_ended(self) -> bool:
        """Tell whether the child is not running."""
        return self._process is None or self._process.poll() is not None

    def ask_to_stop(self) -> None:
        """Ask the child once to finish in order, without waiting for it."""
        if self._process is not None and not self._asked:
            self._asked = True
            self._process.terminate()

    def stop(self, *, grace: float) -> None:
        """Ask the child to stop, and end its whole group when it has not done so after `grace` seconds."""
        try:
            self.ask_to_stop()
            if self._process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=grace)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the child and everything it started, at once."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None


class Restarts:
    """How long to wait before a failed child is started again, and when to give up."""

    def __init__(self, name: str) -> None:
        """Start counting the failures of the child `name`."""
        self.name = name
        self._failures: list[float] = []

    def pause_after_failure(self, *, at: float | None = None) -> float:
        """Count a failure and return how many seconds to wait; raise `TooManyFailures` at the end of a
        series.

        `at` is a reading of the monotonic clock.
        """
        moment = time.monotonic() if at is None else at
        self._failures = [past for past in self._failures if moment - past < FAILURE_WINDOW]
        self._failures.append(moment)
        if len(self._failures) > FAILURES_ALLOWED:
            raise TooManyFailures(
                f"{self.name} failed {len(self._failures)} times within {FAILURE_WINDOW:.0f} s; giving up."
            )
        return FIRST_PAUSE * 2 ** (len(self._failures) - 1)


def stop_requested() -> threading.Event:
    """Return an event that SIGTERM and Ctrl-C set; a second Ctrl-C raises `KeyboardInterrupt`."""
    event = threading.Event()

    def request(signum: int, frame: object) -> None:
        if event.is_set() and signum == signal.SIGINT:
            raise KeyboardInterrupt
        event.set()

    signal.signal(signal.SIGTERM, request)
    signal.signal(signal.SIGINT, request)
    return event


def stop_with_parent(*, grace: float | None = None) -> None:
    """Send this process SIGTERM when the process that started it as a `Child` is gone, however it ended.

    With `grace`, its whole group is ended when it has not stopped after so many seconds: nobody else is left to do so.
    """
    number = os.environ.pop(PARENT_PIPE, "")
    if not number:
        return
    descriptor = int(number)
    os.set_inheritable(descriptor, False)

    def wait() -> None:
        os.read(descriptor, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        if grace is not None:
            time.sleep(grace)
            os.killpg(os.getpgrp(), signal.SIGKILL)

    threading.Thread(target=wait, name="stop-with-parent", daemon=True).start()
