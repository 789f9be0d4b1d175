"""What the planner needs to know about a subject, read with a bounded number of queries.

Only facts that can matter for a candidate are loaded (same predicate, or same statement), so that consolidation costs
the same in a small store and in a large one.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import connection
from django.db.models import Q

from facts import embedding, index, vector_tables
from facts.canonical import stated_identity_key
from facts.claims import claim_of
from facts.consolidation import Claim, Known, OpenSet
from facts.embedding import Embedded
from facts.models import ConflictMember, Evidence, Fact, IndexedUnit, Separation
from facts.vocabulary import ConflictStatus, Form

#: Near matches looked at per candidate.
NEAR_LIMIT = 5


def believed(
    *, account_id: uuid.UUID, scope_id: uuid.UUID, subject_id: uuid.UUID, claim: Claim
) -> tuple[list[Known], list[OpenSet]]:
    """Return the facts of a subject that a claim must be compared with, and the open sets they are members of.

    The caller holds the subject's lock.
    """
    wanted = Q(statement_hash=claim.statement_hash)
    if claim.predicate:
        # Occurrences accumulate without end; only those of the same value can matter.
        wanted |= Q(predicate=claim.predicate) & (Q(form=Form.STATE) | Q(value_key=claim.value_key))
    facts = list(Fact.objects.filter(wanted, account_id=account_id, scope_id=scope_id, subject_id=subject_id))
    return known_facts(account_id, facts), _open_sets(account_id, [fact.id for fact in facts])


def known_facts(account_id: uuid.UUID, facts: Sequence[Fact]) -> list[Known]:
    """Return stored facts in the planner's form, oldest first."""
    events: dict[uuid.UUID, dict[uuid.UUID, datetime]] = defaultdict(dict)
    rows = Evidence.objects.filter(account_id=account_id, fact_id__in=[fact.id for fact in facts])
    for fact_id, event_id, occurred_at in rows.values_list("fact_id", "event_id", "event__occurred_at"):
        events[fact_id][event_id] = occurred_at
    return [
        Known(
            id=fact.id,
            status=fact.status,
            claim=claim_of(fact),
            since=min(events[fact.id].values(), default=fact.valid_from or fact.recorded_from),
            said_at=max(events[fact.id].values(), default=fact.valid_from or fact.recorded_from),
            valid_from=fact.valid_from,
            valid_to=fact.valid_to,
            start_assumed=fact.start_assumed,
            came_by_marker=fact.came_by_marker,
            origin_trust=fact.origin_trust,
            evidence_level=fact.evidence_level,
            event_ids=frozenset(events[fact.id]),
            stated_identity=stated_identity_key(fact.predicate, fact.qualifiers),
        )
        for fact in sorted(facts, key=lambda fact: fact.id)
    ]


def _open_sets(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID]) -> list[OpenSet]:
    memberships = ConflictMember.objects.filter(
        account_id=account_id, left_at__isnull=True, conflict_set__status=ConflictStatus.OPEN
    )
    sets = memberships.filter(fact_id__in=list(fact_ids)).values("conflict_set_id")
    members: dict[uuid.UUID, list[ConflictMember]] = defaultdict(list)
    for member in memberships.filter(conflict_set_id__in=sets).select_related("conflict_set"):
        members[member.conflict_set_id].append(member)
    return [
        OpenSet(
            id=set_id,
            kind=found[0].conflict_set.kind,
            member_ids=frozenset(member.fact_id for member in found),
            withheld_ids=frozenset(member.fact_id for member in found if member.withheld),
            identity_key=found[0].conflict_set.identity_key,
        )
        for set_id, found in sorted(members.items())
    ]


def near_facts(*, account_id: uuid.UUID, scope_id: uuid.UUID, subject_id: uuid.UUID, vector: Embedded) -> list[Known]:
    """Return the subject's searchable facts that say nearly the same as ``vector``, nearest first.

    None where its embedder does not know how near that is (``Embedded.near``).
    """
    if vector.near is None:
        return []
    space = embedding.space(vector.identity)
    table = vector_tables.table(IndexedUnit.FACT, space.dimensions)
    with connection.cursor() as cursor:
        # "+ 0" keeps the planner on the covering b-tree: an exact scan of this subject's rows.
        cursor.execute(
            "SELECT fact_id FROM ("
            f" SELECT fact_id, (h <=> %s::halfvec) + 0 AS d FROM {table}"
            " WHERE account_id = %s AND scope_id = %s AND subject_id = %s AND active AND space_id = %s"
            " ORDER BY d LIMIT %s) nearest WHERE d <= %s ORDER BY d, fact_id",
            [
                index.literal(vector.numbers),
                account_id,
                scope_id,
                subject_id,
                space.id,
                NEAR_LIMIT,
                vector.near,
            ],
        )
        ids = [row[0] for row in cursor.fetchall()]
    facts = Fact.objects.in_bulk(ids)
    known = {item.id: item for item in known_facts(account_id, list(facts.values()))}
    return [known[fact_id] for fact_id in ids if fact_id in known]


def separations(account_id: uuid.UUID, fact_id: uuid.UUID | None) -> frozenset[uuid.UUID]:
    """Return the facts that a person said do not contradict this one."""
    if fact_id is None:
        return frozenset()
    rows = Separation.objects.filter(
        Q(first_id=fact_id) | Q(second_id=fact_id), account_id=account_id, lifted_at__isnull=True
    ).values_list("first_id", "second_id")
    return frozenset(other for pair in rows for other in pair if other != fact_id)
