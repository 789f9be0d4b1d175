"""The current text rows that hold any of some lexemes, found by the inverted index of their keys.

A key stands for one lexeme in one scope (``facts_text_keys``), so a search costs as much as the rows that it finds,
however many there are of the scope and of others: .8 ms of the database's processor where reading 10,000 rows took 4.2
(both measured in the same minute, 40 questions).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facts.models import IndexedUnit
from facts.text_views import VIEWS
from retrieval.text import lexical
from retrieval.visibility import Visibility

#: Keys of one search, at most. Beyond, looking each of them up costs what reading the rows does.
MOST_KEYS = 4_000

#: ``OFFSET 0`` keeps the conditions of the question out, and with them every other index: the planner takes any array
#: of keys to match a hundredth of the table, and would rather read the whole of a small scope.
_ROWS = (
    "(SELECT * FROM {view} v WHERE v.active AND v.keys && (SELECT array_agg(key) FROM unnest(%(scopes)s::uuid[]) scope,"
    " unnest(facts_text_keys(scope, {lexemes})) key) OFFSET 0)"
)


def applies(lexemes: Sequence[str], visible: Visibility) -> bool:
    """Tell whether the rows with ``lexemes`` can be found by keys: no beginnings of words, and not too many."""
    few = len(lexemes) * len(visible.scope_ids) <= MOST_KEYS
    return few and bool(lexemes) and not any(map(lexical.is_beginning, lexemes))


def rows(unit: IndexedUnit, *, lexemes: str = "%(sought)s::text[]") -> str:
    """Return the rows, to be put behind ``FROM``, with the columns of the unit's text table; see :func:`parameters`.

    ``lexemes`` is the SQL expression of those of which any will do. The rows are bounded by account and scope. Whether
    the reader may see them is for the query around to say.
    """
    return _ROWS.format(view=VIEWS[unit], lexemes=lexemes)


def parameters(lexemes: Sequence[str]) -> dict[str, Any]:
    """Return what :func:`rows` refers to beside the parameters of the visibility."""
    return {"sought": list(lexemes)}
