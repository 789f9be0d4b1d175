"""What matches in words and is dated, by its distance from the instant that is asked about."""

from __future__ import annotations

from collections.abc import Sequence

from facts.models import IndexedUnit
from retrieval.strategies import rows, text_match
from retrieval.strategies.base import Hit, Stage, StrategyQuestion
from retrieval.strategies.text_match import TextMatch

_DAY = 86_400

#: The nearness of a row to ``as_of``: 1 for a state, which held then or would not be found, and for an event that was
#: going on; for an event that was over, and for what was said, 1 / (1 + days since).
_NEARNESS = {
    IndexedUnit.FACT: "CASE WHEN t.valid_to IS NOT NULL OR"
    " (SELECT f.form = 'state' FROM facts_fact f WHERE f.id = t.fact_id) THEN 1 ELSE {since} END",
    IndexedUnit.PASSAGE: "{since}",
}
_SINCE = f"1 / (1 + greatest(0, extract(epoch FROM %(at)s - t.valid_from)::float8) / {_DAY})"


class Temporal:
    """Scores nearness in time, 0 to 1; among equally near ones those that share more words come first."""

    name = "temporal"
    stage = Stage.SEED
    needs_vector = False
    reads_text = True
    version = text_match.ANALYZER

    def applies(self, question: StrategyQuestion) -> bool:
        """There are words, and an instant."""
        return not question.blank and question.as_of is not None

    def find(self, question: StrategyQuestion, *, seeds: Sequence[Hit]) -> list[Hit]:
        """Return dated facts that held then, or were over by then, and what had been said, nearest first."""
        matches = text_match.analyse(question)
        if not matches:
            return []
        found = [(hit, held) for unit in rows.units(question) for hit, held in _near(question, unit, matches[unit])]
        return [hit for hit, held in sorted(found, key=lambda pair: (-pair[0].score, -pair[1], pair[0].content))]


def _near(question: StrategyQuestion, unit: IndexedUnit, match: TextMatch) -> list[tuple[Hit, float]]:
    """Return the nearest matching rows of a unit, each with the share of the question that it holds."""
    columns = (
        f"SELECT t.{rows.KEY[unit]} AS id, {_NEARNESS[unit].format(since=_SINCE)} AS score,"
        f" {match.score('t')} AS held, t.tsv, t.valid_from"
    )
    found = (
        f"SELECT id, score, held FROM ({text_match.matching(question, unit, match, columns)}) m"
        " WHERE valid_from IS NOT NULL ORDER BY score DESC, held DESC, tsv, valid_from, id LIMIT %(limit)s"
    )
    values = {**rows.parameters(question), **match.parameters()}
    return [
        (rows.hit(unit, row_id, score, *content), held)
        for row_id, score, held, *content in rows.read(unit, found, values)
    ]
