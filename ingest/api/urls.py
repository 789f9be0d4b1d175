"""Addresses of ingestion, below the API's prefix."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from ingest.api.slack_views import SlackEventsView
from ingest.api.subject_views import ResolveView
from ingest.api.views import CaptureView, ConsolidateSubjectView, ConsolidateView, JobView, OutcomeView, UsageView

urlpatterns: list[URLPattern | URLResolver] = [
    path("capture", CaptureView.as_view()),
    path("consolidate", ConsolidateView.as_view()),
    path("consolidate/subject", ConsolidateSubjectView.as_view()),
    path("events/<uuid:event_id>/outcome", OutcomeView.as_view()),
    path("jobs/<uuid:job_id>", JobView.as_view()),
    path("subjects/resolve", ResolveView.as_view()),
    path("usage", UsageView.as_view()),
    path("slack/events", SlackEventsView.as_view()),
    path("context/", include("ingest.api.context_urls")),
    path("", include("ingest.api.action_urls")),
]
