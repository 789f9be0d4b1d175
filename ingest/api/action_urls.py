"""Addresses of actions and moods, below the API's prefix."""

from __future__ import annotations

from django.urls import URLPattern, path

from ingest.api.actions import ActionsView, AssignView, DismissView, DoneView, ReopenView
from ingest.api.moods import MoodRemoveView, MoodsView

urlpatterns: list[URLPattern] = [
    path("actions", ActionsView.as_view()),
    path("actions/<uuid:action_id>/done", DoneView.as_view()),
    path("actions/<uuid:action_id>/dismiss", DismissView.as_view()),
    path("actions/<uuid:action_id>/reopen", ReopenView.as_view()),
    path("actions/<uuid:action_id>/assign", AssignView.as_view()),
    path("moods", MoodsView.as_view()),
    path("moods/remove", MoodRemoveView.as_view()),
]
