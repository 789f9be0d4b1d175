"""Running everything: one at a time, on a port of its own, with clear words when that cannot be."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from memory_site import first_run, runner
from memory_site.processes import Child, TooManyFailures


@pytest.fixture
def taken() -> Iterator[int]:
    """Return a port that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def run_command(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "run"],
        cwd=settings.BASE_DIR,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_taken_port_is_said_before_anything_is_touched(taken: int, tmp_path: Path) -> None:
    done = run_command(PORT=str(taken), MEMORY_VAR_DIR=str(tmp_path / "var"))
    assert done.returncode == 1
    assert done.stderr == (
        f"CommandError: Port {taken} is taken by another program. Choose another: PORT={taken + 1} make run\n"
    )
    assert not (tmp_path / "var" / "postgres").exists()


def test_a_second_run_says_where_the_first_is(tmp_path: Path) -> None:
    with runner.only_one(tmp_path, address="http://127.0.0.1:8123"):
        done = run_command(PORT="8124", MEMORY_VAR_DIR=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == (
        f"CommandError: Already running at http://127.0.0.1:8123 (process {os.getpid()})."
        " Stop it first, or use that one.\n"
    )


def test_one_may_run_after_the_other(tmp_path: Path) -> None:
    for port in (8123, 8124):
        with runner.only_one(tmp_path, address=f"http://127.0.0.1:{port}"):
            assert f":{port} " in (tmp_path / "run.lock").read_text()


def test_a_claimed_port_is_closed_to_others() -> None:
    with runner.claim_port("127.0.0.1", 0) as claimed:
        port = claimed.getsockname()[1]
        with pytest.raises(runner.CannotRun, match=f"Port {port} is taken"):
            runner.claim_port("127.0.0.1", port)


def test_an_address_of_another_machine_cannot_be_claimed() -> None:
    with pytest.raises(runner.CannotRun, match=r"Cannot listen on 192\.0\.2\.1, port 8000: "):
        runner.claim_port("192.0.2.1", 8000)


def test_asks_its_own_page_under_an_allowed_name(live_server, settings) -> None:
    settings.PORT = int(live_server.url.rpartition(":")[2])
    settings.MEMORY_HOST = "0.0.0.0"
    settings.ALLOWED_HOSTS = [".memory.example"]
    assert runner.page_status("/health") == 200
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(f"{live_server.url}/health")


def test_no_answer_is_no_status(settings) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        settings.PORT = unused.getsockname()[1]
        assert runner.page_status("/health") is None


def test_an_ended_child_is_started_again_and_a_failing_one_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.processes, "FIRST_PAUSE", 0.0)
    failing = Child("web", [sys.executable, "-c", ""])
    looks = []

    def is_stopping(seconds: float) -> bool:
        while failing._process is not None and not failing.has_ended():
            time.sleep(0.001)
        return False

    failing.start()
    with pytest.raises(TooManyFailures, match="The web process failed 6 times"):
        runner.supervise([failing], is_stopping=is_stopping, keep_up=lambda: looks.append(1))
    assert len(looks) == 11  # each of five restarts is one look after the failure that it follows
    runner.stop([failing])


def test_stopping_ends_all_children() -> None:
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    group = [Child("one", sleep), Child("two", sleep), Child("never started", sleep)]
    for child in group[:2]:
        child.start()
    stopping = threading.Event()
    stopping.set()
    runner.supervise(group[:2], is_stopping=stopping.wait, keep_up=lambda: None)
    runner.stop(group)
    assert [child.has_ended() for child in group] == [True, True, True]


@pytest.mark.django_db
def test_the_first_administrator_gets_a_password_once(client) -> None:
    password = first_run.create_admin()
    assert len(password) == 16
    assert client.login(username="admin", password=password)
    assert first_run.create_admin() is None
    user = first_run.get_user_model().objects.get()
    assert user.is_superuser
    assert password not in user.password


@pytest.mark.django_db
def test_the_demo_is_loaded_once_and_makes_a_key_of_another_database_go(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loaded = []

    def load() -> None:
        loaded.append(1)
        first_run.Account.objects.create(key="demo", name="Demo")

    monkeypatch.setattr(first_run.demo, "load", load)
    key_file = tmp_path / "demo_key"
    for expected in (False, True):
        key_file.write_text("mem_kept")
        first_run.load_demo(key_file)
        assert key_file.exists() is expected
    assert loaded == [1]


def test_the_demo_key_is_made_once_and_kept_to_its_owner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def create_key(name: str, *, stdout, **options: object) -> None:
        asked.append((name, options))
        stdout.write("mem_raw\n")

    monkeypatch.setattr(first_run, "call_command", create_key)
    path = tmp_path / "demo_key"
    assert [first_run.demo_key(path), first_run.demo_key(path)] == ["mem_raw", "mem_raw"]
    assert asked == [("create_key", {"account": "demo", "label": "make run", "raw": True})]
    assert path.stat().st_mode & 0o777 == 0o600
