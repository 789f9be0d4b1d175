"""Application configuration of ``ingest``."""

from __future__ import annotations

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """Registers the app: with the job ledger what runs its jobs, and who books the calls of embedders."""

    name = "ingest"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Ingestion"

    def ready(self) -> None:
        """Tell the apps below what they call this one for."""
        from facts import embedding_usage as port
        from facts import jobs, long_jobs, outbox, raw_text
        from ingest import (
            backfill,
            batches,
            embedding_usage,
            erasure_stores,
            line,
            raw_words,
            statistics,
            subject_columns,
        )
        from ingest.actions import firing, wording
        from ingest.imports import running
        from ingest.moods import keeping
        from ingest.reasoning import passing
        from ingest.slack import asking, consent_asking, obeying
        from ingest.web import queue

        jobs.register_runner(line.PROCESS, "ingest.tasks.process")
        jobs.register_runner(batches.READ, "ingest.tasks.read_batch")
        jobs.register_runner(queue.FETCH, "ingest.tasks.fetch_page")
        for kind in asking.QUESTIONS:
            jobs.register_runner(kind, "ingest.tasks.ask_slack")
        obeying.register_answers()
        consent_asking.register()
        port.register(embedding_usage.book)
        for name, title, unit, command in (
            ("slack_export", "Importing a Slack export", "messages", "manage.py import_slack_export"),
            ("export_account", "Writing the account to a file", "records", "manage.py export_account"),
            ("extraction", "Reading messages for facts", "messages", "manage.py import_slack_export --wait"),
        ):
            long_jobs.register(long_jobs.Kind(name=name, title=title, unit=unit, command=command))
        outbox.register("actions", firing.note_changes)
        outbox.register("moods", keeping.note_changes)
        wording.register()
        long_jobs.register(
            long_jobs.Kind(
                name=backfill.KIND,
                title="Reading the history of Slack",
                unit="days of history",
                command="manage.py backfill_slack",
                step=backfill.step,
                ended=backfill.ended,
            )
        )
        long_jobs.register(
            long_jobs.Kind(
                name=running.KIND,
                title="Importing",
                unit="records",
                command="manage.py import_events or import_memories",
                step=running.step,
                ended=running.ended,
            )
        )
        jobs.register_runner(passing.BEGIN, "ingest.tasks.begin_reasoning_night")
        long_jobs.register(
            long_jobs.Kind(
                name=passing.KIND,
                title="Reasoning",
                unit="scopes",
                command="manage.py reason",
                step=passing.step,
            )
        )
        raw_text.register("candidates", raw_words.remove)
        erasure_stores.register_stores()
        statistics.register()
        subject_columns.register()
