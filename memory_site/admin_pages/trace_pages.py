"""Traces: which reads there were, what happened to everything considered, the same read again, and why not a fact."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

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
from memory_site.admin_pages import trace_display
from memory_site.admin_pages.fact_display import instant, moment, plain, words
from memory_site.admin_pages.fact_search import facts_called
from memory_site.admin_pages.governed import GovernedAdmin, Queue, typed
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import Part, differences, isolated, shorten
from memory_site.admin_pages.trace_find import FindReads
from retrieval.models import Trace
from retrieval.traces import replay, told, why_not
from retrieval.traces.comparing import Change
from retrieval.traces.replay import REPLAYABLE, ReplayMode, Row
from retrieval.traces.writing import unpack

#: Characters of a question that a link carries.
LINKED_QUERY = 500
#: Facts offered where words were typed instead of an id.
OFFERED = 12


class TraceAdmin(GovernedAdmin):
    """The trace browser."""

    empty_list = (
        "No read left a trace in this time. Every call of POST /v1/context leaves one; look further back above."
    )
    list_display = ["asked", "created", "about", "place", "purpose", "served", "ended"]
    list_display_links = ["asked"]
    list_filter = [FindReads]
    change_list_template = "memory/trace_list.html"
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

    @admin.display(description="scope")
    def place(self, trace: Trace) -> str:
        """Where it was asked."""
        return trace.scope_path

    @admin.display(description="served")
    def served(self, trace: Trace) -> str:
        """Facts and passages served, of everything considered, and what was withheld of it."""
        told = f"{trace.facts_served + trace.passages_served} of {trace.considered}"
        return f"{told}, {trace.withheld} withheld" if trace.withheld else told

    @admin.display(description="ended")
    def ended(self, trace: Trace) -> str:
        """How it ended; of one that served nothing, why."""
        return f"{trace.status}, {words(trace.empty_reason)}" if trace.empty_reason else trace.status

    @admin.display(description="when")
    def created(self, trace: Trace) -> SafeString:
        """When it was read."""
        return instant(trace.created_at)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Show the list, saying which stretch of reads was looked through."""
        response = super().changelist_view(request, extra_context)
        changelist = getattr(response, "context_data", {}).get("cl")
        if changelist is not None:
            response.context_data["reads"] = next(
                (filtered for filtered in changelist.filter_specs if isinstance(filtered, FindReads)), None
            )
        return response

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
        other = ReplayMode.NOW if mode is ReplayMode.THEN else ReplayMode.THEN
        context = self.context(
            request,
            title="Asked again",
            trace=trace,
            found=found,
            rows=[(row, _reworded(row)) for row in found.rows],
            changes=Counter(_change(row) for row in found.rows),
            other=other,
        )
        return TemplateResponse(request, "memory/trace_replay.html", context)

    def why(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Say what became of one fact, whether or not it was considered."""
        trace = self.get_or_404(request, str(pk))
        eyes = of(request)
        asked = typed(request.GET, "fact")
        facts = eyes.facts().filter(readable=True).select_related("subject", "scope")
        meant = list(facts_called(facts, asked, eyes=eyes)[:OFFERED]) if asked else []
        named = len(meant) == 1 and asked == str(meant[0].pk)
        found = why_not.explain(request.principal, trace, meant[0]) if named else None
        context = self.context(
            request,
            title="Why not this fact?",
            trace=trace,
            asked=asked,
            found=found,
            offered=[] if named else meant,
            obstacles=[(one, [(name, _figure(value)) for name, value in one.detail.items()]) for one in found.obstacles]
            if found
            else [],
            error="" if meant else "There is no such fact, or none that you may read.",
        )
        return TemplateResponse(request, "memory/trace_why.html", context, status=200 if meant else 404)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one trace with its decisions."""
        eyes = of(request)
        trace = self.get_or_404(request, object_id)
        queue = Queue(self, request)
        decisions = unpack(trace.decisions)
        facts = _facts(eyes, [row["id"] for row in decisions if row["unit"] == IndexedUnit.FACT])
        passages = _passages(eyes, [row["id"] for row in decisions if row["unit"] == IndexedUnit.PASSAGE])
        for row in decisions:
            row["reason_words"] = words(row["reason"])
            row["fact"] = facts.get(row["id"])
            row["passage"] = passages.get(row["id"])
        in_parts = trace_display.with_bars(trace, decisions)
        context = self.context(
            request,
            title="Trace",
            trace=trace,
            subject_address=_subject_address(eyes, trace),
            groups=[
                (title, [row for row in decisions if row["unit"] == unit])
                for title, unit in (("Facts", IndexedUnit.FACT), ("Passages, word for word", IndexedUnit.PASSAGE))
            ],
            reasons=_reasons(decisions),
            actions=Counter(row["action"] for row in decisions),
            strategies=trace.strategies.items() if isinstance(trace.strategies, dict) else [],
            score_parts=trace_display.SCORE_PARTS if in_parts else (),
            budget=trace_display.budget_of(trace, decisions),
            stages=trace_display.stages_of(trace),
            blocked=trace_display.blocked(decisions),
            next_step=trace_display.next_step(trace),
            facts_address=_facts_address(trace),
            playground_address=_playground_address(trace),
            told=told.of_trace(trace, eyes.facts().filter(readable=True), _readable_passages(eyes)),
            replayable=trace.kind in REPLAYABLE,
            noun="read",
            **queue.links(trace.pk),
        )
        return TemplateResponse(request, "memory/trace.html", context)


def _change(row: Row) -> str:
    """Return what became of an item; of one that keeps its place, whether its words do."""
    if row.compared.change in {Change.SAME, Change.MOVED} and row.line_before != row.line_after:
        return "reworded"
    return row.compared.change.value


def _reworded(row: Row) -> list[list[Part]]:
    """Return the line of an item then and again, what differs marked; empty when it does not."""
    return differences([row.line_before, row.line_after]) if _change(row) == "reworded" else []


def _reasons(decisions: list[dict[str, Any]]) -> list[tuple[str, str, int, str]]:
    """Return the reasons that occur, most frequent first: action, reason, how often, and what it means."""
    counts = Counter((row["action"], row["reason_words"], row["meaning"]) for row in decisions)
    return [(action, reason, count, meaning) for (action, reason, meaning), count in counts.most_common()]


def _facts(eyes: Sight, ids: list[str]) -> dict[str, Fact]:
    """Return the considered facts that may be listed, with their subjects."""
    found = eyes.facts().select_related("subject", "scope").filter(pk__in=[uuid.UUID(text) for text in ids])
    return {str(fact.pk): fact for fact in found}


def _subject_address(eyes: Sight, trace: Trace) -> str:
    """Return the page of whom the read was about, for whoever may open it."""
    known = trace.subject_id and eyes.is_curator and eyes.subjects().filter(pk=trace.subject_id).exists()
    return reverse("admin:facts_subject_change", args=[trace.subject_id]) if known else ""


def _facts_address(trace: Trace) -> str:
    """Return the list of the facts about whom the read was, or of all."""
    about = {"subject": trace.subject_key} if trace.subject_key else {"_all": ""}
    return f"{reverse('admin:facts_fact_changelist')}?{urlencode(about)}"


def _playground_address(trace: Trace) -> str:
    """Return the playground with what was asked filled in; a question that is too long for an address is left out."""
    call = {"search": "search", "ask": "ask"}.get(trace.kind, "context")
    query = trace.query if len(trace.query) <= LINKED_QUERY else ""
    asked = {"query": query, "scope": trace.scope_path, "subject": trace.subject_key, "call": call}
    return f"{reverse('admin:playground')}?{urlencode({name: value for name, value in asked.items() if value})}"


def _readable_passages(eyes: Sight) -> QuerySet[Passage]:
    """Return the passages whose event may be read."""
    return Passage.objects.filter(account_id=eyes.principal.account_id, event__in=eyes.events())


def _passages(eyes: Sight, ids: list[str]) -> dict[str, Passage]:
    """Return the considered passages that may be read."""
    found = _readable_passages(eyes).filter(pk__in=[uuid.UUID(text) for text in ids]).select_related("subject")
    return {str(passage.pk): passage for passage in found}


def _figure(value: object) -> str:
    """Return what goes with an obstacle as text."""
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "–" if value is None else plain(value)
