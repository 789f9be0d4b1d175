"""What a page of figures is asked for, and what was counted for it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import Count, Min, Q, QuerySet

from facts.clock import now
from facts.day_figures import Sums, sums
from facts.figure_names import FigureName
from facts.models import Account, ConflictSet, Scope
from facts.vocabulary import ConflictStatus
from governance.models import Review, ReviewStatus, Role
from governance.reviewing.review_queue import in_queue, reviews_for
from memory_site.admin_pages.sight import Sight
from memory_site.figures.period import Period
from retrieval.statistics import Reads, reads

_OF_MODELS = tuple(name for name in FigureName if name.startswith("model_"))
_OF_SCOPES = tuple(name for name in FigureName if not name.startswith(("model_", "read_")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The days, the scopes (``paths`` ``None``: all of the account) and the purpose, and who asks.

    ``path`` is the scope that was chosen, those below it included; empty: everywhere.
    """

    eyes: Sight
    period: Period
    path: str
    scopes: Sequence[Scope]
    paths: list[str] | None
    purpose: str | None

    @property
    def account_id(self) -> uuid.UUID:
        """The account of whoever asks."""
        return self.eyes.principal.account_id

    @property
    def sees_costs(self) -> bool:
        """Whether they may see what models cost, which belongs to the whole account."""
        return self.eyes.has_role_at_root(Role.CURATOR)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits now, of one kind."""

    number: int
    oldest: datetime
    overdue: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Everything that the page shows of one period. ``costs`` is ``None`` for whoever may not see them."""

    period: Period
    reads: Reads
    sums: Sums
    costs: Sums | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The period and the one before; ``before`` is ``None`` when the account was not there in all of its days."""

    asked: Asked
    now: Counted
    before: Counted | None
    began: date
    conflicts: dict[str, Waiting]
    reviews: dict[str, Waiting]

    @property
    def was_there(self) -> bool:
        """Whether there was an account on any of the days: before that nothing is 0, it was not measured."""
        return self.now.period.last >= self.began


def find(asked: Asked) -> Found:
    """Count what was asked for: the same number of queries for any period. Runs in the account's transaction."""
    began = Account.objects.values_list("created_at", flat=True).get(pk=asked.account_id).date()
    compared = asked.period.before
    return Found(
        asked=asked,
        now=_counted(asked, asked.period, stages=True),
        before=_counted(asked, compared, stages=False) if compared.first >= began else None,
        began=began,
        conflicts=_waiting(_open_conflicts(asked), since="opened_at"),
        reviews=_waiting(_pending_reviews(asked), since="created_at"),
    )


def offered_scopes(eyes: Sight) -> list[Scope]:
    """Return the scopes whose figures the person sees: those in which they decide."""
    return [scope for scope in eyes.scopes if scope.id in eyes.curated_ids]


def narrowed(eyes: Sight, path: str) -> tuple[list[Scope], list[str] | None]:
    """Return the scopes at and below ``path`` ("": everywhere) that the person sees, and their paths.

    Whoever decides in every scope of the account also sees reads at places that are no scope: no paths, so all.
    """
    offered = offered_scopes(eyes)
    if path:
        below = path.rstrip("/") + "/"
        offered = [scope for scope in offered if scope.path == path or scope.path.startswith(below)]
        return offered, [scope.path for scope in offered]
    elsewhere = Scope.objects.filter(account_id=eyes.principal.account_id).exclude(id__in=eyes.curated_ids)
    everything = eyes.has_role_at_root(Role.CURATOR) and not elsewhere.exists()
    return offered, None if everything else [scope.path for scope in offered]


def _counted(asked: Asked, period: Period, *, stages: bool) -> Counted:
    window = {"first": period.first, "last": period.last}
    return Counted(
        period=period,
        reads=reads(asked.account_id, **window, paths=asked.paths, purpose=asked.purpose, stages=stages),
        sums=sums(asked.account_id, names=_OF_SCOPES, **window, paths=asked.paths),
        costs=sums(asked.account_id, names=_OF_MODELS, **window) if asked.sees_costs else None,
    )


def _open_conflicts(asked: Asked) -> QuerySet[ConflictSet]:
    return asked.eyes.conflicts().filter(status=ConflictStatus.OPEN, scope__in=asked.scopes)


def _pending_reviews(asked: Asked) -> QuerySet[Review]:
    found = in_queue(reviews_for(asked.eyes.principal)).filter(status=ReviewStatus.PENDING)
    if asked.paths is None:
        return found
    return found.filter(Q(fact__scope__in=asked.scopes) | Q(fact__isnull=True, event__scope__in=asked.scopes))


def _waiting(rows: QuerySet, *, since: str) -> dict[str, Waiting]:
    late = Count("pk", filter=Q(due_at__lt=now()))
    found = rows.order_by().values("kind").annotate(number=Count("pk"), oldest=Min(since), overdue=late)
    return {row["kind"]: Waiting(row["number"], row["oldest"], row["overdue"]) for row in found.order_by("kind")}
