"""Which reads were given a fact: what a decision about it would have changed, as far as recent traces tell."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import QuerySet

from facts.models import IndexedUnit
from retrieval.models import Trace, TraceKind
from retrieval.traces.reasons import MEANING, Action

#: Latest reads that are looked into. Unpacking the decisions of one takes about 0.1 ms.
LOOKED_INTO = 250
#: Reads that answered somebody; replays and previews did not.
_ANSWERED = (TraceKind.CONTEXT, TraceKind.SEARCH, TraceKind.ASK, TraceKind.PROFILE)
_INCLUDED = [reason.value for reason, (action, _) in MEANING.items() if action is Action.INCLUDED]


@dataclass(frozen=True, slots=True)
class Use:
    """How many reads were given a fact, when the latest was, and the trace that it left."""

    reads: int
    latest: datetime
    trace_id: uuid.UUID


def used_in(
    traces: QuerySet[Trace], *, account_id: uuid.UUID, subject_id: uuid.UUID, fact_ids: Sequence[uuid.UUID]
) -> dict[uuid.UUID, Use]:
    """Return for each fact that was served how often, among the latest :data:`LOOKED_INTO` reads about the subject.

    ``traces`` are those that the asker may inspect. Two queries: the ids, down the index of subjects, and what those
    reads were given.
    """
    recent = traces.filter(subject_id=subject_id, kind__in=_ANSWERED, facts_served__gt=0).order_by("-id")
    ids = list(recent.values_list("pk", flat=True)[:LOOKED_INTO])
    if not ids or not fact_ids:
        return {}
    with connection.cursor() as cursor:
        # A packed decision begins with its unit, id and reason (retrieval.traces.writing). The first id bounds the
        # partitions that are looked at.
        cursor.execute(
            f"""
            SELECT decision->>1, count(*), max(trace.created_at), (max(trace.id::text))
            FROM {Trace._meta.db_table} AS trace, jsonb_array_elements(trace.decisions) AS decision
            WHERE trace.account_id = %(account)s AND trace.id >= %(oldest)s AND trace.id = ANY(%(ids)s)
              AND decision->>0 = %(unit)s AND decision->>1 = ANY(%(facts)s) AND decision->>2 = ANY(%(included)s)
            GROUP BY 1
            """,
            {
                "account": account_id,
                "oldest": min(ids),
                "ids": ids,
                "unit": IndexedUnit.FACT.value,
                "facts": [str(pk) for pk in fact_ids],
                "included": _INCLUDED,
            },
        )
        return {uuid.UUID(fact): Use(reads, latest, uuid.UUID(trace)) for fact, reads, latest, trace in cursor}
