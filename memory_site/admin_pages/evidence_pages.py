"""Events: what was said, word for word, and what became of it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString

from facts.models import Event, Evidence, Fact
from ingest.models import CandidateOutcome, EventOutcome
from memory_site.admin_pages.fact_display import instant, words
from memory_site.admin_pages.governed import GovernedAdmin, ScopeFilter, SubjectFilter
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import isolated, shorten
from memory_site.admin_pages.threads import speaker_of

#: Rows of each list on the page of an event.
SHOWN = 100


class ProcessedFilter(admin.SimpleListFilter):
    """Whether an event was read already."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [("waiting", "Waits to be processed"), ("processed", "Processed"), ("withdrawn", "Withdrawn")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        """Keep the chosen ones."""
        match self.value():
            case "waiting":
                return queryset.filter(processed_at=None)
            case "processed":
                return queryset.exclude(processed_at=None)
            case "withdrawn":
                return queryset.exclude(withdrawn_at=None)
            case _:
                return queryset


class EventAdmin(GovernedAdmin):
    """What was said. Nothing here can be changed: evidence is append-only."""

    empty_list = "Nothing was said yet. Applications send messages to POST /v1/capture."
    list_display = ["said", "who", "about", "scope", "trust", "happened", "came_of_it"]
    list_display_links = ["said"]
    list_filter = [ProcessedFilter, "source_type", "origin_trust", ScopeFilter, SubjectFilter]
    list_select_related = ["subject", "scope", "speaker"]
    ordering = ["-id"]
    counted = 1_000  # whether a message may be read depends on its passages and the facts that cite it
    search_fields = ["source_key"]
    search_help_text = "The exact source key or thread."

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to everybody; the rows differ."""
        return True

    def visible(self, eyes: Sight) -> QuerySet[Event]:
        """Return the events that may be read."""
        return eyes.events().prefetch_related("outcomes")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Event], search_term: str
    ) -> tuple[QuerySet[Event], bool]:
        """Look for an exact source key or thread; texts are searched through facts."""
        term = search_term.strip()
        return (queryset.filter(Q(source_key=term) | Q(thread=term)) if term else queryset), False

    @admin.display(description="said")
    def said(self, event: Event) -> str | SafeString:
        """The text, shortened."""
        if event.text_removed_at is not None:
            return "(kept no longer)"
        return isolated(shorten(event.text, 120)) if event.text else "(no text)"

    @admin.display(description="by")
    def who(self, event: Event) -> SafeString:
        """Who said it."""
        return isolated(speaker_of(event))

    @admin.display(description="trust")
    def trust(self, event: Event) -> str:
        """How far its origin is trusted."""
        return words(event.origin_trust)

    @admin.display(description="occurred")
    def happened(self, event: Event) -> SafeString:
        """When it was said."""
        return instant(event.occurred_at)

    @admin.display(description="became")
    def came_of_it(self, event: Event) -> str:
        """What became of it, by the latest processing."""
        outcomes = sorted(event.outcomes.all(), key=lambda outcome: outcome.pk)
        return outcomes[-1].get_result_display() if outcomes else "–"

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one event, its revisions, and what became of it."""
        eyes = of(request)
        event = self.get_or_404(request, object_id)
        owned = {"account_id": event.account_id}
        outcomes = list(EventOutcome.objects.filter(event=event, **owned).order_by("-id")[:SHOWN])
        candidates = CandidateOutcome.objects.filter(outcome__in=[row.pk for row in outcomes], **owned)
        evidence = list(
            Evidence.objects.filter(event=event, **owned).select_related("event").order_by("created_at")[:SHOWN]
        )
        facts = eyes.facts().select_related("subject").in_bulk({row.fact_id for row in evidence})
        context = self.context(
            request,
            title="Event",
            event=event,
            speaker=speaker_of(event),
            passages=list(event.passages.order_by("ordinal")[:SHOWN]),
            revisions=list(
                eyes.events().filter(source_key=event.source_key).exclude(pk=event.pk).order_by("revision")[:SHOWN]
            ),
            outcomes=outcomes,
            candidates=list(candidates.order_by("ordinal")[:SHOWN]),
            cited=[(_quote(row, facts.get(row.fact_id)), facts.get(row.fact_id)) for row in evidence],
        )
        return TemplateResponse(request, "memory/event.html", context)


def _quote(row: Evidence, fact: Fact | None) -> str:
    """Return the quoted words: of a message whose words are kept no longer only with a fact that may be read."""
    kept = row.event.text_removed_at is None
    return row.quote if kept or (fact is not None and fact.readable) else ""
