"""An installation of its own: its database server, its worker, and ways to look at it and to hurt it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from memory_site.embedded_postgres import PORT, EmbeddedPostgres
from tests import database

PATIENCE = 180.0  # seconds; only ever waited for when something is broken
LOOK = 0.1  # seconds between looks
TASK_SECONDS = 30  # shortens how long the work of the dead is left alone
SETTINGS_OF_TESTS = {"DATABASE_URL", "MEMORY_APP_DATABASE_URL", "MEMORY_CONNECTION_POOL", "DJANGO_SETTINGS_MODULE"}


class Installation:
    """A migrated database under ``directory`` and the environment of the processes that use it."""

    def __init__(self, directory: Path) -> None:
        """Create and start the database server; it is stopped by :meth:`remove`."""
        self.server = EmbeddedPostgres(directory / "postgres")
        own = {
            "MEMORY_VAR_DIR": str(directory),
            "MEMORY_TASK_SECONDS": str(TASK_SECONDS),
            "MODEL_CALL_TIMEOUT": "10",
            "MEMORY_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "memory_site.settings",
        }
        self.environment = {k: v for k, v in os.environ.items() if k not in SETTINGS_OF_TESTS} | own
        self.server.ensure()
        database.copy_to(self.server)
        self.run("manage.py", "migrate", "--verbosity", "0")

    @property
    def url(self) -> str:
        """Return the address of the database as that of a server that nobody here starts or stops."""
        host = str(self.server.socket_directory).replace("/", "%2F")
        return f"postgresql://postgres@/memory?host={host}&port={PORT}"

    def run(self, *arguments: str, told: str | None = None) -> str:
        """Run Python in the installation and return what it printed."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=settings.BASE_DIR,
            env=self.environment,
            input=told,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def inside(self, *arguments: str, told: str | None = None) -> str:
        """Run one of the commands of :mod:`tests.faults.inside`."""
        return self.run("-m", "tests.faults.inside", *arguments, told=told)

    def start(self, *arguments: str, environment: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen:
        """Start Python in the installation, in a session of its own."""
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=settings.BASE_DIR,
            env={**self.environment, **(environment or {})},
            start_new_session=True,
            **options,
        )

    def tell(self, account_id: str, batches: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        """Capture batches of events."""
        self.inside("tell", account_id, told="".join(json.dumps(list(batch)) + "\n" for batch in batches))

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Have what waits queued again every two seconds, which the queue's own clock does each minute."""
        clock = self.start("-m", "tests.faults.inside", "tick")
        try:
            yield
        finally:
            clock.kill()
            clock.wait()

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query that sees everything."""
        with psycopg.connect(host=str(self.server.socket_directory), user="postgres", dbname="memory") as owner:
            cursor = owner.execute(query, parameters)
            return cursor.fetchall() if cursor.description else []

    def remove(self) -> None:
        """Stop the server and remove its data, which is elsewhere where tests run as root."""
        places = {self.server.data, self.server.socket_directory}
        self.server.release()
        for place in places:
            shutil.rmtree(place, ignore_errors=True)


def until(condition: Callable[[], Any], what: str, *, patience: float = PATIENCE) -> None:
    """Wait until the condition holds; fails with ``what``."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(LOOK)


class Worker:
    """The worker with its watchdog, as the program starts it, and all processes that come of it."""

    def __init__(self, installation: Installation, *, environment: Mapping[str, str] | None = None) -> None:
        """Start nothing yet."""
        self.installation = installation
        self.environment = dict(environment or {})
        self._program: subprocess.Popen | None = None
        self._seen: set[int] = set()

    def start(self) -> None:
        """Start it, also in place of one that ended."""
        if self._program is not None:
            self._program.wait()
        command = ("manage.py", "worker", "--grace", "5")
        self._program = self.installation.start(*command, environment=self.environment)

    def has_ended(self) -> bool:
        """Tell whether the watchdog is gone."""
        return self._program is None or self._program.poll() is not None

    @property
    def pid(self) -> int:
        """Return the process id of the watchdog."""
        assert self._program is not None
        return self._program.pid

    def signal(self, number: int) -> None:
        """Send a signal to the watchdog alone."""
        os.kill(self.pid, number)

    def tree(self) -> list[int]:
        """Return the watchdog and all that descend from it, in the order in which they were started."""
        return [] if self.has_ended() else descendants(self.pid)

    def is_up(self) -> bool:
        """Tell whether the queue's processes are all there: watchdog, queue, guard, two workers, monitor, pusher."""
        return len(self.tree()) >= 7

    def members(self) -> set[int]:
        """Return every living process that this worker ever had, found by its var directory, orphans too."""
        return alive_in(self.installation)

    def kill_all(self) -> None:
        """End the watchdog and everything that works in the installation, at once."""
        if not self.has_ended():
            os.killpg(self.pid, signal.SIGKILL)
        for pid in self.members():
            kill(pid)
        if self._program is not None:
            self._program.wait()


def kill(pid: int) -> bool:
    """Kill a process; ``False`` when it was gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def descendants(pid: int) -> list[int]:
    """Return a process and what it started, and so on."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return found


def alive_in(installation: Installation) -> set[int]:
    """Return the workers of an installation that live, whoever started them; not zombies."""
    mark = f"MEMORY_VAR_DIR={installation.environment['MEMORY_VAR_DIR']}\0".encode()
    found = set()
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            command = (directory / "cmdline").read_bytes()
            if b"\0worker\0" in command and mark in (directory / "environ").read_bytes() + b"\0":
                found.add(int(directory.name))
        except OSError:
            continue
    return found


@contextmanager
def working(installation: Installation, *, environment: Mapping[str, str] | None = None) -> Iterator[Worker]:
    """Have a worker for a while."""
    worker = Worker(installation, environment=environment)
    worker.start()
    try:
        yield worker
    finally:
        worker.kill_all()
