"""Addresses of observations below ``/context/``, at the root and below the API's prefix: where a bot's adapter looks.

What takes messages and pages in is in ``ingest.api.context_urls``, and comes first.
"""

from __future__ import annotations

from django.urls import URLPattern, path, register_converter

from memory_site.api import observation_views as views
from retrieval.observations import ENTITY_KINDS


class EntityType:
    """The types of entities, so that no other word in their place is taken for one."""

    regex = "|".join(ENTITY_KINDS)

    def to_python(self, value: str) -> str:
        """Return the type."""
        return value

    def to_url(self, value: str) -> str:
        """Return it as it is written in an address."""
        return value


register_converter(EntityType, "entity_type")

urlpatterns: list[URLPattern] = [
    path("stats", views.StatsView.as_view()),
    path("summaries", views.SummariesView.as_view()),
    path("observations", views.ObservationsView.as_view()),
    path("observations/<uuid:observation_id>", views.ObservationView.as_view()),
    path("observations/<uuid:observation_id>/supersede", views.SupersedeView.as_view()),
    path("entity/<entity_type:entity_type>/<path:entity_id>/timeline", views.EntityTimelineView.as_view()),
    path("<entity_type:entity_type>/<path:entity_id>", views.EntityView.as_view()),
]
