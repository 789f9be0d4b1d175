"""Which cards a change of facts concerns: they fall due, and lines that rest on what was withdrawn leave at once."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

import orjson
from django.db import connection
from django.db.models import Q

from facts.clock import now
from facts.ids import new_id
from facts.locks import Lock, lock_account
from facts.models import ConflictMember, OutboxEntry
from facts.vocabulary import Sensitivity, Status, SubjectKind
from governance.access import PEER_KINDS
from retrieval.models import Card, CardKind

#: Changed facts that a card remembers one by one; more of them ask for a whole build.
PENDING = 50
_SERVED = {Status.ACTIVE, Status.PROVISIONAL}
#: Whom or what a profile for every reader of a scope is written about. Pages and searches are their own summaries.
PROFILED = [*sorted(PEER_KINDS), SubjectKind.CLIENT, SubjectKind.CHANNEL, SubjectKind.TOPIC]
#: What leaves every copy at once, not only at the next build.
WITHDRAWN = {Status.DISABLED, Status.REDACTED, Status.RETRACTED, Status.DELETED}
#: What never comes back: neither does what people wrote about it.
LOST = WITHDRAWN - {Status.DISABLED}

#: Everywhere a fact is or was: its scope and its subject may have been changed.
_PLACES = """
WITH places AS (
    SELECT DISTINCT r.fact_id, r.scope_id, r.subject_id, s.kind
    FROM facts_factrevision r JOIN facts_subject s ON s.id = r.subject_id
    WHERE r.account_id = %(account)s AND r.fact_id = ANY(%(facts)s)
), threads AS (
    SELECT DISTINCT p.fact_id, p.scope_id, p.subject_id, p.kind, v.thread
    FROM places p
    JOIN facts_evidence e ON e.account_id = %(account)s AND e.fact_id = p.fact_id
    JOIN facts_event v ON v.id = e.event_id AND v.thread <> ''
)
SELECT scope_id, NULL::uuid, 'scope_card', '', array_agg(DISTINCT fact_id) FROM places GROUP BY 1
UNION ALL
SELECT scope_id, subject_id, 'subject_profile', '', array_agg(DISTINCT fact_id) FROM places
WHERE kind = ANY(%(peers)s) GROUP BY 1, 2
UNION ALL
SELECT scope_id, NULL::uuid, 'shared_profile', subject_id::text, array_agg(DISTINCT fact_id) FROM places
WHERE kind = ANY(%(profiled)s) GROUP BY 1, subject_id
UNION ALL
SELECT scope_id, NULL::uuid, 'session_summary', thread, array_agg(DISTINCT fact_id) FROM threads GROUP BY 1, 4
UNION ALL
SELECT scope_id, subject_id, 'session_summary', thread, array_agg(DISTINCT fact_id) FROM threads
WHERE kind = ANY(%(peers)s) GROUP BY 1, 2, 4
"""
_MARK = """
INSERT INTO retrieval_card AS c (id, account_id, scope_id, subject_id, kind, key, title, lines, sources, sensitivity,
                                 builder, version, delta_count, pending, due_at, built_at, created_at)
SELECT x.id, %(account)s, x.scope_id, x.subject_id, x.kind, x.key, '', '[]', 0, %(public)s, '', 0, 0, NULL, %(now)s,
       %(now)s, %(now)s
FROM unnest(%(ids)s::uuid[], %(scopes)s::uuid[], %(subjects)s::uuid[], %(kinds)s::text[], %(keys)s::text[])
     AS x(id, scope_id, subject_id, kind, key)
ON CONFLICT (account_id, scope_id, subject_id, kind, key) DO NOTHING
"""
_NOTE = """
UPDATE retrieval_card c
SET due_at = least(c.due_at, %(now)s), compact_due = true,
    pending = CASE WHEN jsonb_array_length(c.pending || x.changed) <= %(most)s THEN c.pending || x.changed END
FROM unnest(%(scopes)s::uuid[], %(subjects)s::uuid[], %(kinds)s::text[], %(keys)s::text[], %(changed)s::jsonb[])
     AS x(scope_id, subject_id, kind, key, changed)
WHERE c.account_id = %(account)s AND c.scope_id = x.scope_id AND c.kind = x.kind AND c.key = x.key
  AND (c.subject_id IS NOT DISTINCT FROM x.subject_id OR (c.kind = 'session_summary' AND x.subject_id IS NULL))
"""
#: Lines are looked for only where the fact is or was; that is found by an index.
_FORGET = """
WITH affected AS (
    SELECT c.id, c.kind, c.scope_id,
           (SELECT coalesce(jsonb_agg(l ORDER BY n), '[]') FROM jsonb_array_elements(c.lines) WITH ORDINALITY x(l, n)
            WHERE NOT l->'facts' ?| %(texts)s::text[]) AS lines
    FROM retrieval_card c
    WHERE c.account_id = %(account)s
      AND c.scope_id IN (SELECT r.scope_id FROM facts_factrevision r
                         WHERE r.account_id = %(account)s AND r.fact_id = ANY(%(facts)s))
      AND EXISTS (SELECT FROM jsonb_array_elements(c.lines) l WHERE l->'facts' ?| %(texts)s::text[])
), unkept AS (
    DELETE FROM retrieval_cardversion v USING affected a WHERE v.card_id = a.id AND a.kind = 'entity_card'
), undecided AS (
    DELETE FROM retrieval_cardedit e USING affected a WHERE e.card_id = a.id AND a.kind = 'entity_card'
), unread AS (
    DELETE FROM retrieval_cardvector v USING affected a WHERE v.card_id = a.id
), gone AS (
    DELETE FROM retrieval_card c USING affected a WHERE c.id = a.id AND a.kind = 'entity_card'
), cleared AS (
    UPDATE retrieval_card c
    SET lines = a.lines, due_at = %(now)s, pending = NULL, version = c.version + 1
    FROM affected a WHERE c.id = a.id AND a.kind <> 'entity_card'
)
SELECT count(*), array_agg(DISTINCT scope_id) FROM affected
"""
#: The same in what cards said before, wherever the facts are or were.
_FORGET_VERSIONS = """
UPDATE retrieval_cardversion v
SET lines = (SELECT coalesce(jsonb_agg(l ORDER BY n), '[]') FROM jsonb_array_elements(v.lines) WITH ORDINALITY x(l, n)
             WHERE NOT l->'facts' ?| %(texts)s::text[])
FROM retrieval_card c
WHERE v.account_id = %(account)s AND c.id = v.card_id
  AND c.scope_id IN (SELECT r.scope_id FROM facts_factrevision r
                     WHERE r.account_id = %(account)s AND r.fact_id = ANY(%(facts)s))
  AND EXISTS (SELECT FROM jsonb_array_elements(v.lines) l WHERE l->'facts' ?| %(texts)s::text[])
"""
_FORGET_EDITS = """
DELETE FROM retrieval_cardedit e WHERE e.account_id = %(account)s AND e.original->'facts' ?| %(texts)s::text[]
"""


def note_changes(account_id: uuid.UUID, entries: Sequence[OutboxEntry]) -> None:
    """Have every card built again that these changes concern; a handler of the outbox."""
    changed: set[uuid.UUID] = set()
    withdrawn: set[uuid.UUID] = set()
    lost: set[uuid.UUID] = set()
    conflicts: set[uuid.UUID] = set()
    for entry in entries:
        if entry.topic == "fact.changed":
            if entry.payload["to"] in WITHDRAWN:
                withdrawn.add(entry.object_id)
            if entry.payload["to"] in LOST:
                lost.add(entry.object_id)
            if {entry.payload["from"], entry.payload["to"]} & _SERVED:
                changed.add(entry.object_id)
        elif entry.topic.startswith("conflict."):
            conflicts.add(entry.object_id)
    members = ConflictMember.objects.filter(account_id=account_id, conflict_set__in=conflicts)
    changed.update(members.values_list("fact_id", flat=True))
    forget_facts(account_id, withdrawn)
    forget_edits(account_id, lost)
    mark(account_id, changed)


def mark(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID]) -> int:
    """Have the cards built that may rest on these facts, also those that are not there yet; return how many.

    Waits for a build of the account that goes on: what that did not see, the next one will.
    """
    facts = list(fact_ids)
    if not facts:
        return 0
    lock_account(Lock.CARDS, account_id)
    with connection.cursor() as cursor:
        cursor.execute(
            _PLACES, {"account": account_id, "facts": facts, "peers": sorted(PEER_KINDS), "profiled": PROFILED}
        )
        places = cursor.fetchall()
        # One order for everybody; each column goes in as an array.
        places.sort(key=lambda place: tuple(str(part) for part in place[:4]))
        scopes, subjects, kinds, keys, changed = zip(*places, strict=True) if places else ((),) * 5
        parameters = {
            "account": account_id,
            "now": now(),
            "public": Sensitivity.PUBLIC,
            "most": PENDING,
            "ids": [new_id() for _ in places],
            "scopes": list(scopes),
            "subjects": list(subjects),
            "kinds": list(kinds),
            "keys": list(keys),
            "changed": [orjson.dumps([str(fact_id) for fact_id in ids]).decode() for ids in changed],
        }
        cursor.execute(_NOTE, parameters)
        cursor.execute(_MARK, parameters)
    return len(places)


def mark_scopes(account_id: uuid.UUID, scope_ids: Iterable[uuid.UUID]) -> int:
    """Have the cards of these scopes built again, with those about their names; return how many there are.

    For whoever has learned anew which names the facts of a scope share. Runs inside the account.
    """
    lock_account(Lock.CARDS, account_id)
    at = now()
    cards = Card.objects.filter(account_id=account_id, scope_id__in=list(scope_ids), kind=CardKind.SCOPE_CARD)
    return cards.filter(Q(due_at=None) | Q(due_at__gt=at)).update(due_at=at)


def forget_facts(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID]) -> int:
    """Take every line that rests on one of these facts out of the cards, also out of what they said before.

    Returns how many cards had such lines.

    Runs inside the account. A card about a name goes as a whole: it may be called by a word that nothing else says.
    """
    facts = list(fact_ids)
    if not facts:
        return 0
    lock_account(Lock.CARDS, account_id)
    with connection.cursor() as cursor:
        named = {"account": account_id, "facts": facts, "texts": [str(fact_id) for fact_id in facts]}
        cursor.execute(_FORGET_VERSIONS, named)
        cursor.execute(_FORGET, {**named, "now": now()})
        count, scopes = cursor.fetchone()
    if scopes:
        mark_scopes(account_id, scopes)
    return count


def forget_edits(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID]) -> None:
    """Delete what people decided about lines that rest on one of these facts. Runs inside the account."""
    facts = [str(fact_id) for fact_id in fact_ids]
    if facts:
        with connection.cursor() as cursor:
            cursor.execute(_FORGET_EDITS, {"account": account_id, "texts": facts})
