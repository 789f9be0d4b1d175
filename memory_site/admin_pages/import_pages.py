"""Imports: what is being taken in from elsewhere, and how far it has come."""

from __future__ import annotations

from django.contrib import admin

from ingest.models import ImportRun
from memory_site.admin_pages.governed import GovernedAdmin


class ImportRunAdmin(GovernedAdmin):
    """The imports of the account. One that is running and moves no more was killed: starting it again continues it."""

    list_title = "Imports"
    empty_list = "Nothing was imported yet."
    list_display = ["kind", "source", "status", "progress", "started_at", "updated_at", "finished_at"]
    fields = ["kind", "source", "options", "status", "progress", "counts", "unread", "started_at", "updated_at"]
    fields += ["finished_at"]
    readonly_fields = ["progress", "unread"]
    list_filter = ["status"]
    ordering = ["-id"]

    @admin.display(description="progress")
    def progress(self, run: ImportRun) -> str:
        """Records that are done, of all."""
        return f"{run.messages_done} of {run.messages}"

    @admin.display(description="files not read")
    def unread(self, run: ImportRun) -> str:
        """The files that could not be read, each with the reason, a line each."""
        faulty = run.imported_files.filter(account_id=run.account_id).exclude(fault="").order_by("name")
        return "\n".join(f"{file.name}: {file.fault}" for file in faulty[:200])
