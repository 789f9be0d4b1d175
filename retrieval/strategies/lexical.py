"""What shares the question's words: any of them, or what its operators ask for.

A row's score is the share of the question's weight that it holds, rare words weighing more, and for the best of them
up to 0.1 more when two of the words stand within eight words of each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from facts import statements, textindex
from facts.models import IndexedUnit
from retrieval.strategies import rows, text_match
from retrieval.strategies.base import Hit, Stage, StrategyQuestion, in_order
from retrieval.strategies.text_match import TextMatch

#: Two words are near each other up to this distance in words.
NEAR = 8
#: What two neighbours add to a score of 0 to 1; less the farther they are apart. Turn recall@10 on LoCoMo (five
#: conversations, 760 questions), of words alone and fused with vectors: without .625, .688; 0.1 → .636, .688; 0.2 →
#: .631, .683; 0.4 → .633, .672.
NEARNESS_BONUS = 0.1
#: How many times the length of the list competes for the bonus; who is farther down cannot be lifted by it.
HEAD = 2


class Lexical:
    """Scores the weight held, 0 to 1, and the bonus of neighbours."""

    name = "lexical"
    stage = Stage.SEED
    needs_vector = False
    reads_text = True
    version = text_match.ANALYZER

    def applies(self, question: StrategyQuestion) -> bool:
        """There are words to look for."""
        return not question.blank

    def find(self, question: StrategyQuestion, *, seeds: Sequence[Hit]) -> list[Hit]:
        """Return the facts and passages that hold most of the question."""
        matches = text_match.analyse(question)
        return in_order(hit for unit in rows.units(question) if matches for hit in _best(question, unit, matches[unit]))


def matches_anything(question: StrategyQuestion) -> bool:
    """Tell whether any row that the question may find has its words, and nothing of which."""
    matches = text_match.analyse(question)
    return any(_exists(question, unit, matches[unit]) for unit in rows.units(question) if matches)


def _exists(question: StrategyQuestion, unit: IndexedUnit, match: TextMatch) -> bool:
    return statements.rows(
        f"SELECT EXISTS ({text_match.matching(question, unit, match, 'SELECT')})", _values(question, match)
    )[0][0]


def _best(question: StrategyQuestion, unit: IndexedUnit, match: TextMatch) -> list[Hit]:
    """Return the best rows of a unit, the bonus included. Ties at the end of a list are cut by their words."""
    key, table = rows.KEY[unit], rows.TEXT_TABLE[unit]
    columns = f"SELECT t.{key} AS id, {match.score('t')} AS held, t.tsv, t.valid_from"
    head = (
        f"SELECT id, held FROM ({text_match.matching(question, unit, match, columns)}) m"
        " ORDER BY held DESC, tsv, valid_from, id LIMIT %(head)s"
    )
    scored = (
        f"SELECT h.id, h.held + {NEARNESS_BONUS} * coalesce(({_NEARNESS}), 0) AS score FROM ({head}) h"
        f" CROSS JOIN LATERAL (SELECT t.tsv FROM {table} t WHERE t.{key} = h.id OFFSET 0) n"
    )
    values = {
        **_values(question, match),
        "head": HEAD * question.limit,
        "lexemes": list(match.question.weights),
        "words": textindex.phrase(question.text),
        "near": NEAR,
    }
    return rows.hits(unit, scored, values)[: question.limit]


def _values(question: StrategyQuestion, match: TextMatch) -> Mapping[str, Any]:
    return {**rows.parameters(question), **match.parameters()}


#: 1 for two different words of the question side by side, 1/8 for two that are eight words apart, null for none.
#: Lexemes of the plain form do not count: their places say nothing.
_NEARNESS = """
    SELECT max((%(near)s::int + 1 - w.gap)::float8 / %(near)s::int)
    FROM (
        SELECT p.position - lag(p.position) OVER (ORDER BY p.position) AS gap,
               p.lexeme <> lag(p.lexeme) OVER (ORDER BY p.position) AS other
        FROM (
            SELECT u.lexeme, place AS position FROM unnest(n.tsv) u, unnest(u.positions) place
            WHERE u.lexeme = ANY(%(lexemes)s::text[])
              AND u.lexeme = ANY(tsvector_to_array(to_tsvector('english', %(words)s::text)))
        ) p
    ) w
    WHERE w.other AND w.gap BETWEEN 1 AND %(near)s::int
"""
