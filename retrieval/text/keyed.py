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
from retrieval.text.common_lexemes import TABLES
from retrieval.visibility import Visibility

#: Keys of one search, at most. Beyond, looking each of them up costs what reading the rows does.
MOST_KEYS = 4_000

#: ``OFFSET 0`` keeps the conditions of the question out, and with them every other index: the planner takes any array
#: of keys to match a hundredth of the table, and would rather read the whole of a small scope.
_ROWS = "(SELECT * FROM {view} v WHERE v.active AND v.keys && {keys} OFFSET 0)"


def applies(lexemes: Sequence[str], visible: Visibility) -> bool:
    """Tell whether the rows with ``lexemes`` can be found by keys: no beginnings of words, and not too many."""
    few = len(lexemes) * len(visible.scope_ids) <= MOST_KEYS
    return few and bool(lexemes) and not any(map(lexical.is_beginning, lexemes))


def keys(lexemes: str) -> str:
    """Return the SQL expression of the keys that ``lexemes``, an expression as well, have in the scopes read."""
    return (
        f"(SELECT array_agg(key) FROM unnest(%(scopes)s::uuid[]) scope, unnest(facts_text_keys(scope, {lexemes})) key)"
    )


def rows(unit: IndexedUnit, *, lexemes: str = "%(sought)s::text[]") -> str:
    """Return the rows, to be put behind ``FROM``, with the columns of the unit's text table; see :func:`parameters`.

    ``lexemes`` is the SQL expression of those of which any will do. The rows are bounded by account and scope. Whether
    the reader may see them is for the query around to say.
    """
    return _ROWS.format(view=VIEWS[unit], keys=keys(lexemes))


def holding(unit: IndexedUnit, *, columns: str, condition: str, by_keys: bool) -> str:
    """Return the query of all rows ``t`` that match and meet ``condition``; ``columns`` is how it begins.

    ``by_keys`` looks them up as :func:`rows` does. Otherwise each row is looked at for the ``tsquery`` ``match``; those
    whose text did not fit into the covering index are looked at beside it.
    """
    if by_keys:
        return f"{columns} FROM {rows(unit)} t WHERE {condition}"
    return " UNION ALL ".join(
        f"{columns} FROM {TABLES[unit]} t WHERE {condition} AND {fits} AND t.tsv @@ %(match)s::tsquery"
        for fits in ("t.fits", "NOT t.fits")
    )


def parameters(lexemes: Sequence[str]) -> dict[str, Any]:
    """Return what :func:`rows` refers to beside the parameters of the visibility."""
    return {"sought": list(lexemes)}
