"""Making and dropping the indexes of large scopes: what an operator's command does, as the owner of the tables."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from django.db import connection, connections
from psycopg import sql

from facts import embedding, vector_tables
from facts.embedding import Space
from facts.models import IndexedUnit, Scope
from facts.tenancy import account_transaction
from retrieval import large_scopes
from retrieval.candidates import TEXT
from retrieval.models import LargeScope

#: Links of a row in the graph, and rows looked at while it is linked: more than pgvector's 16 and 64, because facts of
#: one scope resemble each other.
LINKS = 24
LINKING = 128
#: Memory for building a graph: 100,000 vectors of 384 numbers and their links take about 150 MB.
BUILDING = "512MB"


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

    Reading and writing go on meanwhile. May be stopped and started again; an index that is no longer in the plan, of
    vectors that no read compares with any more, is dropped.
    """
    with _owner() as owner:
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


def drop(account_id: uuid.UUID, scope: Scope) -> list[str]:
    """Let reads search ``scope`` exactly again, then drop its indexes; return their names."""
    with account_transaction(account_id):
        LargeScope.objects.filter(account_id=account_id, scope=scope).delete()
    large_scopes.forget()
    with _owner() as owner:
        names = [name for name, _ in _existing(owner, scope.id)]
        for name in names:
            _drop(owner, name)
    return names


def _indexes(account_id: uuid.UUID, scope_id: uuid.UUID, space: Space | None) -> list[Index]:
    if space is None:
        return []
    where = sql.SQL("active AND account_id = {}::uuid AND scope_id = {}::uuid").format(str(account_id), str(scope_id))
    found = []
    for unit in IndexedUnit:
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


def _existing(owner: psycopg.Connection, scope_id: uuid.UUID) -> list[tuple[str, bool]]:
    """Return the indexes of a large scope, and whether each was built to its end."""
    return owner.execute(
        "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relname ~ %s ORDER BY c.relname",
        [f"^large_({'|'.join(IndexedUnit.values)})_.*{scope_id.hex}$"],
    ).fetchall()


def _drop(owner: psycopg.Connection, name: str) -> None:
    owner.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))
