"""The text rows once more, as views in which a search may use the inverted index of their keys.

Row-level security lets no condition into an index that might tell what it was compared with, as ``&&`` of arrays might.
So the text rows are also shown by views that belong to a role of their own, which may read all of them and cannot log
in; each view holds the condition on the account itself, so that without an account it is empty. The views are no
security barriers, for those would keep the condition out of the index again: whoever can call functions of their own in
the database could look past them, and could enter any account anyway (``facts.rls``).

`migrate` makes them after the last migration. A column that they show changes only while they are away: a migration
that changes one begins with :func:`hide`.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.transaction import atomic

from facts import rls, server_roles
from facts.models import IndexedUnit

READER = "memory_reader"
SCHEMA = "memory_text"
POLICY = "text_views"
VIEWS: Mapping[IndexedUnit, str] = {unit: f"{SCHEMA}.{unit}" for unit in IndexedUnit}

# Membership that inherits nothing: the policies are not for the owner, who may only act as this role.
_BECOME = f"GRANT {READER} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE"
_BE_NO_LONGER = f"REVOKE {READER} FROM CURRENT_USER"
_COLUMNS = "account_id, scope_id, subject_id, active, audience, expires_at, valid_from, valid_to, tsv, keys"


def show(connection: BaseDatabaseWrapper) -> None:
    """Make the role, its policies and its views, as far as they are missing, as the owner of the tables.

    Raises ``ProgrammingError`` (caused by ``psycopg.errors.InsufficientPrivilege``) when the owner may not make roles.
    """
    server_roles.retried(lambda: _show(connection))


def hide(connection: BaseDatabaseWrapper) -> None:
    """Take the views away, as the owner of the tables; the role stays, which belongs to other databases as well.

    Searches by words fail until they are there again. Raises as :func:`show`.
    """
    server_roles.retried(lambda: _hide(connection))


def _show(connection: BaseDatabaseWrapper) -> None:
    with atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [READER])
        if not cursor.fetchall():
            cursor.execute(f"CREATE ROLE {READER} NOLOGIN NOSUPERUSER NOBYPASSRLS")
        cursor.execute(_BECOME)
        for unit in IndexedUnit:
            _let_read(cursor, f"facts_{unit}text")
        cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA} AUTHORIZATION {READER}")
        cursor.execute(f"SET LOCAL ROLE {READER}")
        cursor.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO PUBLIC")
        for unit, view in VIEWS.items():
            cursor.execute(
                f"CREATE OR REPLACE VIEW {view} AS SELECT {unit}_id, {_COLUMNS} FROM public.facts_{unit}text"
                f" WHERE account_id = {rls.CURRENT_ACCOUNT}"
            )
            cursor.execute(f"GRANT SELECT ON {view} TO PUBLIC")
        cursor.execute("RESET ROLE")
        cursor.execute(_BE_NO_LONGER)


def _hide(connection: BaseDatabaseWrapper) -> None:
    with atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_namespace WHERE nspname = %s", [SCHEMA])
        if cursor.fetchall():
            cursor.execute(_BECOME)
            cursor.execute(f"SET LOCAL ROLE {READER}")
            cursor.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
            cursor.execute("RESET ROLE")
            cursor.execute(_BE_NO_LONGER)
        for unit in IndexedUnit:
            cursor.execute(f"DROP POLICY IF EXISTS {POLICY} ON facts_{unit}text")


def _let_read(cursor: CursorWrapper, table: str) -> None:
    cursor.execute(f"GRANT SELECT ON {table} TO {READER}")
    cursor.execute("SELECT FROM pg_policy WHERE polname = %s AND polrelid = %s::regclass", [POLICY, table])
    if not cursor.fetchall():
        cursor.execute(f"CREATE POLICY {POLICY} ON {table} FOR SELECT TO {READER} USING (true)")
