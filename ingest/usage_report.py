"""What models cost an account: the ledger's figures by day, role and model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import TruncDate

from facts.clock import now
from facts.errors import Refused
from facts.models import Account
from facts.tenancy import ROOT
from governance.access import Principal, Right, Role, check_limit, has_role, require_right
from ingest import budget
from ingest.budget import Budget
from ingest.extraction.dates import zone
from ingest.models import ModelCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Sums over calls. ``failed`` gave no usable answer; ``unpriced`` cost something that is not in ``cost_usd``."""

    calls: int = 0
    failed: int = 0
    unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    latency_ms: int = 0

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Figures:
        """Return the sums over grouped rows."""
        return cls(**{each.name: sum(row[each.name] or 0 for row in rows) for each in fields(cls)})

    @property
    def average_latency_ms(self) -> int | None:
        """Milliseconds that a call took on average, tries that failed included."""
        return round(self.latency_ms / self.calls) if self.calls else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOfModel:
    """The figures of one model in one role on one day."""

    day: date
    role: str
    provider: str
    model: str
    figures: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was used between two days, both included, and what is left of today's budget."""

    first: date
    last: date
    timezone: str
    days: tuple[DayOfModel, ...]
    total: Figures
    budget: Budget


def report(principal: Principal, *, days: int) -> Report:
    """Return what was used in the last ``days`` days of the account's time zone, latest first.

    Runs in the account's transaction. Raises ``Refused`` (``missing_right``, ``forbidden_scope``) unless the caller is
    a curator of the account, or a key for the whole account with the right to diagnostics.
    """
    require_right(principal, Right.DIAGNOSTICS)
    check_limit(principal, ROOT)
    if principal.is_person and not has_role(principal, ROOT, Role.CURATOR):
        raise Refused("Only a curator of the account may see what it costs.", code="forbidden_scope")
    timezone = zone(Account.objects.values_list("timezone", flat=True).get(pk=principal.account_id))
    last = now().astimezone(timezone).date()
    first = last - timedelta(days=days - 1)
    grouped = (
        ModelCall.objects.filter(
            account_id=principal.account_id, created_at__gte=datetime.combine(first, time.min, tzinfo=timezone)
        )
        .annotate(day=TruncDate("created_at", tzinfo=timezone))
        .order_by("-day", "role", "provider", "model")
        .values("day", "role", "provider", "model")
        .annotate(
            calls=Count("id"),
            failed=Count("id", filter=~Q(error_class="")),
            unpriced=Count("id", filter=Q(cost_usd=None, output_tokens__gt=0) | Q(cost_usd=None, error_class="")),
            input_tokens=Sum("input_tokens"),
            output_tokens=Sum("output_tokens"),
            cost_usd=Sum("cost_usd"),
            latency_ms=Sum("latency_ms"),
        )
    )
    rows = list(grouped)
    return Report(
        first=first,
        last=last,
        timezone=str(timezone),
        days=tuple(
            DayOfModel(figures=Figures.of([row]), **{name: row[name] for name in ("day", "role", "provider", "model")})
            for row in rows
        ),
        total=Figures.of(rows),
        budget=budget.today(principal.account_id),
    )
