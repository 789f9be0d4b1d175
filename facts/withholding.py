"""What open conflict sets, forgetting and held directives keep from readers, mirrored where reads look for it.

``Fact.withheld``, ``Fact.possibly_conflicting`` and ``Passage.withheld`` are derived from memberships, statuses and
evidence. They are recomputed here, in the transaction that changed any of those, and written nowhere else.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.db import connection

from facts import index
from facts.models import Evidence

#: A promoted copy says what its origin says: what withholds the one withholds the other. Copies are not copied again.
#: Arrays, so that rows are found by their indexes whatever the planner believes.
_FACTS = """
UPDATE facts_fact f
SET withheld = x.withheld, possibly_conflicting = x.possible
FROM (
    SELECT g.id,
           CASE WHEN EXISTS (
               SELECT 1 FROM facts_conflictmember m JOIN facts_conflictset c ON c.id = m.conflict_set_id
               WHERE m.account_id = %(account)s AND m.left_at IS NULL AND m.withheld
                 AND m.fact_id = ANY(g.id || ARRAY(
                     SELECT r.target_id FROM facts_relation r
                     WHERE r.account_id = %(account)s AND r.source_id = g.id
                       AND r.kind IN ('promoted_from', 'derived_from')))
                 AND c.status = 'open' AND c.kind <> 'possible')
           THEN 'conflict_open' ELSE '' END AS withheld,
           EXISTS (
               SELECT 1 FROM facts_conflictmember m JOIN facts_conflictset c ON c.id = m.conflict_set_id
               WHERE m.account_id = %(account)s AND m.fact_id = g.id AND m.left_at IS NULL
                 AND c.status = 'open' AND c.kind = 'possible') AS possible
    FROM facts_fact g WHERE g.account_id = %(account)s AND g.id = ANY(%(ids)s::uuid[] || ARRAY(
        SELECT r.source_id FROM facts_relation r
        WHERE r.account_id = %(account)s AND r.target_id = ANY(%(ids)s::uuid[])
          AND r.kind IN ('promoted_from', 'derived_from')))
) x
WHERE f.id = x.id AND f.account_id = %(account)s
  AND (f.withheld, f.possibly_conflicting) IS DISTINCT FROM (x.withheld, x.possible)
RETURNING f.id
"""

#: Forgotten beats the others: it is the stronger reason and the one that lasts. A passage that gives orders is served
#: only once a person has let it be quoted: its fact is current then, or was.
#: The events are found first and named at every table: a join that is left to statistics which know of no rows yet
#: (tables that were just filled) goes through all of them for each of them.
_PASSAGES = """
WITH cited AS MATERIALIZED (
    SELECT array_agg(DISTINCT event_id) AS events FROM facts_evidence
    WHERE account_id = %(account)s AND fact_id = ANY(%(ids)s)
)
UPDATE facts_passage p
SET withheld = x.withheld, sensitivity = x.sensitivity
FROM (
    SELECT q.id,
           CASE WHEN bool_or(f.status IN ('disabled', 'redacted', 'deleted') OR ev.forgotten_at IS NOT NULL)
                THEN 'source_forgotten'
                WHEN bool_or(f.directive AND f.status NOT IN ('active', 'needs_revalidation', 'expired', 'retracted'))
                THEN 'directive_held'
                WHEN bool_or(f.withheld = 'conflict_open') THEN 'conflict_open'
                ELSE '' END AS withheld,
           CASE greatest(max(CASE f.sensitivity WHEN 'restricted' THEN 3 WHEN 'personal' THEN 2
                                  WHEN 'internal' THEN 1 ELSE 0 END),
                         max(CASE ev.sensitivity WHEN 'restricted' THEN 3 WHEN 'personal' THEN 2
                                  WHEN 'internal' THEN 1 ELSE 0 END))
                WHEN 3 THEN 'restricted' WHEN 2 THEN 'personal' WHEN 1 THEN 'internal' ELSE 'public'
           END AS sensitivity
    FROM facts_passage q
    JOIN facts_event ev ON ev.id = q.event_id
    JOIN facts_evidence e ON e.account_id = %(account)s AND e.event_id = q.event_id
                         AND (e.passage_id = q.id OR e.passage_id IS NULL)
    JOIN facts_fact f ON f.id = e.fact_id
    WHERE q.account_id = %(account)s
      AND q.event_id = ANY((SELECT events FROM cited)::uuid[])
      AND e.event_id = ANY((SELECT events FROM cited)::uuid[])
      AND ev.id = ANY((SELECT events FROM cited)::uuid[])
    GROUP BY q.id
) x
WHERE p.id = x.id AND p.account_id = %(account)s
  AND (p.withheld, p.sensitivity) IS DISTINCT FROM (x.withheld, x.sensitivity)
RETURNING p.id
"""

#: What no fact cites is withheld for the sake of its message alone.
_UNCITED = """
UPDATE facts_passage p
SET withheld = x.withheld
FROM (
    SELECT q.id, CASE WHEN ev.forgotten_at IS NULL THEN '' ELSE 'source_forgotten' END AS withheld
    FROM facts_passage q
    JOIN facts_event ev ON ev.id = q.event_id
    WHERE q.account_id = %(account)s AND q.event_id = ANY(%(ids)s)
      AND NOT EXISTS (SELECT FROM facts_evidence e WHERE e.account_id = %(account)s AND e.event_id = q.event_id
                      AND (e.passage_id = q.id OR e.passage_id IS NULL))
) x
WHERE p.id = x.id AND p.account_id = %(account)s AND p.withheld <> x.withheld
RETURNING p.id
"""


def refresh(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID]) -> None:
    """Recompute what withholds these facts and the passages they cite, and bring their index rows in line."""
    ids = list(fact_ids)
    if not ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(_FACTS, {"account": account_id, "ids": ids})
        ids = list({*ids, *(row[0] for row in cursor.fetchall())})
        cursor.execute(_PASSAGES, {"account": account_id, "ids": ids})
        passage_ids = [row[0] for row in cursor.fetchall()]
    index.sync_facts(account_id, ids)
    index.sync_passages(account_id, passage_ids)


def refresh_events(account_id: uuid.UUID, event_ids: Iterable[uuid.UUID]) -> None:
    """Recompute what withholds the passages of these events, cited or not, and bring their index rows in line."""
    ids = list(event_ids)
    if not ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(_UNCITED, {"account": account_id, "ids": ids})
        index.sync_passages(account_id, [row[0] for row in cursor.fetchall()])
    citing = Evidence.objects.filter(account_id=account_id, event_id__in=ids)
    refresh(account_id, citing.values_list("fact_id", flat=True).distinct())
