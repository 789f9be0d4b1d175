"""Traces: which reads there were, what happened to everything considered, the same read again, and why not a fact."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET, require_POST

from facts.errors import DomainError
from facts.models import Fact, IndexedUnit, Passage
from memory_site.admin_pages.fact_display import instant, moment, plain, words
from memory_site.admin_pages.governed import GovernedAdmin, SubjectFilter, typed
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import isolated, shorten
from retrieval.models import Trace
from retrieval.traces import replay, why_not
from retrieval.traces.replay import REPLAYABLE, ReplayMode
from retrieval.traces.writing import unpack


class ServedFilter(admin.SimpleListFilter):
    """Whether a read served any fact."""

    title = "served"
    parameter_name = "served"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [("facts", "Some facts"), ("nothing", "Nothing"), ("withheld", "Something was withheld")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Trace]) -> QuerySet[Trace]:
        """Keep the chosen ones."""
        match self.value():
            case "facts":
                return queryset.filter(facts_served__gt=0)
            case "nothing":
                return queryset.filter(facts_served=0, passages_served=0)
            case "withheld":
                return queryset.filter(withheld__gt=0)
            case _:
                return queryset


class StatusFilter(admin.SimpleListFilter):
    """How a read ended."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [("ok", "Complete"), ("degraded", "Degraded"), ("failed", "Failed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Trace]) -> QuerySet[Trace]:
        """Keep the chosen ones."""
        return queryset.filter(status=self.value()) if self.value() else queryset


class TraceAdmin(GovernedAdmin):
    """The trace browser."""

    empty_list = "No read left a trace yet. Every call of POST /v1/context leaves one."
    list_display = ["asked", "about", "scope_path", "purpose", "served", "withheld", "cost", "status", "created"]
    list_display_links = ["asked"]
    list_filter = [StatusFilter, ServedFilter, SubjectFilter]
    list_select_related = ["subject"]
    ordering = ["-id"]

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to everybody: one's own reads, and those of the scopes one curates."""
        return True

    def visible(self, eyes: Sight) -> QuerySet[Trace]:
        """Return the traces that may be inspected."""
        return eyes.traces()

    @admin.display(description="question")
    def asked(self, trace: Trace) -> str | SafeString:
        """What was asked."""
        return isolated(shorten(trace.query, 100)) if trace.query else "(nothing: standing context)"

    @admin.display(description="subject")
    def about(self, trace: Trace) -> SafeString | str:
        """Whom it was about."""
        return isolated(trace.subject_key) if trace.subject_key else "–"

    @admin.display(description="served")
    def served(self, trace: Trace) -> str:
        """Facts and passages served, of everything considered."""
        return f"{trace.facts_served} + {trace.passages_served} of {trace.considered}"

    @admin.display(description="tokens")
    def cost(self, trace: Trace) -> str:
        """What was used of the budget."""
        return f"{trace.tokens} of {trace.budget}" if trace.budget_unit == "tokens" else str(trace.tokens)

    @admin.display(description="when")
    def created(self, trace: Trace) -> SafeString:
        """When it was read."""
        return instant(trace.created_at)

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses of the two questions that can be asked about a trace."""
        view = self.admin_site.admin_view
        return [
            path("<uuid:pk>/replay/", view(require_POST(self.replay)), name="trace_replay"),
            path("<uuid:pk>/why/", view(require_GET(self.why)), name="trace_why"),
            *super().get_urls(),
        ]

    def replay(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Ask again, of the store as it was or as it is, and show both answers side by side."""
        trace = self.get_or_404(request, str(pk))
        mode = ReplayMode.THEN if request.POST.get("mode") == ReplayMode.THEN else ReplayMode.NOW
        try:
            found = replay.replay(request.principal, trace.pk, mode=mode)
        except DomainError as error:
            messages.error(request, error.message)
            return redirect(reverse("admin:retrieval_trace_change", args=[pk]))
        context = self.context(request, title="Asked again", trace=trace, found=found)
        return TemplateResponse(request, "memory/trace_replay.html", context)

    def why(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Say what became of one fact, whether or not it was considered."""
        trace = self.get_or_404(request, str(pk))
        asked, found, error = typed(request.GET, "fact"), None, ""
        try:
            fact = _facts(of(request), [str(uuid.UUID(asked))]).get(str(uuid.UUID(asked)))
        except ValueError:
            error = "A fact is named by its id, such as its page shows it."
        else:
            if fact is not None and fact.readable:
                found = why_not.explain(request.principal, trace, fact)
            else:
                error = "There is no such fact, or none that you may read."
        context = self.context(
            request,
            title="Why not this fact?",
            trace=trace,
            asked=asked,
            found=found,
            obstacles=[(one, [(name, _figure(value)) for name, value in one.detail.items()]) for one in found.obstacles]
            if found
            else [],
            error=error,
        )
        return TemplateResponse(request, "memory/trace_why.html", context, status=200 if found else 404)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one trace with its decisions."""
        eyes = of(request)
        trace = self.get_or_404(request, object_id)
        decisions = unpack(trace.decisions)
        facts = _facts(eyes, [row["id"] for row in decisions if row["unit"] == IndexedUnit.FACT])
        passages = _passages(eyes, [row["id"] for row in decisions if row["unit"] == IndexedUnit.PASSAGE])
        for row in decisions:
            row["reason_words"] = words(row["reason"])
            row["fact"] = facts.get(row["id"])
            row["passage"] = passages.get(row["id"])
            row["share"] = _share(row["fusion_score"])
        context = self.context(
            request,
            title="Trace",
            trace=trace,
            groups=[
                (title, [row for row in decisions if row["unit"] == unit])
                for title, unit in (("Facts", IndexedUnit.FACT), ("Passages, word for word", IndexedUnit.PASSAGE))
            ],
            reasons=_reasons(decisions),
            actions=Counter(row["action"] for row in decisions),
            strategies=trace.strategies.items() if isinstance(trace.strategies, dict) else [],
            timings=trace.timings.items() if isinstance(trace.timings, dict) else [],
            replayable=trace.kind in REPLAYABLE,
            used=_share(trace.tokens / trace.budget if trace.budget and trace.budget_unit == "tokens" else None),
        )
        return TemplateResponse(request, "memory/trace.html", context)


def _reasons(decisions: list[dict[str, Any]]) -> list[tuple[str, str, int, str]]:
    """Return the reasons that occur, most frequent first: action, reason, how often, and what it means."""
    counts = Counter((row["action"], row["reason_words"], row["meaning"]) for row in decisions)
    return [(action, reason, count, meaning) for (action, reason, meaning), count in counts.most_common()]


def _facts(eyes: Sight, ids: list[str]) -> dict[str, Fact]:
    """Return the considered facts that may be listed, with their subjects."""
    found = eyes.facts().select_related("subject", "scope").filter(pk__in=[uuid.UUID(text) for text in ids])
    return {str(fact.pk): fact for fact in found}


def _passages(eyes: Sight, ids: list[str]) -> dict[str, Passage]:
    """Return the considered passages whose event may be read."""
    found = Passage.objects.filter(account_id=eyes.principal.account_id, pk__in=[uuid.UUID(text) for text in ids])
    found = found.filter(event__in=eyes.events()).select_related("subject")
    return {str(passage.pk): passage for passage in found}


def _share(value: float | None) -> int | None:
    """Return a part of one in whole percent, for a bar."""
    return None if value is None else round(100 * min(max(value, 0.0), 1.0))


def _figure(value: object) -> str:
    """Return what goes with an obstacle as text."""
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "–" if value is None else plain(value)
