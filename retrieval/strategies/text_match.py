"""How the words of a question are looked for in the text tables: any of them, or as its operators say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

from facts import textindex
from facts.models import IndexedUnit
from facts.words import words
from retrieval import common_lexemes, lexical, lexical_operators
from retrieval.candidates import Question
from retrieval.lexical_operators import Term
from retrieval.strategies.base import StrategyQuestion

#: Changes when the same question could find other rows of the same index.
QUESTION_VERSION = 1
#: Names both halves of the analysis; holds nothing of any question.
ANALYZER = f"lexical-question-{QUESTION_VERSION}/index-{textindex.ANALYZER_VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatch:
    """What rows of one unit must hold (``query``, the text of a ``tsquery``) and what each word counts."""

    query: str
    question: Question

    def score(self, table: str) -> str:
        """Return the SQL expression of the share of the question's weight that a row holds, 0 to 1."""
        return self.question.text_score(table)

    def parameters(self) -> dict[str, Any]:
        """Return what the query and the score refer to."""
        return {**self.question.parameters(), "match": self.query}


def analyse(question: StrategyQuestion) -> Mapping[IndexedUnit, TextMatch]:
    """Return what to look for in each unit; empty when nothing is left of the question to look for."""
    alternatives = lexical_operators.parse(question.text)
    asked = lexical.searchable(question.text) if alternatives is None else _positive(alternatives)
    visible = question.visible
    analysis = common_lexemes.analyse(
        asked, account_id=visible.account_id, scope_ids=visible.scope_ids, subject_id=visible.subject_id
    )
    lexemes = analysis.lexemes[: lexical.MAX_LEXEMES]
    if not lexemes:
        return {}
    compiled = None if alternatives is None else _compiled(alternatives, question.text)
    if compiled == "":
        return {}
    matches = {}
    for unit in IndexedUnit:
        counted = analysis.common[unit]
        weights = lexical.weights(lexemes, counts=counted.counts, rows=counted.rows)
        rarer = lexical.rarer(weights, counts=counted.counts, rows=counted.rows)
        matches[unit] = TextMatch(query=compiled or lexical.any_of(rarer), question=Question(weights=weights))
    return matches


def _positive(alternatives: list[list[Term]]) -> textindex.IndexText:
    wanted = " ".join(term.text for terms in alternatives for term in terms if not term.negated)
    return textindex.index_text(words(wanted))


def _compiled(alternatives: list[list[Term]], text: str) -> str:
    """Return the ``tsquery`` of a question with operators as text, empty when it asks for nothing.

    An alternative that only excludes asks for nothing: it would find everything else.
    """
    named = textindex.named(words(text))
    values: dict[str, str] = {}
    columns = []
    for terms in alternatives:
        wanted = [_query(term, named, values) for term in terms if not term.negated]
        unwanted = [f"!!({_query(term, named, values)})" for term in terms if term.negated]
        if wanted:
            columns.append(
                f"CASE WHEN numnode({' && '.join(wanted)}) > 0 THEN ({' && '.join([*wanted, *unwanted])})::text END"
            )
    if not columns:
        return ""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(columns)}", values)
        return " | ".join(f"({query})" for query in cursor.fetchone() if query)


def _query(term: Term, named: set[str], values: dict[str, str]) -> str:
    """Return the SQL expression of a term's ``tsquery``: its words side by side, or another form of them.

    What the English dictionary would drop is looked for as written, where the index kept it.
    """
    found = words(term.text)
    kept = textindex.NEGATIONS | named
    if found and all(word.folded in textindex.STOP_WORDS & kept for word in found):
        return f"phraseto_tsquery('simple', {_value(values, ' '.join(word.folded for word in found))})"
    forms = [" ".join(word.folded for word in found)]
    if not term.quoted:
        forms += [form for word in found for form in word.also]
    queries = " || ".join(f"phraseto_tsquery('english', {_value(values, form)})" for form in forms)
    return f"({queries})"


def _value(values: dict[str, str], text: str) -> str:
    name = f"term{len(values)}"
    values[name] = text
    return f"%({name})s"
