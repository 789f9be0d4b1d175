"""The sides of a conflict set, as its page compares them."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from facts.models import ConflictMember, ConflictSet, Evidence, Fact
from facts.vocabulary import ConflictStatus
from memory_site.admin_pages import threads
from memory_site.admin_pages.fact_display import claim_rows
from memory_site.admin_pages.sight import Sight
from memory_site.admin_pages.texts import Part, differences

#: Pieces of evidence that are counted, over all sides.
_COUNTED = 200


@dataclass(frozen=True, slots=True)
class Side:
    """One member as the page shows it. ``statement`` is in parts, those that differ marked."""

    number: int
    fact: Fact
    withheld: bool
    joined_since: bool
    consequence: str
    statement: list[Part]
    rows: list[Any]
    excerpts: list[threads.Excerpt]
    more_evidence: int
    typed: Mapping[str, str]


def sides_of(eyes: Sight, conflict: ConflictSet, *, typed: QueryDict, joined: Collection[object]) -> list[Side]:
    """Return the members to compare: the current ones or, of a closed set, those it was decided about."""
    memberships = ConflictMember.objects.filter(account_id=conflict.account_id, conflict_set=conflict)
    if conflict.status == ConflictStatus.OPEN:
        memberships = memberships.filter(left_at__isnull=True)
    members = list(memberships)
    facts = eyes.facts().select_related("scope", "subject").in_bulk([member.fact_id for member in members])
    evidence = Evidence.objects.filter(account_id=conflict.account_id, fact_id__in=facts)
    evidence = evidence.select_related("event", "event__speaker", "event__subject", "event__scope")
    rows = [row for row in evidence.order_by("-event__occurred_at")[:_COUNTED] if facts[row.fact_id].readable]
    counts: dict[uuid.UUID, int] = {}
    shown = []
    for row in rows:
        counts[row.fact_id] = counts.get(row.fact_id, 0) + 1
        if counts[row.fact_id] <= threads.SHOWN_EVIDENCE:
            shown.append(row)
    quoted = threads.excerpts(eyes, shown)
    # The older belief first: what was known, then what came.
    members = sorted((member for member in members if member.fact_id in facts), key=lambda member: member.fact_id)
    in_order = [facts[member.fact_id] for member in members]
    statements = differences([fact.statement if fact.readable else "" for fact in in_order])
    claims = claim_rows(in_order)
    return [
        Side(
            number=number,
            fact=fact,
            withheld=member.withheld,
            joined_since=str(fact.pk) in joined,
            consequence=_consequence(fact, in_order),
            statement=statement,
            rows=rows_of,
            excerpts=quoted.get(fact.pk, []),
            more_evidence=max(counts.get(fact.pk, 0) - threads.SHOWN_EVIDENCE, 0),
            typed={name: typed.get(f"{name}:{fact.pk}", "") for name in ("condition", "value", "from", "to")},
        )
        for number, (member, fact, statement, rows_of) in enumerate(
            zip(members, in_order, statements, claims, strict=True), start=1
        )
    ]


def alike(sides: Sequence[Side]) -> list[Any]:
    """Return the lines that say the same on all sides; none where there is a side that the person may not read."""
    if not sides or not all(side.fact.readable for side in sides):
        return []
    return [row for row in sides[0].rows if not row.differs]


def _consequence(kept: Fact, sides: list[Fact]) -> str:
    """Return what becomes of the other sides when this one is kept as the latest (``facts.resolution.keep_one``)."""
    others = [fact for fact in sides if fact.pk != kept.pk]
    start = kept.valid_from
    if start is None:
        return "The others held until now." if len(others) > 1 else "The other held until now."
    later = [fact for fact in others if fact.valid_from is not None and fact.valid_from >= start]
    if not later:
        return f"{'The others' if len(others) > 1 else 'The other'} held until this began."
    if len(later) == len(others):
        return f"{'The others' if len(others) > 1 else 'The other'} never took effect."
    return "Those before it held until this began; those after it never took effect."
