"""Keeping the narrow search rows in step with facts and passages.

Text rows are written with the fact; vector rows when a vector is there (missing ones are found by
``missing_vectors`` and filled later). Afterwards only flags and windows change, and only when they really differ,
because every write to these tables costs index-only scans until the next vacuum.

A fact is searchable while it is active, provisional (for its own subject), or a member of an open conflict set: the
last are found and then blocked, so that a trace can say that something was hidden. Passages likewise: those of an
open conflict are found and blocked, those that were forgotten or withdrawn are not found.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection

from facts import embedding, textindex, vector_tables
from facts.clock import now
from facts.embedding import Embedded, Space
from facts.models import Fact, IndexedUnit, Passage
from facts.status_graph import ENDED
from facts.textindex import IndexText
from facts.vocabulary import Status

#: The packed audience of a fact row, as in ``facts.audience.audience_code``; a test holds the two together.
_FACT_AUDIENCE = """(
    CASE f.sensitivity WHEN 'public' THEN 0 WHEN 'internal' THEN 1 WHEN 'personal' THEN 2 ELSE 3 END
    + 4 * CASE f.level WHEN 'peer' THEN 0 WHEN 'scope' THEN 1 ELSE 2 END
    + CASE WHEN s.kind = 'scope' THEN 16 ELSE 0 END
    + CASE WHEN f.status = 'provisional' THEN 32 ELSE 0 END)::smallint"""
_PASSAGE_AUDIENCE = """(
    CASE p.sensitivity WHEN 'public' THEN 0 WHEN 'internal' THEN 1 WHEN 'personal' THEN 2 ELSE 3 END
    + 4 * CASE p.level WHEN 'peer' THEN 0 WHEN 'scope' THEN 1 ELSE 2 END
    + CASE WHEN s.kind = 'scope' THEN 16 ELSE 0 END)::smallint"""

_FACT_STATE = f"""
    SELECT f.id, f.account_id, f.scope_id, f.subject_id,
           (f.status IN ('active', 'provisional')
            OR (f.withheld = 'conflict_open' AND f.status IN ('candidate', 'held'))) AS active,
           {_FACT_AUDIENCE} AS audience, f.expires_at, f.valid_from, f.valid_to
    FROM facts_fact f JOIN facts_subject s ON s.id = f.subject_id
    WHERE f.account_id = %(account)s AND f.id = ANY(%(ids)s)"""
_PASSAGE_STATE = f"""
    SELECT p.id, p.account_id, p.scope_id, p.subject_id,
           (e.withdrawn_at IS NULL AND p.withheld NOT IN ('source_forgotten', 'directive_held')) AS active,
           {_PASSAGE_AUDIENCE} AS audience, NULL::timestamptz AS expires_at,
           p.occurred_at AS valid_from, NULL::timestamptz AS valid_to
    FROM facts_passage p JOIN facts_subject s ON s.id = p.subject_id JOIN facts_event e ON e.id = p.event_id
    WHERE p.account_id = %(account)s AND p.id = ANY(%(ids)s)"""

_COLUMNS = "account_id, scope_id, subject_id, active, audience, expires_at, valid_from, valid_to"
_STATE_COLUMNS = "x.account_id, x.scope_id, x.subject_id, x.active, x.audience, x.expires_at, x.valid_from, x.valid_to"
_DIFFERS = (
    "(i.scope_id, i.subject_id, i.active, i.audience, i.expires_at, i.valid_from, i.valid_to)"
    " IS DISTINCT FROM (x.scope_id, x.subject_id, x.active, x.audience, x.expires_at, x.valid_from, x.valid_to)"
)


def _sync(unit: IndexedUnit, text_table: str, state: str, account_id: uuid.UUID, ids: list[uuid.UUID]) -> None:
    """Bring the rows of all index tables in line in one statement; a table without rows of these ids costs little."""
    key = f"{unit}_id"
    tables = [text_table, *vector_tables.tables(unit)]
    updates = ", ".join(
        f"changed_{number} AS (UPDATE {table} i SET scope_id = x.scope_id, subject_id = x.subject_id,"
        " active = x.active, audience = x.audience, expires_at = x.expires_at, valid_from = x.valid_from,"
        f" valid_to = x.valid_to FROM x WHERE i.account_id = %(account)s AND i.{key} = x.id AND {_DIFFERS})"
        for number, table in enumerate(tables)
    )
    with connection.cursor() as cursor:
        cursor.execute(f"WITH x AS MATERIALIZED ({state}), {updates} SELECT", {"account": account_id, "ids": ids})


def sync_facts(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID]) -> None:
    """Bring flags, audience and windows of these facts' index rows in line with the facts."""
    ids = list(fact_ids)
    if ids:
        _sync(IndexedUnit.FACT, "facts_facttext", _FACT_STATE, account_id, ids)


def sync_passages(account_id: uuid.UUID, passage_ids: Iterable[uuid.UUID]) -> None:
    """Bring flags, audience and windows of these passages' index rows in line with the passages."""
    ids = list(passage_ids)
    if ids:
        _sync(IndexedUnit.PASSAGE, "facts_passagetext", _PASSAGE_STATE, account_id, ids)


def _write_text(
    table: str, key: str, state: str, account_id: uuid.UUID, texts: Sequence[tuple[uuid.UUID, IndexText]]
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({key}, {_COLUMNS}, tsv, fits)"
            f" SELECT x.id, {_STATE_COLUMNS}, {textindex.tsvector_sql('t.stem', 't.plain')}, true"
            f" FROM ({state}) x"
            " JOIN unnest(%(ids)s::uuid[], %(stems)s::text[], %(plains)s::text[]) AS t(id, stem, plain)"
            "   ON t.id = x.id"
            f" ON CONFLICT ({key}) DO NOTHING",
            {
                "account": account_id,
                "ids": [key_ for key_, _ in texts],
                "stems": [prepared.stem for _, prepared in texts],
                "plains": [prepared.plain for _, prepared in texts],
            },
        )


def write_fact_text(facts: Sequence[Fact]) -> None:
    """Insert the text rows of new facts; a fact's statement never changes, so nor does its row's text."""
    if facts:
        _write_text(
            "facts_facttext",
            "fact_id",
            _FACT_STATE,
            facts[0].account_id,
            [(fact.id, textindex.prepare(fact.statement)) for fact in facts],
        )


def write_passage_text(passages: Sequence[Passage]) -> None:
    """Insert the text rows of new passages."""
    if passages:
        _write_text(
            "facts_passagetext",
            "passage_id",
            _PASSAGE_STATE,
            passages[0].account_id,
            [
                (passage.id, textindex.prepare_passage(passage.speaker_name, passage.text, passage.occurred_at))
                for passage in passages
            ],
        )


def _write_vectors(
    unit: IndexedUnit, state: str, account_id: uuid.UUID, vectors: Sequence[tuple[uuid.UUID, Embedded]]
) -> int:
    """Write vectors, all of one embedder, and return how many rows were.

    ``state`` locks its rows and leaves out those that somebody else is changing: a row written from what they are
    about to change would stay wrong. What is left out is found missing again.
    """
    if not vectors:
        return 0
    (identity,) = {embedded.identity for _, embedded in vectors}
    space = embedding.space(identity)
    key, table = f"{unit}_id", vector_tables.table(unit, space.dimensions)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({key}, space_id, {_COLUMNS}, h)"
            f" SELECT x.id, %(space)s, {_STATE_COLUMNS}, t.h::halfvec"
            f" FROM ({state} FOR SHARE OF {unit[0]} SKIP LOCKED) x"
            " JOIN unnest(%(ids)s::uuid[], %(vectors)s::text[]) AS t(id, h) ON t.id = x.id"
            f" ON CONFLICT ({key}, space_id) DO UPDATE SET h = EXCLUDED.h",
            {
                "account": account_id,
                "space": space.id,
                "ids": [row_id for row_id, _ in vectors],
                "vectors": [literal(embedded.numbers) for _, embedded in vectors],
            },
        )
        return cursor.rowcount


def literal(numbers: Sequence[float]) -> str:
    """Return a vector as PostgreSQL reads it; half precision keeps four digits."""
    return "[" + ",".join([f"{float(number):.5g}" for number in numbers]) + "]"


def write_fact_vectors(account_id: uuid.UUID, *, vectors: Sequence[tuple[uuid.UUID, Embedded]]) -> int:
    """Write the vectors of facts into the space of their embedder, replacing earlier ones; return how many."""
    # What was erased while its vector was made must not come back as numbers.
    return _write_vectors(IndexedUnit.FACT, f"{_FACT_STATE} AND f.status <> 'deleted'", account_id, vectors)


def write_passage_vectors(account_id: uuid.UUID, *, vectors: Sequence[tuple[uuid.UUID, Embedded]]) -> int:
    """Write the vectors of passages into the space of their embedder, replacing earlier ones; return how many."""
    return _write_vectors(IndexedUnit.PASSAGE, _PASSAGE_STATE, account_id, vectors)


def facts_missing_vectors(
    account_id: uuid.UUID, *, space: Space, limit: int, newest_first: bool = False
) -> list[tuple[uuid.UUID, str]]:
    """Return up to ``limit`` (id, statement) of facts that have no vector in ``space``.

    Searchable ones, and those that a read of the past may find; without refused ones before their time.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT f.id, f.statement FROM ({_missing_now(IndexedUnit.FACT, space)}) m"
            f" JOIN facts_fact f ON f.id = m.id ORDER BY m.id {_order(newest_first)} LIMIT %(limit)s",
            _missing_parameters(account_id, space, limit=limit),
        )
        return cursor.fetchall()


def passages_missing_vectors(
    account_id: uuid.UUID, *, space: Space, limit: int, newest_first: bool = False
) -> list[tuple[uuid.UUID, str]]:
    """Return up to ``limit`` (id, indexed text) of searchable passages that have no vector in ``space``.

    Without refused ones before their time.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.id, p.speaker_name, p.text"
            f" FROM ({_missing_now(IndexedUnit.PASSAGE, space)}) m JOIN facts_passage p ON p.id = m.id"
            f" ORDER BY m.id {_order(newest_first)} LIMIT %(limit)s",
            _missing_parameters(account_id, space, limit=limit),
        )
        return [(row_id, textindex.passage_text(speaker, text)) for row_id, speaker, text in cursor.fetchall()]


def count_missing_vectors(account_id: uuid.UUID, *, space: Space) -> int:
    """Return how many facts and passages have no vector in ``space`` and should, without refused ones."""
    counts = " + ".join(f"(SELECT count(*) FROM ({_never_refused(unit, space)}) {unit}s)" for unit in IndexedUnit)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {counts}", _missing_parameters(account_id, space))
        return cursor.fetchone()[0]


def drop_vectors(account_id: uuid.UUID, *, space: Space, limit: int) -> int:
    """Delete up to ``limit`` vectors of facts and as many of passages of ``space``; return how many were."""
    dropped = 0
    with connection.cursor() as cursor:
        for unit in IndexedUnit:
            table, key = vector_tables.table(unit, space.dimensions), f"{unit}_id"
            cursor.execute(
                f"DELETE FROM {table} WHERE account_id = %(account)s AND space_id = %(space)s AND {key} IN ("
                f" SELECT {key} FROM {table} WHERE account_id = %(account)s AND space_id = %(space)s LIMIT %(limit)s)",
                {"account": account_id, "space": space.id, "limit": limit},
            )
            dropped += cursor.rowcount
    return dropped


#: Statuses of facts that are not searchable now and may be found by a read of the past, or be searchable again.
_PAST = [*ENDED, Status.NEEDS_REVALIDATION, Status.DISPUTED]


def _missing(unit: str, space: Space) -> str:
    """Return the query of the ids that lack a vector; each half goes by an index of its own."""
    lacks = f"NOT EXISTS (SELECT FROM {vector_tables.table(unit, space.dimensions)} v WHERE v.{unit}_id = "
    searchable = (
        f"SELECT t.{unit}_id AS id FROM facts_{unit}text t WHERE t.account_id = %(account)s AND t.active"
        f" AND {lacks} t.{unit}_id AND v.space_id = %(space)s)"
    )
    if unit == IndexedUnit.PASSAGE:
        return searchable
    return (
        f"{searchable} UNION ALL SELECT p.id FROM facts_fact p WHERE p.account_id = %(account)s"
        f" AND p.status = ANY(%(past)s) AND {lacks} p.id AND v.space_id = %(space)s)"
    )


def _never_refused(unit: str, space: Space, *, but: str = "") -> str:
    """Return the query of :func:`_missing` without the texts that the embedder refuses, all of them or some."""
    return (
        f"SELECT m.id FROM ({_missing(unit, space)}) m WHERE NOT EXISTS (SELECT FROM facts_refusedtext r"
        f" WHERE r.account_id = %(account)s AND r.space_id = %(space)s AND r.unit = '{unit}' AND r.item_id = m.id{but})"
    )


def _missing_now(unit: str, space: Space) -> str:
    return _never_refused(unit, space, but=" AND r.retry_at > %(now)s")


def _missing_parameters(account_id: uuid.UUID, space: Space, *, limit: int | None = None) -> dict[str, Any]:
    return {"account": account_id, "space": space.id, "past": _PAST, "limit": limit, "now": now()}


def _order(newest_first: bool) -> str:
    return "DESC" if newest_first else "ASC"
