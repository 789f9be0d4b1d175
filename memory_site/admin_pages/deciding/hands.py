"""Filtering what waits by whose hands it is in."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from memory_site.admin_pages.governed import DefaultChoiceFilter


class HandsFilter(DefaultChoiceFilter):
    """In whose hands: anybody's, unless another choice is made."""

    title = "who has it"
    parameter_name = "hands"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [(self.everything, "Anybody"), ("mine", "Me"), ("nobody", "Nobody")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        """Keep the chosen ones."""
        match self.value():
            case "mine":
                return queryset.filter(assignee_id=request.principal.membership_id)
            case "nobody":
                return queryset.filter(assignee__isnull=True)
            case _:
                return queryset
