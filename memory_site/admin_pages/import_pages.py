"""Imports: what is being taken in from elsewhere, and how far it has come."""

from __future__ import annotations

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from facts.errors import DomainError
from ingest.imports import running
from ingest.imports.running import Options
from ingest.models import ImportRun
from memory_site.admin_pages.fact_display import words
from memory_site.admin_pages.governed import GovernedAdmin

#: Faults that are shown of one import.
SHOWN_FAULTS = 200
SOURCES = {
    "events": "events in our own form, one JSON object a line",
    "mem0": "memories of mem0",
    "zep": "facts and episodes of Zep",
}


class ImportForm(forms.Form):
    """A file and what it holds."""

    file = forms.FileField(help_text=f"At most {running.MAX_UPLOAD // 2**20} MB; larger ones by manage.py.")
    source = forms.ChoiceField(label="It holds", choices=list(SOURCES.items()))
    scope = forms.CharField(
        max_length=512, initial=running.DEFAULT_SCOPE, help_text="Where records belong that name no scope."
    )
    subject = forms.CharField(
        max_length=200, required=False, help_text="Key of the person whom records are about that name nobody."
    )


class ImportRunAdmin(GovernedAdmin):
    """The imports of the account. One that is running and moves no more was killed: starting it again continues it."""

    list_title = "Imports"
    empty_list = "Nothing was imported yet. Import a file above, or an export of Slack: manage.py import_slack_export."
    list_display = ["called", "source", "status", "progress", "started_at", "updated_at", "finished_at"]
    labels = {
        "source": "From",
        "options": "As was asked",
        "counts": "What became of it",
        "started_at": "Begun",
        "updated_at": "Last sign of life",
        "finished_at": "Over",
    }
    fields = ["source", "options", "status", "progress", "counts", "unread", "started_at", "updated_at"]
    fields += ["finished_at"]
    readonly_fields = ["progress", "unread"]
    list_filter = ["status"]
    ordering = ["-id"]
    change_list_template = "memory/import_list.html"

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the form."""
        return [path("new/", self.admin_site.admin_view(self.new), name="import_new"), *super().get_urls()]

    def new(self, request: HttpRequest) -> HttpResponse:
        """Take a file and have the worker import it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        form = ImportForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            given = form.cleaned_data
            try:
                work = running.upload(
                    request.principal.account_id,
                    given["file"].read(running.MAX_UPLOAD + 1),
                    Options(source=given["source"], scope=given["scope"], subject=given["subject"]),
                    name=given["file"].name,
                    actor=request.principal.actor,
                )
            except DomainError as error:
                form.add_error(error.field if error.field in form.fields else None, error.message)
            else:
                messages.success(request, "The worker goes on with it.")
                return redirect(reverse("admin:facts_longjob_change", args=[work.pk]))
        account = request.account
        context = self.context(
            request, title="Import a file", form=form, consent_is_automatic=account.consent_mode == "auto"
        )
        return TemplateResponse(request, "memory/import_new.html", context)

    def titled(self, record: ImportRun) -> str:
        """Call it by what was imported."""
        return f"Import: {words(record.kind)}"

    @admin.display(description="import")
    def called(self, run: ImportRun) -> str:
        """What is imported."""
        return words(run.kind)

    @admin.display(description="progress")
    def progress(self, run: ImportRun) -> str:
        """Records that are done, of all."""
        return f"{run.messages_done} of {run.messages}"

    @admin.display(description="not read")
    def unread(self, run: ImportRun) -> str:
        """The files and records that could not be read, each with the reason, a line each."""
        faulty = run.imported_files.filter(account_id=run.account_id).exclude(fault="").order_by("name")
        told = [f"{file.name}: {file.fault}" for file in faulty[:SHOWN_FAULTS]]
        faults = run.import_faults.filter(account_id=run.account_id).order_by("line")
        told += [
            f"record {fault.line}: {fault.code}" + (f" ({fault.field})" if fault.field else "")
            for fault in faults[:SHOWN_FAULTS]
        ]
        return "\n".join(told)
