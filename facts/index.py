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

from django.db import connection

from facts import textindex
from facts.models import Fact, Passage

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
           (e.withdrawn_at IS NULL AND p.withheld <> 'source_forgotten') AS active,
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


def _sync(table: str, key: str, state: str, account_id: uuid.UUID, ids: list[uuid.UUID]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} i SET scope_id = x.scope_id, subject_id = x.subject_id, active = x.active,"
            f" audience = x.audience, expires_at = x.expires_at, valid_from = x.valid_from, valid_to = x.valid_to"
            f" FROM ({state}) x WHERE i.account_id = %(account)s AND i.{key} = x.id AND {_DIFFERS}",
            {"account": account_id, "ids": ids},
        )


def sync_facts(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID]) -> None:
    """Bring flags, audience and windows of these facts' index rows in line with the facts."""
    ids = list(fact_ids)
    if ids:
        _sync("facts_facttext", "fact_id", _FACT_STATE, account_id, ids)
        _sync("facts_factvector", "fact_id", _FACT_STATE, account_id, ids)


def sync_passages(account_id: uuid.UUID, passage_ids: Iterable[uuid.UUID]) -> None:
    """Bring flags, audience and windows of these passages' index rows in line with the passages."""
    ids = list(passage_ids)
    if ids:
        _sync("facts_passagetext", "passage_id", _PASSAGE_STATE, account_id, ids)
        _sync("facts_passagevector", "passage_id", _PASSAGE_STATE, account_id, ids)


def _write_text(
    table: str, key: str, state: str, account_id: uuid.UUID, texts: Sequence[tuple[uuid.UUID, str]]
) -> None:
    if not texts:
        return
    prepared = [textindex.prepare(text) for _, text in texts]
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
                "stems": [item.stem for item in prepared],
                "plains": [item.plain for item in prepared],
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
            [(fact.id, fact.statement) for fact in facts],
        )


def write_passage_text(passages: Sequence[Passage]) -> None:
    """Insert the text rows of new passages."""
    if passages:
        _write_text(
            "facts_passagetext",
            "passage_id",
            _PASSAGE_STATE,
            passages[0].account_id,
            [(passage.id, textindex.passage_text(passage.speaker_name, passage.text)) for passage in passages],
        )


def _write_vectors(
    table: str,
    key: str,
    state: str,
    account_id: uuid.UUID,
    space: int,
    vectors: Sequence[tuple[uuid.UUID, Sequence[float]]],
) -> None:
    if not vectors:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({key}, space_id, {_COLUMNS}, h)"
            f" SELECT x.id, %(space)s, {_STATE_COLUMNS}, t.h::halfvec"
            f" FROM ({state}) x JOIN unnest(%(ids)s::uuid[], %(vectors)s::text[]) AS t(id, h) ON t.id = x.id"
            f" ON CONFLICT ({key}, space_id) DO UPDATE SET h = EXCLUDED.h",
            {
                "account": account_id,
                "space": space,
                "ids": [row_id for row_id, _ in vectors],
                "vectors": ["[" + ",".join(f"{float(x):.6g}" for x in vector) + "]" for _, vector in vectors],
            },
        )


def write_fact_vectors(
    account_id: uuid.UUID, *, space: int, vectors: Sequence[tuple[uuid.UUID, Sequence[float]]]
) -> None:
    """Write the vectors of facts in one embedding space, replacing earlier ones of that space."""
    _write_vectors("facts_factvector", "fact_id", _FACT_STATE, account_id, space, vectors)


def write_passage_vectors(
    account_id: uuid.UUID, *, space: int, vectors: Sequence[tuple[uuid.UUID, Sequence[float]]]
) -> None:
    """Write the vectors of passages in one embedding space, replacing earlier ones of that space."""
    _write_vectors("facts_passagevector", "passage_id", _PASSAGE_STATE, account_id, space, vectors)


def facts_missing_vectors(account_id: uuid.UUID, *, space: int, limit: int) -> list[tuple[uuid.UUID, str]]:
    """Return up to ``limit`` (id, statement) of searchable facts that have no vector in ``space``."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT f.id, f.statement FROM facts_facttext t JOIN facts_fact f ON f.id = t.fact_id"
            " WHERE t.account_id = %s AND t.active AND NOT EXISTS ("
            "   SELECT 1 FROM facts_factvector v WHERE v.fact_id = t.fact_id AND v.space_id = %s)"
            " ORDER BY f.id LIMIT %s",
            [account_id, space, limit],
        )
        return cursor.fetchall()


def passages_missing_vectors(account_id: uuid.UUID, *, space: int, limit: int) -> list[tuple[uuid.UUID, str]]:
    """Return up to ``limit`` (id, indexed text) of searchable passages that have no vector in ``space``."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.id, p.speaker_name, p.text FROM facts_passagetext t JOIN facts_passage p ON p.id = t.passage_id"
            " WHERE t.account_id = %s AND t.active AND NOT EXISTS ("
            "   SELECT 1 FROM facts_passagevector v WHERE v.passage_id = t.passage_id AND v.space_id = %s)"
            " ORDER BY p.id LIMIT %s",
            [account_id, space, limit],
        )
        return [(row_id, textindex.passage_text(speaker, text)) for row_id, speaker, text in cursor.fetchall()]
