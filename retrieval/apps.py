"""Application configuration of `retrieval`."""

from __future__ import annotations

from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    """Registers the app."""

    name = "retrieval"
    default_auto_field = "django.db.models.BigAutoField"
