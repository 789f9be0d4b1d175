"""Finding reads by what their traces say, newest first, in a stretch of time and never among all there are.

Two bounds hold together: the stretch of time, a week unless something else is asked, and the number of reads looked
through. Both are ranges of ids, so that a query goes down one index of the partitions of that time alone. Where the
second bound cuts a stretch off, it says from where to look further back.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Q, QuerySet

from facts.clock import now
from facts.ids import lower_bound
from facts.models import IndexedUnit
from retrieval.models import Trace

#: How far back is looked unless it is said.
DAYS = 7
#: Reads that are looked through at once; and where the decisions of each have to be unpacked to look for a fact.
LOOKED_THROUGH, LOOKED_INTO = 20_000, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What reads are looked for; empty parts ask for nothing. All others hold together.

    ``since`` and ``until`` bound the time; ``before`` is where an earlier look was cut off. ``scope`` is a path and
    stands for everything below it; ``by`` names a credential; ``reason`` is a code of decisions; ``fact_id`` is one
    that was considered, whatever became of it. ``served``: ``facts``, ``nothing`` or ``withheld``.
    """

    since: datetime | None = None
    until: datetime | None = None
    before: uuid.UUID | None = None
    kind: str = ""
    scope: str = ""
    purpose: str = ""
    by: str = ""
    status: str = ""
    served: str = ""
    empty_reason: str = ""
    reason: str = ""
    fact_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The reads that are looked through: ids from ``floor`` on and before ``ceiling``.

    ``is_cut``: there are more of the time that was asked for, below ``floor``.
    """

    floor: uuid.UUID
    ceiling: uuid.UUID
    is_cut: bool

    @property
    def since(self) -> datetime:
        """The time of the oldest read that is looked at."""
        return _moment(self.floor)

    @property
    def until(self) -> datetime:
        """The time up to which is looked."""
        return _moment(self.ceiling)


def stretch(account_id: uuid.UUID, wanted: Wanted, *, most: int | None = None) -> Stretch:
    """Return what is to be looked through, at most ``most`` reads; one query down the index of accounts, for ids."""
    ceiling = wanted.before or lower_bound(wanted.until or now() + timedelta(seconds=1))
    floor = lower_bound(wanted.since or _moment(ceiling) - timedelta(days=DAYS))
    most = most or (LOOKED_THROUGH if wanted.fact_id is None else LOOKED_INTO)
    reads = Trace.objects.filter(account_id=account_id, pk__gte=floor, pk__lt=ceiling)
    last = reads.order_by("-pk").values_list("pk", flat=True)[most - 1 : most + 1]
    ends = list(last)
    return Stretch(floor=ends[0] if len(ends) == 2 else floor, ceiling=ceiling, is_cut=len(ends) == 2)


def among(reads: QuerySet[Trace], stretched: Stretch, wanted: Wanted) -> QuerySet[Trace]:
    """Return those of ``reads`` that lie in the stretch and are what is wanted."""
    found = reads.filter(pk__gte=stretched.floor, pk__lt=stretched.ceiling)
    exact = {"kind": wanted.kind, "status": wanted.status, "empty_reason": wanted.empty_reason}
    found = found.filter(**{name: value for name, value in exact.items() if value})
    if wanted.scope:
        below = wanted.scope.rstrip("/") + "/"
        found = found.filter(Q(scope_path=wanted.scope) | Q(scope_path__startswith=below))
    if wanted.purpose:
        found = found.filter(purpose__icontains=wanted.purpose)
    if wanted.by:
        found = found.filter(credential_name__icontains=wanted.by)
    if wanted.served == "facts":
        found = found.filter(facts_served__gt=0)
    elif wanted.served == "nothing":
        found = found.filter(facts_served=0, passages_served=0)
    elif wanted.served == "withheld":
        found = found.filter(withheld__gt=0)
    if wanted.reason:
        found = found.filter(reasons__has_key=wanted.reason)
    if wanted.fact_id is not None:
        # A packed decision begins with its unit and id (retrieval.traces.writing), and holds whatever comes after.
        found = found.filter(decisions__contains=[[IndexedUnit.FACT.value, str(wanted.fact_id)]])
    return found


def _moment(read_id: uuid.UUID) -> datetime:
    """Return the time that a version-7 id was made at, which its first 48 bits count in milliseconds."""
    return datetime.fromtimestamp((read_id.int >> 80) / 1000, tz=UTC)
