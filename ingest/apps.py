"""Application configuration of `ingest`."""

from __future__ import annotations

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """Registers the app."""

    name = "ingest"
    default_auto_field = "django.db.models.BigAutoField"
