"""What says most when nothing is asked: confident, corroborated and recent facts.

Never beside a question: a list that reads no words would turn "nothing found" into a page of recent news.
"""

from __future__ import annotations

from collections.abc import Sequence

from facts.models import IndexedUnit
from retrieval.candidates import SALIENT_AMONG
from retrieval.strategies import rows
from retrieval.strategies.base import Hit, Stage, StrategyQuestion

#: Seconds in which recency falls to 1/e: 30 days.
_SPAN = 2_592_000


class SalienceRecency:
    """Scores confidence × (1 + ln(1 + corroboration)) × exp(−age / 30 days); facts only."""

    name = "salience_recency"
    stage = Stage.SEED
    needs_vector = False
    reads_text = False
    version = "1"

    def applies(self, question: StrategyQuestion) -> bool:
        """Nothing is asked in words."""
        return question.blank

    def find(self, question: StrategyQuestion, *, seeds: Sequence[Hit]) -> list[Hit]:
        """Return the most salient of the newest facts; those that only wait in a conflict set are none."""
        if IndexedUnit.FACT not in question.units:
            return []
        newest = current = ""
        if question.past is None:
            newest = " ORDER BY t.valid_from DESC NULLS FIRST, t.fact_id LIMIT %(newest)s"
            current = " WHERE s.status IN ('active', 'provisional')"
        salience = (
            "s.confidence * (1 + ln(1 + s.corroboration)) * exp(-least(700, greatest(0,"
            f" extract(epoch FROM %(at)s - coalesce(s.valid_from, s.recorded_from))::float8 / {_SPAN})))"
        )
        found = (
            f"SELECT n.fact_id AS id, {salience} AS score FROM (SELECT t.fact_id FROM facts_facttext t"
            f" WHERE {rows.condition(question, IndexedUnit.FACT, 't')}{newest}) n"
            f" CROSS JOIN LATERAL (SELECT f.* FROM facts_fact f WHERE f.id = n.fact_id OFFSET 0) s{current}"
            ' ORDER BY score DESC, s.statement COLLATE "C", s.valid_from, n.fact_id LIMIT %(limit)s'
        )
        values = {**rows.parameters(question), "newest": SALIENT_AMONG}
        return rows.hits(IndexedUnit.FACT, found, values)
