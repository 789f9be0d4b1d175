"""What the queries of all strategies share: which rows a question may find, and how found rows become hits.

The reader's bounds, the instants and the filters of the caller hold inside each query, before it is cut to its limit.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from facts import statements
from facts.models import IndexedUnit
from retrieval.strategies.base import Hit, Item, StrategyQuestion, in_order

TEXT_TABLE = {IndexedUnit.FACT: "facts_facttext", IndexedUnit.PASSAGE: "facts_passagetext"}
KEY = {IndexedUnit.FACT: "fact_id", IndexedUnit.PASSAGE: "passage_id"}

#: What is read of a found row of each unit: its words, since when it holds or when it was said, and what withholds it.
#: By its key, one by one: left to itself the planner reads all rows of the account where it has not counted them yet.
_CONTENT = {
    IndexedUnit.FACT: "SELECT x.*, c.text, c.moment, c.withheld FROM ({found}) x CROSS JOIN LATERAL ("
    "SELECT f.statement AS text, date_part('epoch', f.valid_from) AS moment, f.withheld"
    " FROM facts_fact f WHERE f.id = x.id OFFSET 0) c",
    IndexedUnit.PASSAGE: "SELECT x.*, c.text, c.moment, c.withheld FROM ({found}) x CROSS JOIN LATERAL ("
    "SELECT p.text, date_part('epoch', p.occurred_at) AS moment, p.withheld"
    " FROM facts_passage p WHERE p.id = x.id OFFSET 0) c",
}


def units(question: StrategyQuestion) -> tuple[IndexedUnit, ...]:
    """Return the units that the question may find anything of."""
    if question.filters.facts_only:
        return tuple(unit for unit in question.units if unit is IndexedUnit.FACT)
    return question.units


def condition(question: StrategyQuestion, unit: IndexedUnit, table: str) -> str:
    """Return the condition on the rows of an index table of ``unit``, aliased ``table``; see :func:`parameters`."""
    found = [_facts(question, table) if unit is IndexedUnit.FACT else _passages(question, table)]
    return " AND ".join([*found, *_filters(question, unit, table), *_demanded(question, unit, table)])


def parameters(question: StrategyQuestion) -> dict[str, Any]:
    """Return what :func:`condition` refers to."""
    filters = question.filters
    return {
        **question.visible.parameters(),
        "past": statements.id_array(question.past or ()),
        "known_at": question.known_at,
        "limit": question.limit,
        "provider": filters.provider,
        "model": filters.model,
        "prompt_version": filters.prompt_version,
        "corroboration": filters.minimum_corroboration,
        "event": filters.event_id,
        "demanded": question.demanded,
    }


def hits(unit: IndexedUnit, found: str, values: Mapping[str, Any]) -> list[Hit]:
    """Return the hits of the query ``found``, which yields ``id`` and ``score``; best first, equal ones by content."""
    return in_order(hit(unit, *row) for row in read(unit, found, values))


def read(unit: IndexedUnit, found: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows of the query ``found``, the first column of which is ``id``, each with its content behind it."""
    return statements.rows(_CONTENT[unit].format(found=found), values)


def hit(unit: IndexedUnit, row_id: uuid.UUID, score: float, text: str, moment: float | None, withheld: str) -> Hit:
    """Return one hit; ``moment`` in seconds since 1970."""
    return Hit(item=Item(unit, row_id), score=score, text=text, moment=instant(moment), withheld=bool(withheld))


def instant(seconds: float | None) -> datetime | None:
    """Return the instant, or ``None`` for one that Python cannot express."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _facts(question: StrategyQuestion, table: str) -> str:
    if question.past is None:
        return question.visible.current(table)
    return f"{question.visible.allowed(table)} AND {table}.fact_id = ANY(%(past)s::uuid[])"


def _passages(question: StrategyQuestion, table: str) -> str:
    """Passages are dated by when they were said; what was recorded after ``known_at`` was not known then."""
    current = question.visible.current(table)
    if question.known_at is None:
        return current
    return (
        f"{current} AND EXISTS (SELECT FROM facts_passage p JOIN facts_event e ON e.id = p.event_id"
        f" WHERE p.id = {table}.passage_id AND e.recorded_at <= %(known_at)s)"
    )


def _filters(question: StrategyQuestion, unit: IndexedUnit, table: str) -> list[str]:
    """Return the conditions of the caller's filters."""
    filters = question.filters
    wanted = []
    if filters.facts_only:
        origin = [
            f"f.{column} = %({name})s"
            for name, column in (
                ("provider", "extractor_provider"),
                ("model", "extractor_model"),
                ("prompt_version", "prompt_version"),
            )
            if getattr(filters, name)
        ]
        origin.append("f.corroboration >= %(corroboration)s")
        wanted.append(f"EXISTS (SELECT FROM facts_fact f WHERE f.id = {table}.{KEY[unit]} AND {' AND '.join(origin)})")
    if filters.event_id is not None:
        wanted.append(_OF_EVENT[unit].format(t=table))
    return wanted


def _demanded(question: StrategyQuestion, unit: IndexedUnit, table: str) -> list[str]:
    """Return the condition that the operators of the question make, whoever finds a row."""
    if question.demanded is None:
        return []
    if not question.demanded:
        return ["false"]
    return [
        f"EXISTS (SELECT FROM {TEXT_TABLE[unit]} m WHERE m.{KEY[unit]} = {table}.{KEY[unit]}"
        " AND m.tsv @@ %(demanded)s::tsquery)"
    ]


_OF_EVENT = {
    IndexedUnit.FACT: "EXISTS (SELECT FROM facts_evidence e WHERE e.account_id = %(account)s"
    " AND e.fact_id = {t}.fact_id AND e.event_id = %(event)s)",
    IndexedUnit.PASSAGE: "EXISTS (SELECT FROM facts_passage p WHERE p.id = {t}.passage_id AND p.event_id = %(event)s)",
}
