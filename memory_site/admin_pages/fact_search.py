"""Finding facts by what somebody types: an id, or words that all stand in the statement.

Words of few facts are looked up by the keys of their lexemes in the scopes of the person (``facts.text_views``); a word
of many is found soonest by going through the facts, the newest first, until a page is full.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.search import SearchQuery
from django.db import connection
from django.db.models import OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import RawSQL
from django.db.models.lookups import IsNull

from facts import textindex
from facts.models import Fact, FactText, IndexedUnit
from facts.statements import id_array
from facts.text_views import VIEWS
from governance.models import PromotionStatus
from memory_site.admin_pages.sight import Sight
from retrieval.text import keyed

#: Facts with all of the words, of which more are not looked up by their keys.
FEW = 10_000

_NAMED = re.compile(r"%\((\w+)\)s")
_LEXEMES = "SELECT tsvector_to_array(to_tsvector('english', %s))"
#: What the person may know of beside the facts of their scopes: those about themselves, and those asked up to them.
_ELSEWHERE = """
SELECT t.fact_id FROM facts_fact f JOIN facts_facttext t ON t.fact_id = f.id
WHERE f.account_id = %(account)s AND f.subject_id = %(subject)s AND t.tsv @@ plainto_tsquery('english', %(words)s)
UNION ALL
SELECT t.fact_id FROM governance_promotion p JOIN facts_facttext t ON t.fact_id = p.fact_id
WHERE p.account_id = %(account)s AND p.status = %(requested)s AND p.target_id = ANY(%(curated)s::uuid[])
  AND t.tsv @@ plainto_tsquery('english', %(words)s)
"""


def facts_called(listed: QuerySet[Fact], typed: str, *, eyes: Sight) -> QuerySet[Fact]:
    """Return those of the ``listed`` facts that are meant; words are looked for only where they may be read."""
    try:
        return listed.filter(pk=uuid.UUID(typed))
    except ValueError:
        return _saying(listed.filter(readable=True), textindex.phrase(typed), eyes)


def _saying(listed: QuerySet[Fact], words: str, eyes: Sight) -> QuerySet[Fact]:
    with connection.cursor() as cursor:
        cursor.execute(_LEXEMES, [words])
        lexemes: list[str] = cursor.fetchone()[0]
        if not lexemes:
            return listed.none()
        sql, values = _found(words, lexemes, eyes)
        if len(lexemes) * len(eyes.scope_ids) <= keyed.MOST_KEYS:
            cursor.execute(f"SELECT count(*) FROM ({sql} LIMIT {FEW + 1}) x", values)
            if cursor.fetchone()[0] <= FEW:
                return listed.filter(pk__in=_raw(sql, values))
    held = FactText.objects.filter(
        account_id=eyes.principal.account_id,
        fact_id=OuterRef("pk"),
        tsv=SearchQuery(words, config="english", search_type="plain"),
    )
    # Asked of each fact by itself: the planner takes any word for a rare one.
    return listed.filter(IsNull(Subquery(held.values(one=Value(1))[:1]), False))


def _found(words: str, lexemes: Sequence[str], eyes: Sight) -> tuple[str, dict[str, Any]]:
    """Return the statement that finds the ids of facts by the keys of all lexemes, and its values."""
    held = " AND ".join(f"v.keys && {keyed.keys(f'ARRAY[%(lexeme_{n})s]::text[]')}" for n in range(len(lexemes)))
    halves = [
        f"SELECT v.fact_id FROM {VIEWS[IndexedUnit.FACT]} v"
        f" WHERE {half} AND {held} AND v.tsv @@ plainto_tsquery('english', %(words)s)"
        # Each has an inverted index of its own.
        for half in ("v.active", "NOT v.active")
    ]
    values = {
        **{f"lexeme_{number}": lexeme for number, lexeme in enumerate(lexemes)},
        "scopes": id_array(eyes.scope_ids),
        "curated": id_array(eyes.curated_ids),
        "account": eyes.principal.account_id,
        "subject": eyes.principal.subject_id,
        "requested": PromotionStatus.REQUESTED.value,
        "words": words,
    }
    return " UNION ALL ".join([*halves, _ELSEWHERE]), values


def _raw(sql: str, values: dict[str, Any]) -> RawSQL:
    """Return a statement as a part of another one, where values have places and no names."""
    names = _NAMED.findall(sql)
    return RawSQL(_NAMED.sub("%s", sql), [values[name] for name in names])  # noqa: S611 - written above, values apart
