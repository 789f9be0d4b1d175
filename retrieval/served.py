"""To whom somebody was told about: the reads that served facts on a person, or passages of theirs.

Found from traces, newest first, without a look at all of them. Reads about the person come from their own index. Any
other read may have served something of the person as well; of those, a page looks through a bounded number, and says
how far it came. What was asked is not told: the question is somebody else's.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from facts.models import Fact, IndexedUnit, Passage, Subject
from facts.statements import rows
from governance.access import Principal, all_readable_scopes
from retrieval.traces.reasons import MEANING, Action

#: Reads about nobody in particular, or about others, that one page looks through.
OTHERS_LOOKED_THROUGH = 400
#: Reads about the person on one page at most.
PAGE = 100

_SERVED = [reason.value for reason, (action, _) in MEANING.items() if action is Action.INCLUDED]

#: Two walks down indexes, (account, subject, id) and (account, id), each bounded; then the served ids are taken out of
#: the packed decisions of these reads alone. `floor`: below the later end of a walk that was cut off nothing is known.
_READS = """
WITH about AS MATERIALIZED (
    SELECT id FROM retrieval_trace
    WHERE account_id = %(account)s AND subject_id = %(subject)s AND id < %(before)s
    ORDER BY id DESC LIMIT %(page)s
), others AS MATERIALIZED (
    SELECT id, subject_id, facts_served, passages_served FROM retrieval_trace
    WHERE account_id = %(account)s AND id < %(before)s
    ORDER BY id DESC LIMIT %(others)s
), ends AS (
    SELECT greatest(
        (SELECT CASE WHEN count(*) = %(page)s THEN min(id::text)::uuid END FROM about),
        (SELECT CASE WHEN count(*) = %(others)s THEN min(id::text)::uuid END FROM others)) AS floor
), looked AS (
    SELECT id FROM about
    UNION SELECT id FROM others
    WHERE subject_id IS DISTINCT FROM %(subject)s AND facts_served + passages_served > 0
)
SELECT t.id, t.kind, t.created_at, t.scope_path, t.purpose, t.credential_name, t.reader_id, ends.floor,
       ARRAY(SELECT (d ->> 1)::uuid FROM jsonb_array_elements(t.decisions) d
             WHERE d ->> 0 = %(fact)s AND d ->> 2 = ANY(%(served)s)) AS facts,
       ARRAY(SELECT (d ->> 1)::uuid FROM jsonb_array_elements(t.decisions) d
             WHERE d ->> 0 = %(passage)s AND d ->> 2 = ANY(%(served)s)) AS passages
FROM ends LEFT JOIN (looked JOIN retrieval_trace t ON t.id = looked.id AND t.account_id = %(account)s)
    ON ends.floor IS NULL OR looked.id >= ends.floor
ORDER BY t.id DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRead:
    """One read that told something of the person.

    ``by``: the application or person that asked; ``reader``: the name of whom it was read for, empty for nobody in
    particular; ``scope``: empty where the person may not know it. ``facts`` and ``passages``: what of theirs was told.
    """

    trace_id: uuid.UUID
    kind: str
    at: datetime
    by: str
    reader: str
    is_reader: bool
    scope: str
    purpose: str
    facts: tuple[uuid.UUID, ...]
    passages: tuple[uuid.UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPage:
    """Reads, newest first, and where to look on: ``before`` is ``None`` once everything was looked through."""

    reads: tuple[ServedRead, ...]
    before: uuid.UUID | None


def reads_of(principal: Principal, *, before: uuid.UUID | None = None, fact_id: uuid.UUID | None = None) -> ServedPage:
    """Return one page of the reads that told something of the person, or the one fact of theirs that is named.

    Runs in the person's account. Four queries; looks through at most :data:`PAGE` reads about the person and
    :data:`OTHERS_LOOKED_THROUGH` of all reads.
    """
    found = rows(
        _READS,
        {
            "account": principal.account_id,
            "subject": principal.subject_id,
            "before": before or uuid.UUID(int=2**128 - 1),
            "page": PAGE,
            "others": OTHERS_LOOKED_THROUGH,
            "fact": IndexedUnit.FACT.value,
            "passage": IndexedUnit.PASSAGE.value,
            "served": _SERVED,
        },
    )
    floor = found[0][7] if found else None
    looked = [row for row in found if row[0] is not None]
    facts, passages = _own(principal, looked, fact_id=fact_id)
    paths = {scope.path for scope in all_readable_scopes(principal)}
    names = _names(principal, {row[6] for row in looked if row[6] is not None})
    reads = []
    for trace_id, kind, at, scope, purpose, by, reader_id, _, told_facts, told_passages in looked:
        own_facts = tuple(dict.fromkeys(one for one in told_facts if one in facts))
        own_passages = tuple(dict.fromkeys(one for one in told_passages if one in passages))
        if own_facts or own_passages:
            reads.append(
                ServedRead(
                    trace_id=trace_id,
                    kind=kind,
                    at=at,
                    by=by,
                    reader=names.get(reader_id, ""),
                    is_reader=reader_id == principal.subject_id,
                    scope=scope if scope in paths else "",
                    purpose=purpose,
                    facts=own_facts,
                    passages=own_passages,
                )
            )
    return ServedPage(reads=tuple(reads), before=floor)


def _own(
    principal: Principal, looked: Iterable[tuple], *, fact_id: uuid.UUID | None
) -> tuple[set[uuid.UUID], set[uuid.UUID]]:
    """Return which of the facts and passages that were served are of the person."""
    facts = {one for row in looked for one in row[8]}
    passages = {one for row in looked for one in row[9]}
    own = {"account_id": principal.account_id, "subject_id": principal.subject_id}
    if fact_id is not None:
        facts, passages = facts & {fact_id}, set()
    return (
        set(Fact.objects.filter(pk__in=facts, **own).values_list("pk", flat=True)),
        set(Passage.objects.filter(pk__in=passages, **own).values_list("pk", flat=True)),
    )


def _names(principal: Principal, ids: set[uuid.UUID]) -> dict[uuid.UUID, str]:
    found = Subject.objects.filter(account_id=principal.account_id, pk__in=ids)
    return {subject.pk: subject.display_name for subject in found}
