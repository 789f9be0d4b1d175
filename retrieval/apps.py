"""Application configuration of `retrieval`."""

from __future__ import annotations

from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    """Names the configured embedder to the ledger, without loading its model."""

    name = "retrieval"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the embedder."""
        from retrieval.embedders import registry

        registry.register()
