"""Long work: what is under way, how far it is, how long it will take, and its end or going on."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts import long_jobs, progress_lines
from facts.errors import DomainError
from facts.models import LongJob
from facts.tenancy import account_transaction
from ingest import backfill
from ingest.models import BackfillChannel
from memory_site.admin_pages.fact_display import actor_name, instant
from memory_site.admin_pages.governed import GovernedAdmin
from memory_site.admin_pages.texts import isolated


class LongJobAdmin(GovernedAdmin):
    """The long work of the account; the command `manage.py jobs` shows the same."""

    list_title = "Long work"
    empty_list = "Nothing that takes long was begun yet: no import, no backfill, no rebuild."
    list_display = ["work", "state", "bar", "amount", "time_left", "last_sign"]
    list_display_links = ["work"]
    list_filter = ["state"]
    ordering = ["-id"]

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses of the buttons."""
        return [
            path("<uuid:pk>/cancel/", self.admin_site.admin_view(require_POST(self.cancel)), name="long_job_cancel"),
            path("<uuid:pk>/resume/", self.admin_site.admin_view(require_POST(self.resume)), name="long_job_resume"),
            *super().get_urls(),
        ]

    @admin.display(description="work")
    def work(self, job: LongJob) -> SafeString:
        """What it is, and what it is done to."""
        title = long_jobs.kind_of(job.kind).title
        return format_html("{} {}", title, isolated(job.title)) if job.title else format_html("{}", title)

    @admin.display(description="done")
    def bar(self, job: LongJob) -> SafeString | str:
        """The part that is done."""
        share = progress_lines.share(job)
        if share is None:
            return "–"
        return format_html(
            '<progress max="1" value="{}" aria-label="done">{}</progress>', f"{share:.3f}", f"{share:.0%}"
        )

    @admin.display(description="amount")
    def amount(self, job: LongJob) -> str:
        """How much of how much."""
        return progress_lines.amount(job)

    @admin.display(description="time left")
    def time_left(self, job: LongJob) -> str:
        """How long it will take."""
        return progress_lines.rest(job) or "–"

    @admin.display(description="last sign of life")
    def last_sign(self, job: LongJob) -> SafeString:
        """When it was heard of last."""
        return instant(job.updated_at)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one piece of work."""
        job = self.get_or_404(request, object_id)
        kind = long_jobs.kind_of(job.kind)
        context = self.context(
            request,
            title=kind.title,
            job=job,
            original=job,
            kind=kind,
            share=progress_lines.share(job),
            amount=progress_lines.amount(job),
            rest=progress_lines.rest(job),
            estimated_end=long_jobs.estimated_end(job),
            counts=sorted(job.counts.items(), key=lambda pair: (-pair[1], pair[0])),
            started_by=actor_name(job.started_by),
            cancelled_by=actor_name(job.cancelled_by) if job.cancelled_by else "",
            channels=_channels(job),
            may_cancel=job.is_open and job.state != "cancelling",
            may_resume=long_jobs.may_resume(job),
            # Not by looking at the step in the template, which would call it.
            worker_goes_on=kind.step is not None,
        )
        return TemplateResponse(request, "memory/long_job.html", context)

    def cancel(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """End it with its next step."""
        return self._do(request, pk, long_jobs.cancel, "It ends with its next step; what was done is kept.")

    def resume(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Let it go on where it stopped."""
        job = self.get_or_404(request, str(pk))
        kind = long_jobs.kind_of(job.kind)
        said = "Queued: the worker goes on with it." if kind.step else f"Call its command again: {kind.command}"
        return self._do(request, pk, long_jobs.resume, said)

    def _do(self, request: HttpRequest, pk: uuid.UUID, verb: Any, said: str) -> HttpResponse:
        job = self.get_or_404(request, str(pk))
        try:
            with account_transaction(job.account_id):
                verb(job.account_id, job.pk, actor=request.principal.actor)
        except DomainError as error:
            messages.warning(request, error.message)
        else:
            messages.success(request, said)
        return redirect(reverse("admin:facts_longjob_change", args=[pk]))


def _channels(job: LongJob) -> list[tuple[BackfillChannel, str]]:
    """Return the channels that a backfill reads, with their names; none for other work."""
    if job.kind != backfill.KIND:
        return []
    return [(row, name) for row, name in backfill.states(job.account_id) if row.work_id == job.pk]
