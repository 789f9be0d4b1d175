"""Searching by vector in scopes of more than about 20,000 rows, for which an operator had indexes made.

The exact search reads every row of a scope: 45 ms of processor time by vector at 100,000 rows. A scope of that size may
have graphs of its vectors, of that scope alone (``manage.py index_large_scope``,
:mod:`retrieval.large_scope_indexes`). Such a search misses some rows; how many is measured by
``benchmarks/context_latency.py``.

Which way a search goes is decided here, by a table that each process looks into every half minute, and never by the
database's planner. The statements hold their values as literals, because an index of one scope is used only where the
planner sees that scope.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

from facts import vector_tables
from facts.models import IndexedUnit
from retrieval.candidates import KEY, Question
from retrieval.models import LargeScope
from retrieval.visibility import Visibility

#: Rows of a corpus from which its own graph is used; fewer are searched exactly in less than 15 ms.
MANY = 20_000
#: Rows that the search in the graph keeps in view, of which it returns the best; more find more and cost more.
EF_SEARCH = 400
SECONDS = 30.0
#: Accounts remembered by one process.
CAPACITY = 1_024

#: A graph gives rows in the order of their distance, a sort would read all of them. The graph is searched on until
#: enough of its rows pass the other conditions.
_BY_GRAPH = (
    f"SELECT set_config('hnsw.ef_search', '{EF_SEARCH}', true),"
    " set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('enable_sort', 'off', true)"
)
_AS_BEFORE = "SELECT set_config('enable_sort', 'on', true)"

_remembered: dict[uuid.UUID, tuple[float, Mapping[uuid.UUID, int | None]]] = {}


def chosen(visible: Visibility, *, rows: int) -> tuple[uuid.UUID, ...]:
    """Return the scopes of a read of about ``rows`` rows whose own indexes are to be used: none where those are few.

    Runs inside the account's transaction.
    """
    if rows < MANY:
        return ()
    indexed = _indexed(visible.account_id)
    return tuple(scope_id for scope_id in visible.scope_ids if scope_id in indexed)


def forget() -> None:
    """Drop what this process remembers."""
    _remembered.clear()


def nearest(
    unit: IndexedUnit, question: Question, visible: Visibility, *, large: Sequence[uuid.UUID], limit: int
) -> list[uuid.UUID]:
    """Return the ids of the visible rows nearest to the question's vector, nearest first.

    In the scopes ``large`` as far as their graphs find them, in the others exactly. A scope whose vectors of another
    embedder were indexed is searched exactly.
    """
    indexed = _indexed(visible.account_id)
    graphs = [scope_id for scope_id in large if indexed.get(scope_id) == question.space.id]
    table, key = vector_tables.table(unit, question.space.dimensions), KEY[unit]
    searched = f"SELECT v.{key} AS id, v.h <=> %(vector)s::halfvec AS distance FROM {table} v WHERE"
    condition = f"{visible.current('v')} AND v.space_id = %(space)s"
    parts = [
        f"({searched} {condition} AND v.scope_id = %(large{number})s"
        " ORDER BY v.h <=> %(vector)s::halfvec LIMIT %(limit)s)"
        for number in range(len(graphs))
    ]
    if len(graphs) < len(visible.scope_ids):
        parts.append(
            f"({searched} {condition} AND {_elsewhere(graphs)}"
            f" ORDER BY (v.h <=> %(vector)s::halfvec) + 0, v.{key} LIMIT %(limit)s)"
        )
    statement = f"SELECT id FROM ({' UNION ALL '.join(parts)}) x ORDER BY distance, id LIMIT %(limit)s"
    with connection.cursor() as cursor:
        cursor.execute(_BY_GRAPH)
        cursor.execute(statement, {**_parameters(visible, question, graphs), "limit": limit})
        found = [row[0] for row in cursor.fetchall()]
        cursor.execute(_AS_BEFORE)
    return found


def _elsewhere(large: Sequence[uuid.UUID]) -> str:
    return "true" if not large else "NOT scope_id = ANY(%(large)s)"


def _parameters(visible: Visibility, question: Question, large: Sequence[uuid.UUID]) -> dict[str, Any]:
    scopes = {f"large{number}": scope_id for number, scope_id in enumerate(large)}
    return {**visible.parameters(), **question.vector_parameters(), **scopes, "large": list(large)}


def _indexed(account_id: uuid.UUID) -> Mapping[uuid.UUID, int | None]:
    """Return the embedding space whose vectors are indexed of each large scope of the account."""
    known = _remembered.get(account_id)
    if known is not None and known[0] > time.monotonic():
        return known[1]
    found = dict(LargeScope.objects.filter(account_id=account_id).values_list("scope_id", "space_id"))
    if len(_remembered) >= CAPACITY:
        _remembered.clear()
    _remembered[account_id] = (time.monotonic() + SECONDS, found)
    return found
