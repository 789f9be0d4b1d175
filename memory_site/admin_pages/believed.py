"""What was believed about somebody at an earlier time, who had decided it, and to whom it was served until then.

Read under the permissions of today: what is forgotten or hidden from the person now is not shown, whatever held then.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from facts.ids import lower_bound
from facts.models import ConflictMember, Fact, FactRevision, IndexedUnit, Subject
from facts.vocabulary import Status
from governance.models import GateDecision
from memory_site.admin_pages.sight import Sight
from retrieval.models import Trace, TraceKind
from retrieval.traces import writing
from retrieval.traces.reasons import Action

#: Facts shown at most, those that changed last in front; and reads before that time that are looked through.
SHOWN_FACTS, READS = 200, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A fact as it stood then. ``decisions``: what the gates had said last. ``served``: the reads that had served it,
    newest first, among those that were looked through."""

    fact: Fact
    then: FactRevision
    in_conflict: bool
    decisions: Sequence[GateDecision]
    served: Sequence[Trace]

    @property
    def is_current(self) -> bool:
        """Whether readers could be served it then."""
        return self.then.status == Status.ACTIVE and not self.in_conflict


def beliefs(eyes: Sight, subject: Subject, at: datetime) -> list[Belief]:
    """Return what was recorded about a subject at ``at``, as far as the person may see the facts today.

    Current facts come first, then those that changed last. Six queries.
    """
    owned = {"account_id": eyes.principal.account_id}
    then = FactRevision.objects.filter(
        Q(recorded_to__isnull=True) | Q(recorded_to__gt=at),
        recorded_from__lte=at,
        subject=subject,
        fact__in=eyes.facts().filter(subject=subject, readable=True).values("pk"),
        **owned,
    ).select_related("scope")
    revisions = list(then.order_by("-recorded_from", "-pk")[:SHOWN_FACTS])
    facts = eyes.facts().filter(readable=True).select_related("scope").in_bulk([row.fact_id for row in revisions])
    decided = _decisions(owned, facts, at)
    disputed = _in_conflict(owned, facts, at)
    served = _served(eyes, subject, set(facts), at)
    found = [
        Belief(
            fact=facts[row.fact_id],
            then=row,
            in_conflict=row.fact_id in disputed,
            decisions=decided[row.fact_id],
            served=served[row.fact_id],
        )
        for row in revisions
        if row.fact_id in facts
    ]
    return sorted(found, key=lambda belief: not belief.is_current)


def _decisions(owned: dict, facts: dict[uuid.UUID, Fact], at: datetime) -> dict[uuid.UUID, list[GateDecision]]:
    """Return the latest answer of each gate about each fact by then."""
    answers = GateDecision.objects.filter(fact__in=list(facts), decided_at__lte=at, **owned)
    latest: dict[uuid.UUID, list[GateDecision]] = defaultdict(list)
    for answer in answers.order_by("fact_id", "gate", "-decided_at", "-pk").distinct("fact_id", "gate"):
        latest[answer.fact_id].append(answer)
    return latest


def _in_conflict(owned: dict, facts: dict[uuid.UUID, Fact], at: datetime) -> set[uuid.UUID]:
    """Return the facts that an open conflict set withheld then."""
    members = ConflictMember.objects.filter(
        Q(left_at__isnull=True) | Q(left_at__gt=at),
        Q(conflict_set__closed_at__isnull=True) | Q(conflict_set__closed_at__gt=at),
        fact__in=list(facts),
        withheld=True,
        joined_at__lte=at,
        conflict_set__opened_at__lte=at,
        **owned,
    )
    return set(members.values_list("fact_id", flat=True))


def _served(eyes: Sight, subject: Subject, facts: set[uuid.UUID], at: datetime) -> dict[uuid.UUID, list[Trace]]:
    """Return the reads that served each fact, newest first: the last ones before then that the person may inspect.

    Those about the subject, and those about nobody in particular.
    """
    looks = [TraceKind.REPLAY, TraceKind.PREVIEW]
    before = eyes.traces().defer(None).filter(pk__lt=lower_bound(at)).exclude(kind__in=looks).order_by("-pk")
    reads = [*before.filter(subject=subject)[:READS], *before.filter(subject__isnull=True)[:READS]]
    served: dict[uuid.UUID, list[Trace]] = defaultdict(list)
    for read in sorted(reads, key=lambda read: read.pk, reverse=True):
        for decision in writing.unpack(read.decisions):
            one = decision["unit"] == IndexedUnit.FACT and decision["action"] == Action.INCLUDED
            if one and (fact_id := uuid.UUID(str(decision["id"]))) in facts:
                served[fact_id].append(read)
    return served
