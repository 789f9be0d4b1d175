"""Which facts name which entities, inside a question's bounds: what matching and expanding by entities share."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import connection

from facts.models import IndexedUnit
from retrieval.strategies import rows
from retrieval.strategies.base import StrategyQuestion

#: In a corpus of this many facts an entity in more than :data:`COMMON_SHARE` of them tells nothing.
COMMON_FROM = 20
COMMON_SHARE = 0.5
#: Bound on the facts that are counted: a larger corpus counts as one of this size.
COUNTED = 100_000


class Frequency(NamedTuple):
    """How many facts of the corpus name an entity, and by which of the aliases that were asked about."""

    facts: int
    aliases: frozenset[uuid.UUID]


def corpus_size(question: StrategyQuestion) -> int:
    """Return how many facts the question's reader may find at all, up to :data:`COUNTED`.

    Facts too large for the covering index are counted beside it.
    """
    condition = rows.condition(question, IndexedUnit.FACT, "t")
    halves = " UNION ALL ".join(
        f"SELECT t.fact_id FROM facts_facttext t WHERE {condition} AND {fits}" for fits in ("t.fits", "NOT t.fits")
    )
    return _value(
        f"SELECT count(*) FROM (SELECT fact_id FROM ({halves}) h LIMIT {COUNTED}) x", rows.parameters(question)
    )


def too_common(facts: int, *, corpus: int) -> bool:
    """Tell whether an entity that ``facts`` of ``corpus`` facts name is in too many of them to tell anything."""
    return corpus >= COMMON_FROM and facts > COMMON_SHARE * corpus


def frequencies(
    question: StrategyQuestion, entity_ids: Sequence[uuid.UUID], *, corpus: int
) -> dict[uuid.UUID, Frequency]:
    """Return how often the facts that the reader may find name each entity; those that none names are missing.

    Counting ends where an entity is too common in a corpus of ``corpus`` facts.
    """
    if not entity_ids:
        return {}
    enough = int(COMMON_SHARE * corpus) + 1 if corpus >= COMMON_FROM else COUNTED
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT a.entity_id, count(DISTINCT n.fact_id), array_agg(DISTINCT a.id)"
            f" FROM retrieval_entityalias a CROSS JOIN LATERAL ({mentions(question, 'a.id')} LIMIT %(enough)s) n"
            " WHERE a.account_id = %(account)s AND a.entity_id = ANY(%(entities)s) GROUP BY a.entity_id",
            {**rows.parameters(question), "entities": list(entity_ids), "enough": enough},
        )
        return {entity: Frequency(facts, frozenset(aliases)) for entity, facts, aliases in cursor.fetchall()}


def mentions(question: StrategyQuestion, alias: str) -> str:
    """Return the query of the mentions (``fact_id``, ``confidence``) of an alias in facts that the reader may find.

    In a read about one subject, that a fact is about it is no mention: all of them are.
    """
    named = " AND m.surface <> ''" if question.visible.subject_id else ""
    return (
        "SELECT m.fact_id, m.confidence FROM retrieval_mention m JOIN facts_facttext t ON t.fact_id = m.fact_id"
        f" WHERE m.account_id = %(account)s AND m.alias_id = {alias} AND m.scope_id = ANY(%(scopes)s)"
        f" AND {rows.condition(question, IndexedUnit.FACT, 't')}{named}"
    )


def _value(statement: str, parameters: dict[str, Any]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0]
