"""Application configuration of ``facts``."""

from __future__ import annotations

from django.apps import AppConfig


class FactsConfig(AppConfig):
    """Registers the app, and with the eraser registry what it holds."""

    name = "facts"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Facts and evidence"

    def ready(self) -> None:
        """Tell the registry how the tables of the ledger are wiped."""
        from facts import erasure_stores

        erasure_stores.register_stores()
