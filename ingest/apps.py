"""Application configuration of ``ingest``."""

from __future__ import annotations

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """Registers the app, and with the job ledger what runs its jobs."""

    name = "ingest"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Ingestion"

    def ready(self) -> None:
        """Tell the ledger which task processes events."""
        from facts import jobs
        from ingest import line

        jobs.register_runner(line.PROCESS, "ingest.tasks.process")
