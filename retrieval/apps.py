"""Application configuration of `retrieval`."""

from __future__ import annotations

from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    """Names the embedder to the ledger, without loading its model, answers who may inspect a trace, and hears of
    changes."""

    name = "retrieval"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register what other apps ask reading for."""
        from facts import jobs, long_jobs, outbox
        from governance import trace_access
        from retrieval import erasure_stores, read_stats, subject_columns
        from retrieval.cards import marking, nightly
        from retrieval.embedders import registry
        from retrieval.rerankers import registry as rerankers
        from retrieval.traces import selectors

        for name, title, unit in (
            ("reembed", "Making vectors", "vectors"),
            ("reindex_text", "Indexing text again", "rows"),
            ("rebuild_entities", "Reading names again", "scopes"),
            ("build_profiles", "Writing profiles and cards", "cards"),
            ("calibrate_recall_gate", "Measuring the recall gate", "questions"),
        ):
            long_jobs.register(long_jobs.Kind(name=name, title=title, unit=unit, command=f"manage.py {name}"))
        long_jobs.register(
            long_jobs.Kind(
                name=nightly.NIGHT,
                title="Profiles and cards of a night",
                unit="cards",
                step=nightly.step,
            )
        )
        jobs.register_runner(nightly.BEGIN, "retrieval.tasks.begin_night")
        jobs.register_runner(nightly.ONE, "retrieval.tasks.compact_card")
        registry.register()
        rerankers.register()
        trace_access.register(selectors.may_inspect)
        outbox.register("cards", marking.note_changes)
        erasure_stores.register_stores()
        read_stats.register()
        subject_columns.register()
