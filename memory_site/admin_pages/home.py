"""What the home page shows: how much waits, how old and how risky it is, and whether the machinery runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Min, Q, QuerySet, Window
from django.utils.safestring import SafeString

from facts.clock import now
from facts.models import ConflictSet, Event
from facts.spread import added, quantile
from facts.vocabulary import ConflictStatus
from governance.models import Consent, ConsentStatus, Review, Role
from governance.reviewing.review_queue import HIGH_RISK, in_queue, reviews_for, with_risk
from ingest.models import Action, ActionState
from memory_site import heartbeat, operations
from memory_site.admin_pages.conflict_summary import in_short, with_sides
from memory_site.admin_pages.sight import Sight
from memory_site.figures import charts
from memory_site.figures.tables import percent, share
from memory_site.operations import Operations
from retrieval.models import Trace
from retrieval.statistics import Figures as ReadFigures
from retrieval.statistics import reads

#: Span of the injection rate; the same number of days before is compared with.
RATE_DAYS = 7
#: Counts in the navigation stop here.
COUNTED = 1_000
#: Rows of the short lists.
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queue in figures. ``oldest`` is ``None`` when it is empty; ``risky`` where nobody ranks it."""

    count: int
    oldest: datetime | None
    overdue: int
    risky: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """The share of context calls that served at least one fact, and its neighbours; ``None`` is what was not measured.

    ``before`` is the share in the same number of days before, ``line`` the share day by day over both.
    """

    value: float | None
    before: float | None
    calls: int
    served: int
    withheld: int
    p95_ms: float | None
    days: int
    line: SafeString


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was given to this person."""

    reviews: list[Review]
    conflicts: list[tuple[ConflictSet, SafeString]]
    actions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Everything on the home page. Queues count what this person may decide.

    ``operations`` is for administrators only, ``None`` for others. ``questions``: consents that wait for this person.
    """

    conflicts: Waiting
    next_conflicts: list[tuple[ConflictSet, SafeString]]
    reviews: Waiting
    next_reviews: list[Review]
    given: Given
    questions: int
    injection: Rate
    last_beat: datetime | None
    worker_lives: bool
    operations: Operations | None
    traces: list[Trace]
    has_evidence: bool
    is_curator: bool
    high_risk: int = HIGH_RISK


def figures(eyes: Sight) -> Figures:
    """Return the figures for a person."""
    at = now()
    account_id = eyes.principal.account_id
    beat = heartbeat.last_beat()
    reviews, next_reviews = _reviews(eyes, at=at)
    return Figures(
        conflicts=_waiting(open_conflicts(eyes, at=at), "opened_at", at=at),
        next_conflicts=_in_short(eyes, open_conflicts(eyes, at=at)),
        reviews=reviews,
        next_reviews=next_reviews,
        given=_given(eyes, at=at),
        questions=Consent.objects.filter(
            account_id=account_id, subject_id=eyes.principal.subject_id, status=ConsentStatus.PENDING
        ).count(),
        injection=_injection(eyes, at=at),
        last_beat=beat,
        worker_lives=heartbeat.is_fresh(beat, at=at),
        operations=operations.of_account(account_id) if eyes.has_role_at_root(Role.ACCOUNT_ADMIN) else None,
        traces=list(eyes.traces()[:SHOWN]),
        has_evidence=Event.objects.filter(account_id=account_id).exists(),
        is_curator=eyes.is_curator,
    )


def waiting_counts(eyes: Sight) -> dict[str, int]:
    """Return what waits, by the name of the model whose list shows it; at most :data:`COUNTED` of each."""
    return {
        "ConflictSet": open_conflicts(eyes, at=now()).values("pk")[:COUNTED].count(),
        "Review": _queue(eyes).values("pk")[:COUNTED].count(),
    }


def open_conflicts(eyes: Sight, *, at: datetime) -> QuerySet[ConflictSet]:
    """Return the conflict sets that wait for this person, oldest first: open ones that were not put off."""
    put_off = Q(deferred_until__gt=at)
    return eyes.conflicts().filter(status=ConflictStatus.OPEN).exclude(put_off).order_by("opened_at", "id")


def pending_reviews(eyes: Sight) -> QuerySet[Review]:
    """Return the reviews that wait for this person, those due first in front."""
    return in_queue(eyes.reviews()).order_by("due_at", "id")


def _queue(eyes: Sight) -> QuerySet[Review]:
    """Return what :func:`pending_reviews` does, to be counted: what may be shown of each takes 35 ms to put in SQL."""
    return in_queue(reviews_for(eyes.principal))


def _waiting(queue: QuerySet, since: str, *, at: datetime) -> Waiting:
    found = queue.aggregate(count=Count("pk"), oldest=Min(since), overdue=Count("pk", filter=Q(due_at__lt=at)))
    return Waiting(found["count"], found["oldest"], found["overdue"])


def _reviews(eyes: Sight, *, at: datetime) -> tuple[Waiting, list[Review]]:
    """Return how many reviews wait, and some in the order of their list: the riskiest first, then those due first.

    Both are found on one walk over what waits, because the risk of each has to be looked up.
    """
    ranked = with_risk(_queue(eyes)).annotate(
        count=Window(Count("pk")),
        oldest=Window(Min("created_at")),
        overdue=Window(Count("pk", filter=Q(due_at__lt=at))),
        risky=Window(Count("pk", filter=Q(risk__gte=HIGH_RISK))),
    )
    first = list(
        ranked.order_by("-risk", "due_at", "id").values_list("pk", "count", "oldest", "overdue", "risky")[:SHOWN]
    )
    if not first:
        return Waiting(0, None, 0, 0), []
    return Waiting(*first[0][1:]), _riskiest(eyes.reviews().filter(pk__in=[pk for pk, *_ in first]))


def _riskiest(reviews: QuerySet[Review]) -> list[Review]:
    shown = with_risk(reviews).select_related("fact__subject", "fact__scope", "event__subject", "conflict_set__subject")
    return list(shown.order_by("-risk", "due_at", "id")[:SHOWN])


def _in_short(eyes: Sight, conflicts: QuerySet[ConflictSet]) -> list[tuple[ConflictSet, SafeString]]:
    shown = with_sides(eyes, conflicts).select_related("subject", "scope")[:SHOWN]
    return [(conflict, in_short(conflict)) for conflict in shown]


def _given(eyes: Sight, *, at: datetime) -> Given:
    mine = {"assignee_id": eyes.principal.membership_id}
    actions = Action.objects.filter(
        account_id=eyes.principal.account_id, assignee_id=eyes.principal.subject_id, state=ActionState.OPEN
    )
    return Given(
        reviews=_riskiest(pending_reviews(eyes).filter(**mine)),
        conflicts=_in_short(eyes, open_conflicts(eyes, at=at).filter(**mine)),
        actions=actions.count(),
    )


def _injection(eyes: Sight, *, at: datetime) -> Rate:
    """Return the rate of the scopes that the person may read, from what was counted by day."""
    days = [at.date() - timedelta(days=back) for back in range(2 * RATE_DAYS - 1, -1, -1)]
    paths = [scope.path for scope in eyes.scopes]
    found = reads(eyes.principal.account_id, first=days[0], last=days[-1], paths=paths, stages=False)
    by_day = [found.by_day.get(day, ReadFigures()) for day in days]
    earlier, latest = by_day[:RATE_DAYS], by_day[RATE_DAYS:]
    rates = [figures.injection_rate for figures in by_day]
    return Rate(
        value=_rate(latest),
        before=_rate(earlier),
        calls=sum(figures.calls for figures in latest),
        served=sum(figures.served for figures in latest),
        withheld=sum(figures.withheld for figures in latest),
        p95_ms=quantile(added(found.totals.get(day, {}) for day in days[RATE_DAYS:]), 0.95),
        days=RATE_DAYS,
        line=charts.sparkline(
            rates,
            description="By day: " + ", ".join(percent(rate) for rate in rates),
            top=1.0,
        ),
    )


def _rate(days: list[ReadFigures]) -> float | None:
    return share(sum(figures.calls_with_facts for figures in days), sum(figures.calls for figures in days))
