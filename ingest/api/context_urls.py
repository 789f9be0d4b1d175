"""Addresses below ``/context/``, at the root and below the API's prefix: where a bot's adapter looks for them."""

from __future__ import annotations

from django.urls import URLPattern, path

from ingest.api.slack_views import ContextIngestView

urlpatterns: list[URLPattern] = [
    path("ingest", ContextIngestView.as_view()),
]
