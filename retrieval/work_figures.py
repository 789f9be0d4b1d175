"""Figures about the work behind reads, for the overview: reviews, reading messages, ratings and cost.

They were counted by those who do the work (``facts.day_figures``); a name of a figure is all that is known of it here.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Count, Min, Q

from facts.clock import now
from facts.day_figures import Sums, sums
from facts.figure_names import COST_UNIT, FigureName
from facts.models import Scope
from facts.spread import quantile
from facts.tenancy import ROOT
from governance.access import Delegation, Principal, Right, curated_scopes, has_role
from governance.models import Rating, Role
from governance.reviewing.review_queue import in_queue, reviews_for

#: The result of an event of which a fact came, as those who counted it call it.
_WITH_FACTS = "facts"
_WASTED = (Rating.IRRELEVANT, Rating.INCORRECT)
_OF_SCOPES = (
    FigureName.CONFLICTS_OPENED,
    FigureName.CONFLICTS_CLOSED,
    FigureName.REVIEWS_OPENED,
    FigureName.REVIEWS_DECIDED,
    FigureName.RATINGS,
    FigureName.EVENTS_READ,
    FigureName.REJECTIONS,
)
_OF_MODELS = (FigureName.MODEL_CALLS, FigureName.MODEL_COST, FigureName.MODEL_UNPRICED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What was done in some days. What was not measured is ``None``, never 0; durations are in seconds."""

    conflicts_opened: int
    conflicts_closed: int
    reviews_opened: int
    reviews_decided: int
    review_p50: float | None
    review_p95: float | None
    ratings: dict[str, int]
    wasted_share: float | None
    events_read: int
    extraction_yield: float | None
    rejections: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What models cost in dollars. ``None``: no call had a known price. ``unpriced``: calls that are not in it."""

    total: float | None
    by_role: dict[str, float]
    calls: int
    unpriced: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """Reviews that wait now for the caller; ``None`` for a key to which nobody delegated decisions."""

    count: int | None
    oldest: datetime | None
    overdue: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """All of it. ``cost`` is ``None`` for whoever does not see all of the account."""

    work: Work
    waiting: Waiting
    cost: Cost | None


def behind(principal: Principal, scopes: Sequence[Scope], days: int) -> Behind | None:
    """Return the figures of the last ``days`` days as far as the caller may see them in ``scopes``; ``None`` if none.

    A person sees those of the scopes in which they decide, a key with the right to diagnostics those that it reads.
    Runs in the account's transaction.
    """
    diagnostics = Right.DIAGNOSTICS in principal.rights
    shown = curated_scopes(principal, scopes) if principal.is_person else list(scopes) if diagnostics else []
    if not shown:
        return None
    last = now().date()
    window = {"first": last - timedelta(days=days - 1), "last": last}
    sees_all = has_role(principal, ROOT, Role.CURATOR) if principal.is_person else principal.scope_limit in (None, ROOT)
    return Behind(
        work=work(principal.account_id, **window, paths=[scope.path for scope in shown]),
        waiting=_waiting(principal, shown),
        cost=cost(principal.account_id, **window) if sees_all else None,
    )


def work(account_id: uuid.UUID, *, first: date, last: date, paths: Sequence[str]) -> Work:
    """Return the work of the days ``first`` to ``last`` in the scopes ``paths``."""
    found = sums(account_id, names=_OF_SCOPES, first=first, last=last, paths=paths)
    waited = found.spread_of(FigureName.REVIEWS_DECIDED)
    ratings, read = found.keys_of(FigureName.RATINGS), found.keys_of(FigureName.EVENTS_READ)
    return Work(
        conflicts_opened=found.total(FigureName.CONFLICTS_OPENED),
        conflicts_closed=found.total(FigureName.CONFLICTS_CLOSED),
        reviews_opened=found.total(FigureName.REVIEWS_OPENED),
        reviews_decided=found.total(FigureName.REVIEWS_DECIDED),
        review_p50=quantile(waited, 0.5),
        review_p95=quantile(waited, 0.95),
        ratings=ratings,
        wasted_share=_share(sum(ratings.get(rating.value, 0) for rating in _WASTED), sum(ratings.values())),
        events_read=sum(read.values()),
        extraction_yield=_share(read.get(_WITH_FACTS, 0), sum(read.values())),
        rejections=found.keys_of(FigureName.REJECTIONS),
    )


def cost(account_id: uuid.UUID, *, first: date, last: date) -> Cost:
    """Return what models cost the account in the days ``first`` to ``last``."""
    found = sums(account_id, names=_OF_MODELS, first=first, last=last)
    calls, unpriced = found.total(FigureName.MODEL_CALLS), found.total(FigureName.MODEL_UNPRICED)
    return Cost(
        total=found.total(FigureName.MODEL_COST) * COST_UNIT if calls > unpriced else None,
        by_role=_by_role(found),
        calls=calls,
        unpriced=unpriced,
    )


def _waiting(principal: Principal, scopes: Sequence[Scope]) -> Waiting:
    if not (principal.is_person or Delegation.RESOLVE in principal.delegated):
        return Waiting(None, None, None)
    here = Q(fact__scope__in=scopes) | Q(fact__isnull=True, event__scope__in=scopes)
    found = in_queue(reviews_for(principal)).filter(here).order_by()
    late = Count("pk", filter=Q(due_at__lt=now()))
    told = found.aggregate(count=Count("pk"), oldest=Min("created_at"), overdue=late)
    return Waiting(told["count"], told["oldest"], told["overdue"])


def _by_role(found: Sums) -> dict[str, float]:
    """Return the cost of the roles that cost anything."""
    by_role: dict[str, float] = {}
    for key, units in found.keys_of(FigureName.MODEL_COST).items():
        if units:
            role = key.split("|", 1)[0]
            by_role[role] = by_role.get(role, 0.0) + units * COST_UNIT
    return by_role


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
