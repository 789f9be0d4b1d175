"""`manage.py run`: the database, the web server and the worker as one supervised program.

What it promises: one at a time per var directory; it owns its port before it touches anything; whatever ends it, its
children end too; a child that fails is started again, and one that keeps failing ends everything with a clear message.
"""

from __future__ import annotations

import errno
import fcntl
import http.client
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from django.conf import settings

from memory_site import processes

logger = logging.getLogger(__name__)

CHECK_INTERVAL = 1.0  # seconds
PAGE_TIMEOUT = 5.0  # seconds
TASK_GRACE = 10  # seconds for a task to end; one that is cut off runs again at the next start
STOP_GRACE = 15.0  # seconds; longer than `TASK_GRACE` and gunicorn's `graceful_timeout`


class CannotRun(RuntimeError):
    """The program cannot start or go on; the message says what the operator can do."""


def page_status(path: str) -> int | None:
    """Return the HTTP status of one of our own pages, or `None` when the web server does not answer."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.MEMORY_HOST, settings.MEMORY_HOST)  # noqa: S104
    wanted = settings.ALLOWED_HOSTS[0].replace("*", "localhost").lstrip(".")
    asking = http.client.HTTPConnection(host, settings.PORT, timeout=PAGE_TIMEOUT)
    try:
        asking.request("GET", path, headers={"Host": wanted})
        return asking.getresponse().status
    except OSError:
        return None
    finally:
        asking.close()


@contextmanager
def only_one(var_directory: Path, *, address: str) -> Iterator[None]:
    """Hold the right to run with this var directory; raise `CannotRun` when another process has it."""
    var_directory.mkdir(parents=True, exist_ok=True)
    with (var_directory / "run.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CannotRun(f"Already running {_holder(file)}. Stop it first, or use that one.") from error
        file.truncate(0)
        file.write(f"at {address} (process {os.getpid()})")
        file.flush()
        yield


def claim_port(host: str, port: int) -> socket.socket:
    """Return a listening socket for the web server; raise `CannotRun` when the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    claimed = socket.socket(family, socket.SOCK_STREAM)
    claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        claimed.bind((host, port))
        claimed.listen()  # only a listening socket keeps others off the port
    except OSError as error:
        claimed.close()
        if error.errno == errno.EADDRINUSE:
            raise CannotRun(
                f"Port {port} is taken by another program. Choose another: PORT={port + 1} make run"
            ) from error
        raise CannotRun(f"Cannot listen on {host}, port {port}: {error.strerror}.") from error
    return claimed


def children(listening: socket.socket) -> list[processes.Child]:
    """Return the web server and the worker, not started yet."""
    manage = str(settings.BASE_DIR / "manage.py")
    web = [sys.executable, "-m", "gunicorn", "--config", "python:memory_site.gunicorn_config"]
    web += ["--chdir", str(settings.BASE_DIR), "--bind", f"fd://{listening.fileno()}"]
    return [
        processes.Child("web", [*web, "memory_site.wsgi:application"], descriptors=[listening.fileno()]),
        processes.Child("worker", [sys.executable, manage, "worker", "--grace", str(TASK_GRACE)]),
    ]


def supervise(
    group: Sequence[processes.Child],
    *,
    is_stopping: Callable[[float], bool],
    keep_up: Callable[[], None],
) -> None:
    """Start again whichever child ends, until `is_stopping`; `keep_up` is called at every look.

    `is_stopping` waits the given number of seconds and tells whether to stop. Raises
    `processes.TooManyFailures` for a child that keeps failing.
    """
    restarts = {child.name: processes.Restarts(f"The {child.name} process") for child in group}
    due: dict[str, float] = {}
    while not is_stopping(CHECK_INTERVAL):
        keep_up()
        for child in group:
            if child.name in due:
                if time.monotonic() >= due[child.name]:
                    del due[child.name]
                    child.start()
            elif child.has_ended():
                logger.error("child_ended", extra={"child": child.name})
                child.kill()
                due[child.name] = time.monotonic() + restarts[child.name].pause_after_failure()


def stop(group: Sequence[processes.Child]) -> None:
    """Stop all children, at the same time."""
    for child in group:
        child.ask_to_stop()
    deadline = time.monotonic() + STOP_GRACE
    for child in group:
        child.stop(grace=max(0.0, deadline - time.monotonic()))


def _holder(file: TextIO) -> str:
    """Return what the process that holds the lock wrote about itself."""
    file.seek(0)
    return file.read().strip() or "elsewhere"
