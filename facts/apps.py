"""Application configuration of ``facts``."""

from __future__ import annotations

from django.apps import AppConfig


class FactsConfig(AppConfig):
    """Registers the app."""

    name = "facts"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Facts and evidence"
