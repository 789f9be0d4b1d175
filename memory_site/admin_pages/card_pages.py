"""Cards: what is served when nothing is asked, line by line with the facts that each line rests on."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts.models import Fact
from facts.models.evidence import Withheld
from memory_site.admin_pages.fact_display import instant, words
from memory_site.admin_pages.governed import GovernedAdmin, ScopeFilter, SubjectFilter
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import isolated
from retrieval.cards import rebuilding
from retrieval.cards.building import Line, folded
from retrieval.models import Card, CardKind


class CardAdmin(GovernedAdmin):
    """What cards say, and on what grounds. They are written by the worker; a curator can have one written anew."""

    empty_list = "No card was built yet. The worker builds them from facts within a minute or two."
    list_display = ["called", "kind_words", "scope", "lines_stored", "sources", "built", "due"]
    list_display_links = ["called"]
    list_filter = ["kind", ScopeFilter, SubjectFilter]
    list_select_related = ["scope", "subject"]
    ordering = ["-built_at", "-id"]

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to everybody: the cards about oneself, and those of the scopes one curates."""
        return True

    def visible(self, eyes: Sight) -> QuerySet[Card]:
        """Return the built cards that the person may look at; their lines are shown by what they rest on."""
        own = Q(subject_id=eyes.principal.subject_id) & Q(scope_id__in=eyes.scope_ids)
        curated = Q(scope_id__in=eyes.curated_ids)
        return Card.objects.filter(own | curated, account_id=eyes.principal.account_id).exclude(builder="")

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the button."""
        view = self.admin_site.admin_view(require_POST(self.rebuild))
        return [path("<uuid:pk>/rebuild/", view, name="card_rebuild"), *super().get_urls()]

    @admin.display(description="card")
    def called(self, card: Card) -> SafeString:
        """What it is called; a name that a fact gave it is shown with its lines only."""
        return isolated(_title(card))

    @admin.display(description="kind", ordering="kind")
    def kind_words(self, card: Card) -> str:
        """Its kind in words."""
        return words(card.kind)

    @admin.display(description="lines")
    def lines_stored(self, card: Card) -> int:
        """How many lines are stored."""
        return len(card.lines)

    @admin.display(description="built")
    def built(self, card: Card) -> SafeString:
        """When it was built."""
        return instant(card.built_at)

    @admin.display(description="next build")
    def due(self, card: Card) -> SafeString | str:
        """When it will be built again, as far as that is known."""
        return instant(card.due_at) if card.due_at else "after a change"

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one card, its lines and their facts."""
        eyes = of(request)
        card = self.get_or_404(request, object_id)
        stored = [Line.stored(line) for line in card.lines]
        facts = _facts(eyes, {fact_id for line in stored for fact_id in line.facts})
        lines = [_shown(line, facts) for line in stored]
        context = self.context(
            request,
            title="Card",
            card=card,
            name=card.title if _says(lines, card.title) else _title(card),
            lines=lines,
            may_rebuild=card.scope_id in eyes.curated_ids,
        )
        return TemplateResponse(request, "memory/card.html", context)

    def rebuild(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Have a card built anew from what is known now."""
        card = self.get_or_404(request, str(pk))
        if card.scope_id not in of(request).curated_ids:
            raise PermissionDenied
        if rebuilding.rebuild(card.account_id, card.pk) is None:
            messages.warning(request, "Too few facts are left to say anything: the card is gone.")
            return redirect(reverse("admin:retrieval_card_changelist"))
        messages.success(request, "Built anew.")
        return redirect(reverse("admin:retrieval_card_change", args=[pk]))


def _title(card: Card) -> str:
    """Return what a card is called without looking at its lines: a name comes from a fact that may be gone by now."""
    if card.kind == CardKind.SESSION_SUMMARY:
        return card.key
    if card.subject is not None:
        return card.subject.display_name
    return card.scope.path


def _says(lines: list[dict[str, Any]], title: str) -> bool:
    """Tell whether a line that is shown says the card's title."""
    return any(folded(title) in folded(line["text"] or "") for line in lines)


def _facts(eyes: Sight, fact_ids: set[uuid.UUID]) -> dict[uuid.UUID, Fact]:
    """Return the cited facts whose text may be shown and is not kept back from readers."""
    listed = eyes.facts().filter(pk__in=fact_ids, readable=True, withheld=Withheld.NOTHING)
    return {fact.pk: fact for fact in listed.select_related("subject")}


def _shown(line: Line, facts: dict[uuid.UUID, Fact]) -> dict[str, Any]:
    """Return a line for the template; without its text when one of its facts is not for the person to read."""
    cited = [facts.get(fact_id) for fact_id in line.facts]
    return {"text": line.text if cited and all(cited) else None, "facts": cited, "edited": line.edited}
