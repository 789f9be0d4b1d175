"""Application configuration of ``facts``."""

from __future__ import annotations

from django.apps import AppConfig


class FactsConfig(AppConfig):
    """Registers the app, and with the eraser registry what it holds."""

    name = "facts"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Facts and evidence"

    def ready(self) -> None:
        """Tell the registry how the ledger's tables are wiped, and the job ledger who gives long work its turns."""
        from facts import erasure_stores, jobs, long_jobs, subject_columns

        erasure_stores.register_stores()
        subject_columns.register()
        jobs.register_runner(long_jobs.TURN, "facts.tasks.work_on")
