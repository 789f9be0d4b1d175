"""Making and dropping the indexes of large scopes: what an operator's command does, as the owner of the tables.

Row-level security lets no text condition into an index, because ``@@`` might tell what it was compared with. So the
text rows are also shown by views that belong to a role of their own, which may read all of them and cannot log in; each
view holds the condition on the account itself. The views are no security barriers, so that their planner may use an
inverted index: whoever can call functions of their own in the database could look past them, and could enter any
account anyway (``facts.rls``).

None of this exists before the first large scope is indexed, and all of it is gone after the last one was dropped.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from django.db import connection, connections
from psycopg import errors, sql

from facts import embedding, rls, server_roles, vector_tables
from facts.embedding import Space
from facts.models import IndexedUnit, Scope
from facts.tenancy import account_transaction
from retrieval import large_scopes
from retrieval.candidates import KEY, TEXT
from retrieval.models import LargeScope

READER = "memory_reader"
SCHEMA = "memory_large"
POLICY = "large_scope_reader"
#: Links of a row in the graph, and rows looked at while it is linked: more than pgvector's 16 and 64, because facts of
#: one scope resemble each other.
LINKS = 24
LINKING = 128
#: Memory for building a graph: 100,000 vectors of 384 numbers and their links take about 150 MB.
BUILDING = "512MB"

_COLUMNS = "account_id, scope_id, subject_id, active, audience, expires_at, valid_from, valid_to, tsv"


class NotAllowed(RuntimeError):
    """The owner of the tables may not do what this needs; the message says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """One index of a large scope, and the statement that makes it."""

    name: str
    table: str
    statement: sql.Composed


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would be done for a scope: ``rows`` facts and passages can be found in it, ``space`` is of their vectors."""

    account_id: uuid.UUID
    scope_id: uuid.UUID
    rows: int
    space: Space | None
    indexes: Sequence[Index]


def plan(account_id: uuid.UUID, scope: Scope) -> Plan:
    """Return what making the indexes of ``scope`` means now."""
    serving = embedding.serving()
    space = Space(serving.id, serving.dimensions) if serving else None
    with account_transaction(account_id), connection.cursor() as cursor:
        halves = " + ".join(
            f"(SELECT count(*) FROM {table} WHERE account_id = %(account)s AND scope_id = %(scope)s AND active)"
            for table in TEXT.values()
        )
        cursor.execute(f"SELECT {halves}", {"account": account_id, "scope": scope.id})
        (rows,) = cursor.fetchone()
    return Plan(
        account_id=account_id,
        scope_id=scope.id,
        rows=rows,
        space=space,
        indexes=_indexes(account_id, scope.id, space),
    )


def build(planned: Plan, *, note: Callable[[str], None]) -> None:
    """Make what is missing of a plan, then let reads use it; ``note`` hears of each index before it is made.

    Reading and writing go on meanwhile. Raises :class:`NotAllowed`. May be stopped and started again; an index of
    vectors that no read compares with any more is dropped.
    """
    with _owner() as owner:
        show_text_rows(owner)
        owner.execute(sql.SQL("SET maintenance_work_mem = {}").format(BUILDING))
        wanted = {index.name for index in planned.indexes}
        for name, valid in _existing(owner, planned.scope_id):
            if name not in wanted or not valid:
                _drop(owner, name)
        there = {name for name, _ in _existing(owner, planned.scope_id)}
        for index in planned.indexes:
            if index.name not in there:
                note(index.name)
                owner.execute(index.statement)
    with account_transaction(planned.account_id):
        LargeScope.objects.update_or_create(
            account_id=planned.account_id,
            scope_id=planned.scope_id,
            defaults={"rows": planned.rows, "space_id": planned.space.id if planned.space else None},
        )
    large_scopes.forget()


def drop(account_id: uuid.UUID, scope: Scope, *, patience: float) -> list[str]:
    """Let reads search ``scope`` exactly again, then drop its indexes; return their names.

    Other processes search through the views for up to ``large_scopes.SECONDS`` more: the views go with the last large
    scope, after ``patience`` seconds.
    """
    with account_transaction(account_id):
        LargeScope.objects.filter(account_id=account_id, scope=scope).delete()
    large_scopes.forget()
    with _owner() as owner:
        names = [name for name, _ in _existing(owner, scope.id)]
        for name in names:
            _drop(owner, name)
        if not _existing(owner):
            time.sleep(patience)
            _hide_text_rows(owner)
    return names


def _indexes(account_id: uuid.UUID, scope_id: uuid.UUID, space: Space | None) -> list[Index]:
    where = sql.SQL("active AND account_id = {}::uuid AND scope_id = {}::uuid").format(str(account_id), str(scope_id))
    found = []
    for unit in IndexedUnit:
        name, table = f"large_{unit}_text_{scope_id.hex}", TEXT[unit]
        statement = sql.SQL("CREATE INDEX CONCURRENTLY {} ON {} USING gin (tsv) WHERE {}").format(
            sql.Identifier(name), sql.Identifier(table), where
        )
        found.append(Index(name=name, table=table, statement=statement))
        if space is not None:
            name, table = f"large_{unit}_{space.id}_{scope_id.hex}", vector_tables.table(unit, space.dimensions)
            statement = sql.SQL(
                "CREATE INDEX CONCURRENTLY {} ON {} USING hnsw (h halfvec_cosine_ops)"
                " WITH (m = {}, ef_construction = {}) WHERE {} AND space_id = {}"
            ).format(sql.Identifier(name), sql.Identifier(table), LINKS, LINKING, where, space.id)
            found.append(Index(name=name, table=table, statement=statement))
    return found


@contextmanager
def _owner() -> Iterator[psycopg.Connection]:
    """Open a connection of the owner that commits each statement, as concurrent building needs it."""
    parameters = connections["owner"].get_connection_params()
    wanted = {name: value for name, value in parameters.items() if name not in {"cursor_factory", "context"}}
    with psycopg.connect(**wanted, autocommit=True, cursor_factory=psycopg.ClientCursor) as owner:
        yield owner


def _existing(owner: psycopg.Connection, scope_id: uuid.UUID | None = None) -> list[tuple[str, bool]]:
    """Return the indexes of a large scope, or of all, and whether each was built to its end."""
    return owner.execute(
        "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relname ~ %s ORDER BY c.relname",
        [f"^large_({'|'.join(IndexedUnit.values)})_.*{scope_id.hex if scope_id else ''}$"],
    ).fetchall()


def _drop(owner: psycopg.Connection, name: str) -> None:
    owner.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))


def show_text_rows(owner: psycopg.Connection) -> None:
    """Make the role, its policies and its views, as far as they are missing; raises :class:`NotAllowed`."""
    try:
        server_roles.retried(lambda: _show_text_rows(owner))
    except errors.InsufficientPrivilege as error:
        raise NotAllowed(
            f"Large scopes need a role '{READER}' that owns two views, and the owner of the tables may not make them"
            f" ({error.diag.message_primary}). Give it CREATEROLE, and CREATE on the database; or let a superuser run:"
            f' CREATE ROLE {READER} NOLOGIN; GRANT {READER} TO "{owner.info.user}" WITH ADMIN OPTION;'
        ) from error


def _show_text_rows(owner: psycopg.Connection) -> None:
    reader, schema = sql.Identifier(READER), sql.Identifier(SCHEMA)
    with owner.transaction():
        if not owner.execute("SELECT FROM pg_roles WHERE rolname = %s", [READER]).fetchall():
            owner.execute(sql.SQL("CREATE ROLE {} NOLOGIN NOSUPERUSER NOBYPASSRLS").format(reader))
        # Membership that inherits nothing: the policies are not for the owner, who may only act as this role.
        owner.execute(sql.SQL("GRANT {} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE").format(reader))
        for table in TEXT.values():
            _let_read(owner, table)
        owner.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {} AUTHORIZATION {}").format(schema, reader))
        owner.execute(sql.SQL("SET LOCAL ROLE {}").format(reader))
        owner.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO PUBLIC").format(schema))
        for unit, view in large_scopes.VIEWS.items():
            owner.execute(
                f"CREATE OR REPLACE VIEW {view} AS SELECT {KEY[unit]}, {_COLUMNS} FROM public.{TEXT[unit]}"
                f" WHERE account_id = {rls.CURRENT_ACCOUNT}"
            )
            owner.execute(f"GRANT SELECT ON {view} TO PUBLIC")
        owner.execute("RESET ROLE")
        owner.execute(sql.SQL("REVOKE {} FROM CURRENT_USER").format(reader))


def _let_read(owner: psycopg.Connection, table: str) -> None:
    reader = sql.Identifier(READER)
    owner.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(sql.Identifier(table), reader))
    known = owner.execute(
        "SELECT FROM pg_policy WHERE polname = %s AND polrelid = %s::regclass", [POLICY, table]
    ).fetchall()
    if not known:
        owner.execute(
            sql.SQL("CREATE POLICY {} ON {} FOR SELECT TO {} USING (true)").format(
                sql.Identifier(POLICY), sql.Identifier(table), reader
            )
        )


def _hide_text_rows(owner: psycopg.Connection) -> None:
    """Drop the views and what the role may do in this database; the role stays, others of the server may use it."""
    reader = sql.Identifier(READER)
    with owner.transaction():
        owner.execute(sql.SQL("GRANT {} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE").format(reader))
        owner.execute(sql.SQL("SET LOCAL ROLE {}").format(reader))
        owner.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(SCHEMA)))
        owner.execute("RESET ROLE")
        owner.execute(sql.SQL("REVOKE {} FROM CURRENT_USER").format(reader))
        for table in TEXT.values():
            owner.execute(
                sql.SQL("DROP POLICY IF EXISTS {} ON {}").format(sql.Identifier(POLICY), sql.Identifier(table))
            )
            owner.execute(sql.SQL("REVOKE SELECT ON {} FROM {}").format(sql.Identifier(table), reader))
