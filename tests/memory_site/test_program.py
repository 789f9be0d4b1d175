"""The whole program, as an operator runs it: against a server given by URL, here the one of the tests."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connections
from django_q.models import OrmQ

from memory_site import heartbeat, queue

PATIENCE = 90.0  # seconds; only ever waited for when something is broken

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of an installation of its own on the test database."""
    owner = connections["owner"].get_connection_params()
    user, host = quote(owner["user"]), quote(owner["host"], safe="")
    url = f"postgresql://{user}@/{owner['dbname']}?host={host}&port={owner['port']}"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = str(unused.getsockname()[1])
    own = {"DATABASE_URL": url, "MEMORY_VAR_DIR": str(tmp_path), "PORT": port}
    # What the tests queue is signed with their key.
    return {**os.environ, **own, "MEMORY_SECRET_KEY": settings.SECRET_KEY}


@contextmanager
def running(environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the program; yield it with what it said when it was up."""
    command = [sys.executable, "manage.py", "run"]
    program = subprocess.Popen(
        command, cwd=settings.BASE_DIR, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    said = ""
    for line in program.stdout:
        said += line
        if "curl" in line:
            break
    try:
        assert "curl" in said, program.communicate(timeout=PATIENCE)[1]
        yield program, said
    finally:
        program.kill()
        program.communicate(timeout=PATIENCE)


def page(environment: dict[str, str], path: str) -> tuple[int, dict[str, object]]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{environment['PORT']}{path}", timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def wait_until_ready(environment: dict[str, str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while (answer := page(environment, "/ready"))[0] != 200:
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)


def test_serves_until_it_is_told_to_stop_and_finds_everything_again(environment: dict[str, str]) -> None:
    with running(environment) as (program, said):
        password = re.search(r"Login +admin / (\S{16}) +\(shown this once\)", said)
        key = re.search(r"Key +(\S+) ", said)
        assert password is not None, said
        wait_until_ready(environment)
        program.send_signal(signal.SIGINT)
        output, errors = program.communicate(timeout=PATIENCE)
        assert (program.returncode, output.splitlines()[-1]) == (0, "Stopped."), errors
    with running(environment) as (program, said):
        assert "changepassword admin" in said
        assert f"Key      {key[1]} " in said
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=PATIENCE)
        assert program.returncode == 0


def test_a_killed_web_server_and_worker_come_back(environment: dict[str, str]) -> None:
    with running(environment) as (program, _):
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
        if not children.exists():
            pytest.skip("no list of child processes on this system")
        first = children.read_text().split()
        for child in first:
            os.kill(int(child), signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE
        while not set(children.read_text().split()) - set(first):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        wait_until_ready(environment)
        assert not set(first) & set(children.read_text().split())


def test_the_queue_runs_what_was_queued(environment: dict[str, str]) -> None:
    queue.enqueue("memory_site.queue.show_life")
    subprocess.run(
        [sys.executable, "manage.py", "qcluster", "--run-once"],
        cwd=settings.BASE_DIR,
        env=environment,
        check=True,
        timeout=PATIENCE,
    )
    assert OrmQ.objects.count() == 0
    assert heartbeat.last_beat() is not None


def test_a_worker_with_a_pool_does_not_start(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "qcluster"],
        cwd=settings.BASE_DIR,
        env={**environment, "MEMORY_CONNECTION_POOL": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert "MEMORY_CONNECTION_POOL must not be set for a worker." in done.stderr
