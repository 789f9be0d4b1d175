"""Records of work and decisions: jobs, the audit chain, what must not come back, what was forgotten."""

from __future__ import annotations

import uuid
from datetime import timedelta
from itertools import islice
from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe

from facts import audit, jobs
from facts.clock import now
from facts.ids import lower_bound
from facts.models import AuditEntry, Job, Suppression
from facts.models.records import JobStatus
from governance.models import ForgetReceipt, Role
from memory_site.admin_pages import audit_trail
from memory_site.admin_pages.fact_display import actor_name, words
from memory_site.admin_pages.governed import GovernedAdmin, SubjectFilter
from memory_site.admin_pages.texts import isolated

#: Faults of the audit chain that are named one by one.
NAMED_FAULTS = 10


class SinceFilter(admin.SimpleListFilter):
    """How far a list of records looks back. Ids begin with the time at which they were made."""

    title = "since"
    parameter_name = "since"
    spans = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [("day", "The last 24 hours"), ("week", "The last 7 days"), ("month", "The last 30 days")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        """Keep what was made since then."""
        span = self.spans.get(self.value() or "")
        return queryset if span is None else queryset.filter(pk__gte=lower_bound(now() - span))


class AboutFilter(admin.SimpleListFilter):
    """What the entries of the chain are about."""

    title = "about"
    parameter_name = "about"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the sorts of records that have entries."""
        return sorted((kind, words(kind)) for kind in audit_trail.KINDS.values())

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        """Keep those about one sort."""
        return queryset.filter(object_type=self.value()) if self.value() else queryset


class JobAdmin(GovernedAdmin):
    """The ledger of background work; what was given up can be tried again."""

    list_display = ["called", "state", "attempts", "error_class", "run_after", "created_at", "finished_at"]
    fields = ["state", "tries", "error_class", "error", "created_at", "run_after", "claimed_at", "finished_at"]
    fields += ["kind", "input_key", "recipe"]
    readonly_fields = ["state", "tries"]
    labels = {
        "error_class": "Why it failed",
        "error": "In full",
        "created_at": "Handed over",
        "run_after": "Not before",
        "claimed_at": "Last taken up",
        "finished_at": "Over",
        "input_key": "About",
        "recipe": "In which way",
    }
    empty_list = "No work was handed to the worker yet. What is sent to POST /v1/capture makes some."
    list_filter = ["status", SinceFilter]
    ordering = ["-id"]
    search_fields = ["kind"]
    search_help_text = "The start of a kind, such as ingest; the id of a job, or of what it is about."
    change_form_template = "memory/job.html"

    def titled(self, record: Job) -> str:
        """Call it by what is to be done."""
        return f"Job: {words(record.kind)}"

    @admin.display(description="work")
    def called(self, job: Job) -> str:
        """What is to be done."""
        return words(job.kind)

    @admin.display(description="state")
    def state(self, job: Job) -> SafeString:
        """Where it stands."""
        text = "given up" if job.status == JobStatus.DEAD else words(job.status)
        sort = {JobStatus.DEAD: "blocked", JobStatus.DONE: "included"}.get(job.status, "")
        return format_html('<span class="chip {}">{}</span>', sort, text)

    @admin.display(description="tries")
    def tries(self, job: Job) -> str:
        """How often it was tried, and how often it is."""
        return f"{job.attempts} of {job.max_attempts}"

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the button."""
        view = self.admin_site.admin_view(require_POST(self.retry))
        return [path("<uuid:pk>/retry/", view, name="job_retry"), *super().get_urls()]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Job], search_term: str
    ) -> tuple[QuerySet[Job], bool]:
        """Look for a job, for those about something, or for those of a kind."""
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            pk = uuid.UUID(term)
        except ValueError:
            return queryset.filter(kind__startswith=term), False
        return queryset.filter(Q(pk=pk) | Q(input_key=str(pk))), False

    def retry(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Queue a job again that was given up, or that pauses."""
        job = self.get_or_404(request, str(pk))
        if jobs.retry(job.account_id, job.pk) is None:
            messages.warning(request, "Only a job that was given up, or that pauses, can be tried again.")
        else:
            messages.success(request, "Queued again.")
        return redirect(reverse("admin:facts_job_change", args=[pk]))

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **options: Any) -> HttpResponse:
        """Tell the template whether there is anything to try again."""
        context["may_retry"] = jobs.may_retry(context["original"])
        return super().render_change_form(request, context, **options)


class AuditAdmin(GovernedAdmin):
    """The audit chain of the account, and a button that walks it."""

    list_title = "Audit trail"
    list_display = ["seq", "occurred_at", "said", "by", "thing"]
    list_display_links = ["seq"]
    fields = ["seq", "occurred_at", "said", "thing", "by", "changes", "object_id", "group", "previous_hash", "hash"]
    readonly_fields = ["said", "thing", "by", "changes"]
    labels = {
        "seq": "Number",
        "occurred_at": "When",
        "object_id": "Identifier",
        "group": "One decision with",
        "previous_hash": "Hash of the one before",
    }
    empty_list = "Nothing was decided or changed yet."
    list_filter = [AboutFilter, SinceFilter]
    ordering = ["-seq"]
    search_fields = ["object_id"]
    search_help_text = "The id of the fact, conflict set or other object."
    change_list_template = "memory/audit_list.html"

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the button."""
        return [
            path("verify/", self.admin_site.admin_view(require_POST(self.verify)), name="audit_verify"),
            path("of/<slug:kind>/<uuid:pk>/", self.admin_site.admin_view(require_safe(self.trail)), name="audit_trail"),
            *super().get_urls(),
        ]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AuditEntry], search_term: str
    ) -> tuple[QuerySet[AuditEntry], bool]:
        """Look for the entries of one object."""
        term = search_term.strip()
        return (queryset.filter(object_id=term) if term else queryset), False

    def titled(self, record: AuditEntry) -> str:
        """Call it by its number."""
        return f"Audit entry {record.seq}"

    @admin.display(description="by")
    def by(self, entry: AuditEntry) -> SafeString:
        """Who did it."""
        return isolated(actor_name(entry.actor))

    @admin.display(description="what")
    def said(self, entry: AuditEntry) -> str:
        """What was done."""
        return words(entry.action)

    @admin.display(description="about")
    def thing(self, entry: AuditEntry) -> SafeString:
        """What it is about, as the way to everything that the chain says of it."""
        kind, short = words(entry.object_type), audit_trail.short(entry.object_id)
        if not (audit_trail.is_known(entry.object_type) and _is_id(entry.object_id)):
            return format_html("{} <code>{}</code>", kind, short)
        address = reverse("admin:audit_trail", args=[entry.object_type, entry.object_id])
        return format_html('<a href="{}">{} <code>{}</code></a>', address, kind, short)

    @admin.display(description="details")
    def changes(self, entry: AuditEntry) -> SafeString:
        """Its ids, states and counts."""
        return isolated(audit_trail.details(entry.metadata) or "–")

    def trail(self, request: HttpRequest, kind: str, pk: uuid.UUID) -> HttpResponse:
        """Show what the chain says of one object and of what was decided about it."""
        if not self.has_view_permission(request):
            return HttpResponse(status=403)
        if not audit_trail.is_known(kind):
            raise Http404
        context = self.context(
            request,
            title="Audit trail",
            kind=kind,
            pk=str(pk),
            page=audit_trail.page_of(kind),
            lines=audit_trail.lines(request.principal.account_id, kind, pk),
            most=audit_trail.SHOWN,
        )
        return TemplateResponse(request, "memory/audit_trail.html", context)

    def verify(self, request: HttpRequest) -> HttpResponse:
        """Walk the whole chain and say what is wrong with it."""
        if not self.has_view_permission(request):
            return HttpResponse(status=403)
        account_id = request.principal.account_id
        faults = list(islice(audit.verify(account_id), NAMED_FAULTS + 1))
        if not faults:
            count = AuditEntry.objects.filter(account_id=account_id).count()
            messages.success(request, f"The chain is sound: {count:,} entries, each pointing to the one before it.")
        for fault in faults[:NAMED_FAULTS]:
            messages.error(request, f"Entry {fault.seq}: {fault.problem}.")
        if len(faults) > NAMED_FAULTS:
            messages.error(request, "There are more faults; manage.py verify_audit lists them all.")
        return redirect(reverse("admin:facts_auditentry_changelist"))


class SuppressionAdmin(GovernedAdmin):
    """What was rejected or forgotten and is not to be read again."""

    list_display = ["about", "cause", "evidence_until", "by", "created_at", "lifted_at"]
    fields = ["subject", "cause", "evidence_until", "actor", "created_at", "lifted_at"]
    empty_list = "Nothing is kept out. What is rejected, forgotten or erased is not read again, and appears here."
    list_filter = ["cause", SubjectFilter]
    list_select_related = ["subject"]
    ordering = ["-id"]
    needs = Role.CURATOR

    @admin.display(description="by")
    def by(self, suppression: Suppression) -> str:
        """Who decided it."""
        return actor_name(suppression.actor)


class ForgetReceiptAdmin(GovernedAdmin):
    """What was forgotten on whose request, in numbers."""

    list_display = ["created_at", "mode", "target", "target_id", "by", "lifted_at"]
    empty_list = "Nothing was forgotten or erased on request. The page of a fact or subject has buttons for it."
    fields = ["mode", "target", "target_id", "counters", "actor", "reason", "created_at", "lifted_at", "lifted_by"]
    list_filter = ["mode", SinceFilter]
    ordering = ["-id"]
    search_fields = ["target_id"]
    search_help_text = "The id of the fact or subject that was forgotten."

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ForgetReceipt], search_term: str
    ) -> tuple[QuerySet[ForgetReceipt], bool]:
        """Look for the receipts of one thing."""
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            return queryset.filter(target_id=uuid.UUID(term)), False
        except ValueError:
            return queryset.none(), False

    @admin.display(description="by")
    def by(self, receipt: ForgetReceipt) -> str:
        """Who asked."""
        return actor_name(receipt.actor)


def _is_id(text: str) -> bool:
    """Tell whether a text is an id of ours."""
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
