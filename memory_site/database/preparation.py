"""What a database needs around its migrations: a suitable server, the extension, the restricted role and its
grants.

Every step may be repeated, and says nothing of the tables that are there.
"""

from __future__ import annotations

from django.db import ProgrammingError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors, sql

from facts import server_roles, text_views
from memory_site.database.aliases import APP_ROLE

MINIMUM_SERVER = 16  # major version of PostgreSQL
MINIMUM_PGVECTOR = (0, 8)


class UnsuitableServer(RuntimeError):
    """The server lacks something the project needs; the message names it."""


def check_server(connection: BaseDatabaseWrapper) -> None:
    """Raise `UnsuitableServer` unless the server is new enough and offers pgvector."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int / 10000, current_setting('server_version')")
        major, version = cursor.fetchone()
        if major < MINIMUM_SERVER:
            raise UnsuitableServer(f"PostgreSQL {MINIMUM_SERVER} or newer is needed; this server is {version}.")
        cursor.execute("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'")
        row = cursor.fetchone()
    wanted = ".".join(map(str, MINIMUM_PGVECTOR))
    if row is None:
        raise UnsuitableServer(f"pgvector {wanted} or newer is needed; this server does not have pgvector.")
    if tuple(map(int, row[0].split(".")[:2])) < MINIMUM_PGVECTOR:
        raise UnsuitableServer(f"pgvector {wanted} or newer is needed; this server has {row[0]}.")


def create_database(connection: BaseDatabaseWrapper) -> None:
    """Create the database that the connection is meant for, on a server that belongs to this project alone."""
    name = connection.settings_dict["NAME"]
    with connection._nodb_cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        if cursor.fetchone() is None:
            cursor.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def prepare(connection: BaseDatabaseWrapper, *, may_login: bool) -> None:
    """Create the extension and the restricted role, before the first migration.

    `may_login` lets the role log in by itself; otherwise it is granted to the owner, which assumes it.
    """
    check_server(connection)
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
    server_roles.retried(lambda: _prepare_role(connection, may_login=may_login))


def _prepare_role(connection: BaseDatabaseWrapper, *, may_login: bool) -> None:
    role = sql.Identifier(APP_ROLE)
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname = %s", [APP_ROLE])
        row = cursor.fetchone()
        if row is None:
            login = sql.SQL("LOGIN" if may_login else "NOLOGIN")
            cursor.execute(
                sql.SQL("CREATE ROLE {} {} NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE").format(role, login)
            )
            cursor.execute(sql.SQL("ALTER ROLE {} SET max_parallel_workers_per_gather = 0").format(role))
        elif may_login and not row[0]:
            cursor.execute(sql.SQL("ALTER ROLE {} LOGIN").format(role))
        if not may_login:
            cursor.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(role))


def grant(connection: BaseDatabaseWrapper) -> None:
    """Let the restricted role use what the migrations made, and whatever later ones make."""
    role = sql.Identifier(APP_ROLE)
    statements = (
        "GRANT USAGE ON SCHEMA public TO {}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {}",
        "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {}",
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {}",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {}",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO {}",
    )
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(sql.SQL(statement).format(role))


def show_text_rows(connection: BaseDatabaseWrapper) -> None:
    """Make the views through which texts are searched, after the last migration.

    Raises `UnsuitableServer`, saying what a superuser has to run, when the owner may not make their role.
    """
    try:
        text_views.show(connection)
    except ProgrammingError as error:
        if not isinstance(error.__cause__, errors.InsufficientPrivilege):
            raise
        owner = connection.settings_dict["USER"]
        raise UnsuitableServer(
            f"A role '{text_views.READER}' has to own two views, and the owner of the tables may not make them"
            f" ({error.__cause__.diag.message_primary}). Give it CREATEROLE, and CREATE on the database; or let a"
            f" superuser run: CREATE ROLE {text_views.READER} NOLOGIN;"
            f' GRANT {text_views.READER} TO "{owner}" WITH ADMIN OPTION;'
        ) from error
