"""Application configuration of ``governance``."""

from __future__ import annotations

from django.apps import AppConfig


class GovernanceConfig(AppConfig):
    """Registers the app, and with the job ledger what runs its jobs."""

    name = "governance"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Governance"

    def ready(self) -> None:
        """Tell the ledger which task plans facts anew, and have consent asked for whenever a fact changes."""
        from facts import conflict_sets, consequences, jobs
        from governance import deductions, erasure_stores, statistics, subject_columns
        from governance.sharing import consent_asking, consent_records, promotion_records

        consequences.register("consent", limit=consent_records.level_allowed, follow=promotion_records.follow_origin)
        consequences.register("deductions", follow=deductions.follow_contributor, audience=deductions.follow_audience)
        erasure_stores.register_stores()
        subject_columns.register()
        jobs.register_runner(conflict_sets.PLACE_AGAIN, "governance.tasks.place_again")
        jobs.register_runner(consent_asking.KIND, "governance.sharing.consent_mail.run")
        statistics.register()
