"""What the list of reviews is filtered by: where they stand, how much is at stake, and whom they are about."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from facts.clock import now
from governance.models import Review, ReviewStatus
from governance.reviewing.review_queue import HIGH_RISK, MEDIUM_RISK, in_queue
from memory_site.admin_pages.governed import DefaultChoiceFilter, SubjectFilter, subjects_called


class StateFilter(DefaultChoiceFilter):
    """Which reviews: those that wait, unless another choice is made."""

    title = "state"
    parameter_name = "state"
    #: The choices that show what waits now.
    waiting = (ReviewStatus.PENDING, "overdue")

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        decided = [choice for choice in ReviewStatus.choices if choice[0] != ReviewStatus.PENDING]
        return [
            (ReviewStatus.PENDING, "Waiting"),
            ("overdue", "Overdue or escalated"),
            ("deferred", "Put off"),
            *decided,
            (self.everything, "All"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Review]) -> QuerySet[Review]:
        """Keep the chosen ones."""
        match self.value() or ReviewStatus.PENDING:
            case ReviewStatus.PENDING:
                return in_queue(queryset)
            case "overdue":
                return in_queue(queryset).filter(Q(due_at__lt=now()) | Q(escalated_at__isnull=False))
            case "deferred":
                return queryset.filter(status=ReviewStatus.PENDING, deferred_until__gt=now())
            case self.everything:
                return queryset
            case status:
                return queryset.filter(status=status)


class RiskFilter(DefaultChoiceFilter):
    """How much is at stake."""

    title = "risk"
    parameter_name = "risk"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [(self.everything, "Any"), ("high", "High"), ("medium", "Medium"), ("low", "Low")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Review]) -> QuerySet[Review]:
        """Keep the chosen ones."""
        match self.value():
            case "high":
                return queryset.filter(risk__gte=HIGH_RISK)
            case "medium":
                return queryset.filter(risk__gte=MEDIUM_RISK, risk__lt=HIGH_RISK)
            case "low":
                return queryset.filter(risk__lt=MEDIUM_RISK)
            case _:
                return queryset


class ConcernedFilter(SubjectFilter):
    """Whom a review is about: by its fact, or by the event in which nobody could be named."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Review]) -> QuerySet[Review]:
        """Keep the reviews about the subjects who go by what was typed."""
        if not self.typed:
            return queryset
        called = subjects_called(request, self.typed).values("pk")
        return queryset.filter(Q(fact__subject__in=called) | Q(event__subject__in=called))
