"""Addresses below ``/context/``, at the root and below the API's prefix: where a bot's adapter looks for them."""

from __future__ import annotations

from django.urls import URLPattern, path

from ingest.api.backfill_views import BackfillStatusView, BackfillView
from ingest.api.slack_views import ContextIngestView
from ingest.api.web_views import BrowseView, WebSearchView

urlpatterns: list[URLPattern] = [
    path("backfill", BackfillView.as_view()),
    path("backfill/status", BackfillStatusView.as_view()),
    path("browse", BrowseView.as_view()),
    path("ingest", ContextIngestView.as_view()),
    path("search", WebSearchView.as_view()),
]
