"""How the words of a question are looked for in the text tables: any of them, or as its operators say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from facts import textindex
from facts.models import IndexedUnit
from facts.words import words
from retrieval.candidates import Question
from retrieval.strategies import rows
from retrieval.strategies.base import StrategyQuestion
from retrieval.text import common_lexemes, keyed, lexical
from retrieval.text.common_lexemes import Commonness

#: Changes when the same question could find other rows of the same index.
QUESTION_VERSION = 1
#: Names both halves of the analysis; holds nothing of any question.
ANALYZER = f"lexical-question-{QUESTION_VERSION}/index-{textindex.ANALYZER_VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatch:
    """What rows of one unit must hold (``query``, the text of a ``tsquery``) and what each word counts.

    ``any_of`` are the lexemes of which any will do, when that is all that the query says.
    """

    query: str
    any_of: Sequence[str]
    question: Question

    def score(self, table: str) -> str:
        """Return the SQL expression of the share of the question's weight that a row holds, 0 to 1."""
        return self.question.text_score(table)

    def parameters(self) -> dict[str, Any]:
        """Return what the query and the score refer to."""
        return {**self.question.parameters(), **keyed.parameters(self.any_of), "match": self.query}


def analyse(question: StrategyQuestion) -> Mapping[IndexedUnit, TextMatch]:
    """Return what to look for in each unit; empty when nothing is left of the question to look for."""
    if question.demanded == "":
        return {}
    visible = question.visible
    if question.demanded:
        asked = textindex.index_text(words(question.text))
    else:
        asked = lexical.searchable(question.text, at=visible.at)
    analysis = common_lexemes.analyse(
        asked, account_id=visible.account_id, scope_ids=visible.scope_ids, subject_id=visible.subject_id
    )
    lexemes = analysis.lexemes[: lexical.MAX_LEXEMES]
    return {unit: _match(lexemes, analysis.common[unit], question.demanded) for unit in IndexedUnit if lexemes}


def _match(lexemes: Sequence[str], counted: Commonness, demanded: str | None) -> TextMatch:
    """Return what rows of one unit must hold: what is demanded, or any of the words that are not common there."""
    weights = lexical.weights(lexemes, counts=counted.counts, rows=counted.rows)
    rarer = lexical.rarer(weights, counts=counted.counts, rows=counted.rows)
    if demanded:
        return TextMatch(query=demanded, any_of=(), question=Question(weights=weights))
    return TextMatch(query=lexical.any_of(rarer), any_of=rarer, question=Question(weights=weights))


def matching(question: StrategyQuestion, unit: IndexedUnit, match: TextMatch, columns: str) -> str:
    """Return the query of all matching rows of a unit's text table ``t``; ``columns`` is how it begins.

    By the keys of the lexemes where that is possible, otherwise among all rows of the scopes.
    """
    return keyed.holding(
        unit,
        columns=columns,
        condition=rows.condition(question, unit, "t"),
        by_keys=question.past is None and keyed.applies(match.any_of, question.visible),
    )
