"""Addresses of reading, below the API's prefix."""

from __future__ import annotations

from django.urls import URLPattern, path

from retrieval.api import (
    ask_views,
    fact_views,
    inventory_views,
    lineage_views,
    profile_views,
    search_views,
    self_views,
    subject_views,
    trace_views,
    views,
)

urlpatterns: list[URLPattern] = [
    path("context", views.ContextView.as_view()),
    path("search", search_views.SearchView.as_view()),
    path("inspect/<uuid:trace_id>", views.InspectView.as_view()),
    path("traces", views.TracesView.as_view()),
    path("traces/<uuid:trace_id>/replay", trace_views.ReplayView.as_view()),
    path("traces/<uuid:trace_id>/why/<uuid:fact_id>", trace_views.WhyView.as_view()),
    path("facts", views.FactsView.as_view()),
    path("facts/<uuid:fact_id>", fact_views.FactView.as_view()),
    path("facts/<uuid:fact_id>/history", fact_views.FactHistoryView.as_view()),
    path("facts/<uuid:fact_id>/explain", fact_views.FactExplanationView.as_view()),
    path("self/served", self_views.SelfServedView.as_view()),
    path("timeline", views.TimelineView.as_view()),
    path("projects", inventory_views.ProjectsView.as_view()),
    path("subjects", subject_views.SubjectsView.as_view()),
    path("subjects/<uuid:subject_id>", subject_views.SubjectView.as_view()),
    path("graph", inventory_views.GraphView.as_view()),
    path("ask", ask_views.AskView.as_view()),
    path("lineage", lineage_views.LineageView.as_view()),
    path("stable-profile", profile_views.StableProfileView.as_view()),
    path("stats/overview", views.OverviewView.as_view()),
]
