"""Which conflict sets a caller may be shown, and how much of each.

A listing must not become a way around the audience rule: that a set exists, whom it is about and how many sides it has
already says something. So:

- Whoever may decide at a set's scope (a curator, or a key to which one delegated ``resolve``) is shown the set, with
  every side; restricted ones that were not granted only to a person and while the set is open, else their number.
- Everybody else is shown a set only if the audience rule lets them see *every* side of it. The words of a side are
  added where its status may be read, too: current and past facts, and whatever is about the reader.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from facts.audience import Posture, Reader, may_see, visible_to
from facts.models import ConflictMember, ConflictSet, Fact, Scope
from facts.vocabulary import ConflictStatus, Status, SubjectKind
from governance.access import Delegation, Principal, is_read_by_curators, may_act

#: Statuses whose words are shown to readers who are neither the subject nor curators.
_READABLE = frozenset({Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED})
#: What was forgotten or withdrawn is repeated to nobody.
_WORDLESS = frozenset({Status.DISABLED, Status.REDACTED, Status.RETRACTED, Status.DELETED})


@dataclass(frozen=True, slots=True)
class Side:
    """One member as the caller may see it; ``worded``: its statement and value may be shown."""

    fact: Fact
    withheld: bool
    worded: bool


@dataclass(frozen=True, slots=True)
class OpenFigures:
    """How many open sets the caller may see, and since when the oldest of them is open."""

    count: int
    oldest: datetime | None


def may_decide_at(principal: Principal, path: str) -> bool:
    """Tell whether the caller, or the person in whose name it may resolve, is a curator at ``path``."""
    return may_act(principal, Delegation.RESOLVE, path=path)


def visible_conflicts(principal: Principal, reader: Reader, scopes: Iterable[Scope]) -> QuerySet[ConflictSet]:
    """Return the sets of ``scopes`` (those that the caller may read) that the caller may be shown."""
    scopes = list(scopes)
    decided = [scope.id for scope in scopes if may_decide_at(principal, scope.path)]
    hidden_side = Fact.objects.filter(
        account_id=principal.account_id,
        conflict_memberships__conflict_set=OuterRef("pk"),
        conflict_memberships__left_at__isnull=True,
    ).exclude(_side_visible(reader))
    return (
        ConflictSet.objects.filter(account_id=principal.account_id, scope__in=scopes)
        .filter(Q(scope_id__in=decided) | ~Exists(hidden_side))
        .select_related("scope", "subject")
    )


def open_figures(sets: QuerySet[ConflictSet]) -> OpenFigures:
    """Return the figures of the open ones among ``sets``."""
    found = sets.filter(status=ConflictStatus.OPEN).order_by().aggregate(count=Count("pk"), oldest=Min("opened_at"))
    return OpenFigures(count=found["count"], oldest=found["oldest"])


def sides_of(
    principal: Principal, reader: Reader, sets: Iterable[ConflictSet]
) -> dict[uuid.UUID, tuple[list[Side], int]]:
    """Return, for each set, its sides, the oldest fact first, and the number of those that are not shown."""
    by_id = {conflict.id: conflict for conflict in sets}
    shown: dict[uuid.UUID, tuple[list[Side], int]] = {conflict_id: ([], 0) for conflict_id in by_id}
    members = (
        ConflictMember.objects.filter(account_id=principal.account_id, conflict_set_id__in=by_id, left_at__isnull=True)
        .select_related("fact__subject")
        .order_by("fact_id")
    )
    for member in members:
        sides, hidden = shown[member.conflict_set_id]
        conflict = by_id[member.conflict_set_id]
        decides = may_decide_at(principal, conflict.scope.path)
        even_restricted = decides and principal.is_person and conflict.status == ConflictStatus.OPEN
        if even_restricted or _sees(reader, member.fact, decides=decides):
            worded = _reads(reader, member.fact, decides=decides)
            sides.append(Side(fact=member.fact, withheld=member.withheld, worded=worded))
        else:
            shown[member.conflict_set_id] = (sides, hidden + 1)
    return shown


def _side_visible(reader: Reader) -> Q:
    """Return the audience rule for sides; a provisional one is seen by its own subject only."""
    own = Q(subject_id=reader.subject_id) if reader.posture is Posture.PEER else Q(pk__in=())
    return visible_to(reader) & (~Q(status=Status.PROVISIONAL) | own)


def _sees(reader: Reader, fact: Fact, *, decides: bool) -> bool:
    if decides and is_read_by_curators(fact):
        return True
    return may_see(
        posture=reader.posture,
        own=fact.subject_id == reader.subject_id,
        restricted_granted=reader.restricted,
        level=fact.level,
        sensitivity=fact.sensitivity,
        about_scope=fact.subject.kind == SubjectKind.SCOPE,
        provisional=fact.status == Status.PROVISIONAL and not decides,
    )


def _reads(reader: Reader, fact: Fact, *, decides: bool) -> bool:
    if fact.status in _WORDLESS:
        return False
    return decides or fact.subject_id == reader.subject_id or fact.status in _READABLE
