"""Every endpoint of the API, mounted under ``/v1/`` and ``/api/v1/``."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path

from memory_site.api.health_views import HealthView
from memory_site.api.observation_views import EndView, HeldFactView, StatedFactsView, SupersedeFactView
from memory_site.api.schema import DocsView, SchemaView
from memory_site.api.self_views import SelfExportView
from memory_site.api.views import UnknownAddress

urlpatterns: list[URLPattern | URLResolver] = [
    path("schema", SchemaView.as_view(), name="schema"),
    path("docs", DocsView.as_view(), name="docs"),
    path("self/export", SelfExportView.as_view()),
    path("stats/health", HealthView.as_view()),
    path("", include("governance.api.urls")),
    path("", include("ingest.api.urls")),
    path("context/", include("memory_site.api.context_urls")),
    path("facts", StatedFactsView.as_view()),
    path("facts/<uuid:fact_id>", HeldFactView.as_view()),
    path("facts/<uuid:fact_id>/end", EndView.as_view()),
    path("facts/<uuid:fact_id>/supersede", SupersedeFactView.as_view()),
    path("", include("retrieval.api.urls")),
    # Last: whatever no line above knows.
    re_path(r"^.*$", UnknownAddress.as_view()),
]
