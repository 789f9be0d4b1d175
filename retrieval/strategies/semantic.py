"""What means nearly the same: exact nearest vectors, of the configured embedder's space only.

Profile ``minimal`` asks for two lanes, facts as they were told and facts that were derived from others, so that many
of the one kind cannot crowd out the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from facts import embedding, vector_tables
from facts.embedding import Space
from facts.models import IndexedUnit
from retrieval.candidates import vector_literal
from retrieval.strategies import rows
from retrieval.strategies.base import Hit, Stage, StrategyQuestion, StrategyUnavailable, in_order

#: Longest list of each lane.
LANE = 10

_DERIVED = (
    "EXISTS (SELECT FROM facts_relation d WHERE d.account_id = %(account)s AND d.source_id = v.fact_id"
    " AND d.kind = 'derived_from')"
)
#: Each lane with the operation that made its facts and its condition, in the order in which equal ranks come.
_LANES = (("direct", "extraction", f"NOT {_DERIVED}"), ("derived", "deduction", _DERIVED))


class Semantic:
    """Scores 1 − cosine distance; with lanes, the rank in the lane, 1 for the first and 0.1 for the tenth."""

    name = "semantic"
    stage = Stage.SEED
    needs_vector = True
    reads_text = True
    version = ""

    def applies(self, question: StrategyQuestion) -> bool:
        """There is something to compare with."""
        return not question.blank

    def find(self, question: StrategyQuestion, *, seeds: Sequence[Hit]) -> list[Hit]:
        """Return the nearest facts and passages."""
        if question.vector is None:
            raise StrategyUnavailable("the question has no vector")
        space = embedding.space(question.vector.identity)
        if question.lanes:
            return _interleaved(question, space)
        return in_order(hit for unit in rows.units(question) for hit in _nearest(question, unit, space))


def _nearest(
    question: StrategyQuestion, unit: IndexedUnit, space: Space, *, only: str = "true", limit: int | None = None
) -> list[Hit]:
    """Return the nearest rows of a unit; ``+ 0`` keeps any approximate index out.

    At the end of the list equal distances, which mean equal texts, are cut by when they hold.
    """
    key, table = rows.KEY[unit], vector_tables.table(unit, space.dimensions)
    vector = vector_literal(question.vector.numbers) if question.vector else ""
    nearest = (
        f"SELECT v.{key} AS id, (v.h <=> %(vector)s::halfvec) + 0 AS distance FROM {table} v"
        f" WHERE {rows.condition(question, unit, 'v')} AND v.space_id = %(space)s AND {only}"
        f" ORDER BY distance, v.valid_from, v.{key} LIMIT %(limit)s"
    )
    values = {**rows.parameters(question), "vector": vector, "space": space.id, "limit": limit or question.limit}
    return rows.hits(unit, f"SELECT id, 1 - distance AS score FROM ({nearest}) n", values)


def _interleaved(question: StrategyQuestion, space: Space) -> list[Hit]:
    """Return the facts of both lanes by their rank in the lane, direct ones first."""
    if IndexedUnit.FACT not in question.units:
        return []
    found = []
    for lane, operation, condition in _LANES:
        nearest = _nearest(question, IndexedUnit.FACT, space, only=condition, limit=LANE)
        for rank, hit in enumerate(nearest, start=1):
            detail = {"lane": lane, "operation": operation, "lane_rank": rank, "distance": round(1 - hit.score, 4)}
            found.append(replace(hit, score=(LANE + 1 - rank) / LANE, detail=detail))
    return sorted(found, key=lambda hit: hit.detail["lane_rank"])
