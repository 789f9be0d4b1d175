"""The entities of a scope as a card may show them: by a wording of its own sources, never by an alias or an id."""

from __future__ import annotations

import uuid
from typing import NamedTuple

from django.db import connection

from retrieval.visibility import Visibility


class Labelled(NamedTuple):
    """An entity by the wording of facts that name it, with those facts, in the order of their ids."""

    label: str
    fact_ids: tuple[uuid.UUID, ...]


def most_mentioned(visible: Visibility, *, limit: int = 8) -> list[Labelled]:
    """Return the entities that most facts of ``visible`` name in their text, the most named first.

    ``visible`` is what everybody who reads the scope may see. The label is the wording of most of these facts, then
    the shortest, then the first by the alphabet. What an open conflict withholds counts for nothing.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH named AS (SELECT a.entity_id, m.fact_id, m.surface"
            " FROM retrieval_mention m JOIN retrieval_entityalias a ON a.account_id = %(account)s AND a.id = m.alias_id"
            " JOIN facts_facttext t ON t.fact_id = m.fact_id JOIN facts_fact f ON f.id = m.fact_id"
            " WHERE m.account_id = %(account)s AND m.scope_id = ANY(%(scopes)s) AND m.surface <> ''"
            f" AND f.withheld = '' AND f.status = 'active' AND {visible.current('t')}),"
            " worded AS (SELECT DISTINCT ON (entity_id) entity_id, surface FROM ("
            "   SELECT entity_id, surface, count(DISTINCT fact_id) AS times FROM named GROUP BY entity_id, surface) s"
            '   ORDER BY entity_id, times DESC, length(surface), surface COLLATE "C")'
            " SELECT w.surface, array_agg(DISTINCT n.fact_id ORDER BY n.fact_id)"
            " FROM named n JOIN worded w USING (entity_id) GROUP BY n.entity_id, w.surface"
            ' ORDER BY count(DISTINCT n.fact_id) DESC, length(w.surface), w.surface COLLATE "C" LIMIT %(limit)s',
            {**visible.parameters(), "limit": limit},
        )
        return [Labelled(label, tuple(fact_ids)) for label, fact_ids in cursor.fetchall()]
