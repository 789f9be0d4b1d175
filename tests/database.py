"""The test database: migrated once and copied from then on, and emptied after tests that commit.

Migrating takes half a minute, a copy next to nothing. The first process that needs a database migrates, and leaves a
copy of it as a template for all others, of this run and of later ones, until anything changes on which a migration
may depend.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import psycopg
from django.apps import apps
from django.conf import settings
from django.db import connections
from django.db.backends.utils import CursorWrapper
from django.test.utils import setup_databases
from psycopg import sql

from facts.clock import now
from memory_site.database.aliases import DATABASE_NAME
from memory_site.database.base import server
from memory_site.embedded_postgres import SUPERUSER, EmbeddedPostgres

TEMPLATE = "memory_test_template"
#: Key of the lock, of the whole server, that is held while somebody copies the template or makes it.
TEMPLATE_LOCK = 5_061_987
#: What takes part in migrations beside the project's own code.
LIBRARIES = ("Django", "django-q2", "embedded-postgres", "pgvector", "psycopg")

#: Filled by the migrations.
KEPT_TABLES = ["django_migrations", "django_content_type", "auth_permission"]
#: A test that leaves a transaction open in a thread fails here instead of hanging.
LOCK_TIMEOUT = "10s"
#: Bytes of a table above which all are truncated, because what is deleted stays in the way of scans and of estimates.
#: Truncating takes ten times as long for a few rows: it makes a new file for each of some hundred tables and indexes.
LARGE = 1_000_000


def create(*, verbosity: int, keepdb: bool) -> list[tuple[Any, str, bool]]:
    """Create the test database of this process, as its owner; return what `teardown_databases` takes."""
    state = fingerprint()
    with _template_for_ourselves() as cursor:
        is_known = _state_of_template(cursor) == state
        connections["owner"].settings_dict["TEST"]["TEMPLATE"] = TEMPLATE if is_known else None
        created = setup_databases(
            verbosity=verbosity,
            interactive=False,
            aliases={"default", "owner"},
            serialized_aliases=set(),
            keepdb=keepdb,
        )
        if not is_known and not keepdb:
            _keep_as_template(cursor, state)
    return created


def fingerprint() -> str:
    """Return a digest of everything on which a migration may depend.

    That is all code of the project, the libraries, and the month: the partitions of traces begin with the present one.
    """
    digest = hashlib.sha256(f"{now():%Y-%m}".encode())
    for library in LIBRARIES:
        digest.update(f"{library} {metadata.version(library)}\n".encode())
    own = [config for config in apps.get_app_configs() if Path(config.path).parent == settings.BASE_DIR]
    for path in sorted(path for config in own for path in Path(config.path).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def copy_to(other: EmbeddedPostgres) -> None:
    """Give another server, which is empty, the roles and the migrated database that the template was kept for.

    Where the tests use a server that was given to them, nothing is copied: it has no programs to do so.
    """
    if not settings.USES_EMBEDDED_POSTGRES:
        return
    ours = server()

    def run(program: str, of: EmbeddedPostgres, *arguments: str, told: bytes = b"") -> bytes:
        at = ("--host", str(of.socket_directory), "--username", SUPERUSER)
        command = [str(of.programs / program), *at, *arguments]
        done = subprocess.run(command, input=told, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    with _template_for_ourselves():
        roles = run("pg_dumpall", ours, "--roles-only")
        dump = run("pg_dump", ours, "--format=custom", "--compress=0", TEMPLATE)
    run("psql", other, "--quiet", SUPERUSER, told=roles)  # goes on where a role is there already
    run("createdb", other, DATABASE_NAME)
    run("pg_restore", other, "--exit-on-error", "--dbname", DATABASE_NAME, told=dump)


@contextmanager
def _template_for_ourselves() -> Iterator[CursorWrapper]:
    """Keep all others from the template for a while: it cannot be copied while somebody is connected to it."""
    with connections["owner"]._nodb_cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [TEMPLATE_LOCK])
        yield cursor


def _state_of_template(cursor: CursorWrapper) -> str | None:
    """Return the fingerprint with which the template was made; ``None`` where there is none, or only half of one."""
    cursor.execute("SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", [TEMPLATE])
    found = cursor.fetchone()
    return found[0] if found else None


def _keep_as_template(cursor: CursorWrapper, state: str) -> None:
    """Copy the fresh test database; its fingerprint comes last, and is what makes it one to copy from."""
    connections.close_all()
    template, source = (sql.Identifier(name) for name in (TEMPLATE, str(owner_parameters()["dbname"])))
    cursor.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(template))
    cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(template, source))
    cursor.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(template, sql.Literal(state)))


def be_quick() -> None:
    """Let commits in the test database wait for no disk."""
    parameters = owner_parameters()
    with psycopg.connect(**parameters, autocommit=True) as owner:
        name = sql.Identifier(str(parameters["dbname"]))
        owner.execute(sql.SQL("ALTER DATABASE {} SET synchronous_commit = off").format(name))


def empty() -> None:
    """Remove all rows that a test committed, whatever triggers guard them, and let numbers begin anew.

    Django's own flush skips `default`, a mirror, and could not get past append-only triggers.
    """
    with psycopg.connect(**owner_parameters(), autocommit=True) as owner:
        written = owner.execute(
            "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind = 'r' AND relname <> ALL (%s) AND pg_relation_size(oid) > 0",
            [KEPT_TABLES],
        ).fetchall()
        if not written:
            return
        owner.execute("SET session_replication_role = replica")
        owner.execute(sql.SQL("SET lock_timeout = {}").format(LOCK_TIMEOUT))
        if any(size > LARGE for _, size in written):
            _truncate(owner)
            return
        tables = [sql.Identifier(name) for name, _ in written]
        # Waits, as truncating does, for whoever is still in a transaction.
        locking = sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.SQL(", ").join(tables))
        owner.execute(sql.SQL("; ").join([locking, *map(sql.SQL("DELETE FROM {}").format, tables)]))
        owner.execute(
            "SELECT setval(c.oid, s.seqstart, false) FROM pg_class c JOIN pg_sequence s ON s.seqrelid = c.oid"
            " JOIN pg_depend d ON d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')"
            " JOIN pg_class t ON t.oid = d.refobjid WHERE t.relname = ANY (%s)",
            [[name for name, _ in written]],
        )


def _truncate(owner: psycopg.Connection) -> None:
    rows = owner.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> ALL (%s)",
        [KEPT_TABLES],
    ).fetchall()
    tables = sql.SQL(", ").join(sql.Identifier(name) for (name,) in rows)
    owner.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(tables))


def owner_parameters() -> dict[str, Any]:
    """Return what psycopg needs to connect to the test database as its owner."""
    parameters = connections["owner"].get_connection_params()
    return {name: parameters[name] for name in parameters if name not in {"cursor_factory", "context"}}
