"""Cards: what is served when nothing is asked, line by line with the facts that each line rests on."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
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

from facts.errors import DomainError
from facts.models import Fact
from facts.models.evidence import Withheld
from memory_site.admin_pages.card_history import decisions, history
from memory_site.admin_pages.fact_display import instant, words
from memory_site.admin_pages.governed import GovernedAdmin, ScopeFilter, SubjectFilter, typed
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import isolated
from retrieval.cards import editing, nightly, rebuilding, sections
from retrieval.cards.building import Line, folded
from retrieval.models import Card, CardKind

#: Versions that the page of a card shows, the youngest.
VERSIONS = 8


class CardAdmin(GovernedAdmin):
    """What cards say, and on what grounds.

    They are written by the worker. A curator can have one written anew; curators, and the subject of a profile, can
    reword, pin and remove lines.
    """

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
        """Add the addresses of the buttons."""
        views = {"rebuild": self.rebuild, "compact": self.compact, "line": self.decide, "undo": self.undo}
        own = [
            path(f"<uuid:pk>/{name}/", self.admin_site.admin_view(require_POST(view)), name=f"card_{name}")
            for name, view in views.items()
        ]
        return [*own, *super().get_urls()]

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
        stored = sorted(map(Line.stored, card.lines), key=lambda line: sections.place(line.section))
        facts = _facts(eyes, {fact_id for line in stored for fact_id in line.facts})
        lines = [_shown(line, facts) for line in stored]
        may_edit = _may_edit(eyes, card)
        made = list(card.edits.select_related("made_by__user").filter(undone_at=None)) if may_edit else []
        versions = list(card.versions.select_related("made_by__user")[: VERSIONS + 1]) if may_edit else []
        cited = {fact_id for edit in made for fact_id in edit.original["facts"]}
        cited |= {fact_id for version in versions for line in version.lines for fact_id in line["facts"]}
        readable = _readable(eyes, cited)
        context = self.context(
            request,
            title="Card",
            card=card,
            name=card.title if _says(lines, card.title) else _title(card),
            lines=lines,
            may_rebuild=card.scope_id in eyes.curated_ids,
            may_edit=may_edit,
            longest=editing.CHARACTERS,
            decisions=decisions(made, stored, readable),
            history=history(versions, readable, most=VERSIONS),
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

    def compact(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Have a card compacted as a whole, by the model where there is one; the worker does it."""
        card = self.get_or_404(request, str(pk))
        if card.scope_id not in of(request).curated_ids:
            raise PermissionDenied
        nightly.ask_for(card)
        messages.success(request, "The worker sums it up within a minute or so.")
        return _back(card)

    def decide(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Reword, pin or remove one line."""
        eyes = of(request)
        card = self.get_or_404(request, str(pk))
        line, decision = typed(request.POST, "line"), typed(request.POST, "decision")
        named = [stored for stored in card.lines if editing.name_of(stored) == line]
        cited = {uuid.UUID(fact_id) for stored in named for fact_id in stored["facts"]}
        if not _may_edit(eyes, card) or _facts(eyes, cited).keys() != cited:
            raise PermissionDenied
        actor = eyes.principal.actor
        try:
            if decision == "reword":
                editing.reword(card, line, typed(request.POST, "text"), actor=actor)
            elif decision == "pin":
                editing.pin(card, line, actor=actor)
            elif decision == "remove":
                editing.remove(card, line, actor=actor)
            else:
                raise PermissionDenied
        except DomainError as error:
            messages.error(request, error.message)
        else:
            messages.success(request, "Done. It stays so through every build until somebody takes it back.")
        return _back(card)

    def undo(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Take a decision about a line back."""
        eyes = of(request)
        card = self.get_or_404(request, str(pk))
        if not _may_edit(eyes, card):
            raise PermissionDenied
        try:
            editing.undo(card, uuid.UUID(typed(request.POST, "edit")), actor=eyes.principal.actor)
        except ValueError:
            raise PermissionDenied from None
        except DomainError as error:
            messages.error(request, error.message)
        else:
            messages.success(request, "Taken back.")
        return _back(card)


def lines_of(eyes: Sight, cards: Sequence[Card]) -> list[list[dict[str, Any]]]:
    """Return the lines of each card that the person may read, with their facts; one query for all cards."""
    stored = [sorted(map(Line.stored, card.lines), key=lambda line: sections.place(line.section)) for card in cards]
    facts = _facts(eyes, {fact_id for lines in stored for line in lines for fact_id in line.facts})
    return [[shown for line in lines if (shown := _shown(line, facts))["text"] is not None] for lines in stored]


def _may_edit(eyes: Sight, card: Card) -> bool:
    """Tell whether the person may decide about lines: who curates the scope, and whom the profile is about."""
    return card.scope_id in eyes.curated_ids or card.subject_id == eyes.principal.subject_id


def _back(card: Card) -> HttpResponse:
    """Return to the card, or to the list when nothing is left of it."""
    if Card.objects.filter(account_id=card.account_id, pk=card.pk).exists():
        return redirect(reverse("admin:retrieval_card_change", args=[card.pk]))
    return redirect(reverse("admin:retrieval_card_changelist"))


def _readable(eyes: Sight, fact_ids: set[str]) -> dict[uuid.UUID, int]:
    """Return those of these facts whose text may be shown, however it ended with them, with their version."""
    listed = eyes.facts().filter(pk__in=fact_ids, readable=True, withheld=Withheld.NOTHING)
    return dict(listed.values_list("id", "version"))


def _title(card: Card) -> str:
    """Return what a card is called without looking at its lines: a name comes from a fact that may be gone by now."""
    if card.kind == CardKind.SESSION_SUMMARY:
        return card.key
    if card.subject is not None:
        return card.subject.display_name
    if card.kind == CardKind.SHARED_PROFILE:
        return card.title
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
    shown = bool(cited) and all(cited)
    return {
        "text": line.text if shown else None,
        "facts": cited,
        "edited": line.edited,
        "section": line.section if shown else "",
        "name": editing.name_of(line.as_json()),
    }
