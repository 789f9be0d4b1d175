"""Application configuration of `memory_site`: what is wired together once all apps are loaded."""

from __future__ import annotations

import sys

from django.apps import AppConfig


class MemorySiteConfig(AppConfig):
    """Registers the system checks and gives the job ledger its way onto the queue."""

    name = "memory_site"
    verbose_name = "Project"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Wire what the apps below leave open."""
        from facts import jobs
        from ingest.reasoning import carrying_out
        from memory_site import answerers, checks, composers, erasure_stores, queue
        from retrieval.ask import answering
        from retrieval.cards import composing
        from retrieval.entities import proposing

        jobs.register_dispatcher(queue.dispatch_jobs)
        answering.register(answerers.find)
        composing.register(composers.find)
        carrying_out.register_names(proposing.propose_pair)
        erasure_stores.register_stores()
        checks.refuse_errors(worker=sys.argv[1:2] == ["qcluster"])
