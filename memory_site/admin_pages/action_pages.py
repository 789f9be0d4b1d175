"""Actions: tasks, blockers, alerts, flags and messages, with what people do about them; and moods."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts.errors import DomainError
from facts.models import Evidence
from ingest.actions import deciding, selectors
from ingest.models import Action, ActionState, Delivery, MoodEntry
from ingest.moods import entering
from memory_site.admin_pages import threads
from memory_site.admin_pages.fact_display import instant, words
from memory_site.admin_pages.fact_pages import HIDDEN
from memory_site.admin_pages.governed import DefaultChoiceFilter, GovernedAdmin, ScopeFilter, SubjectFilter, typed
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import isolated, shorten

#: What the buttons do, and what is said afterwards.
VERBS = {
    "done": (deciding.finish, "Done."),
    "dismiss": (deciding.dismiss, "Dismissed."),
    "reopen": (deciding.reopen, "Open again."),
}


class ActionStateFilter(DefaultChoiceFilter):
    """Which actions: open ones, unless another choice is made."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [(state.value, words(state.value)) for state in ActionState] + [(self.everything, "All")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Action]) -> QuerySet[Action]:
        """Keep the chosen ones."""
        chosen = self.value() or ActionState.OPEN
        return queryset if chosen == self.everything else queryset.filter(state=chosen)


class GivenToFilter(DefaultChoiceFilter):
    """To whom it is given: anybody, unless another choice is made."""

    title = "given to"
    parameter_name = "given"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [(self.everything, "Anybody"), ("me", "Me"), ("nobody", "Nobody")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Action]) -> QuerySet[Action]:
        """Keep the chosen ones."""
        match self.value():
            case "me":
                return queryset.filter(assignee_id=request.principal.subject_id)
            case "nobody":
                return queryset.filter(assignee__isnull=True)
            case _:
                return queryset


class ActionAdmin(GovernedAdmin):
    """What the system does about facts; open to everybody, who sees their own, and curators those of their scopes."""

    list_title = "Actions"
    empty_list = "Nothing is to be done. Tasks, blockers, alerts and flags appear here when facts set off a rule."
    list_display = ["kind", "said", "about", "given_to", "due_on", "state", "why", "since"]
    list_display_links = ["kind", "said"]
    list_filter = [ActionStateFilter, GivenToFilter, "kind", ScopeFilter, SubjectFilter]

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to every member."""
        return True

    def visible(self, eyes: Sight) -> QuerySet[Action]:
        """Return one's own, and those of the scopes that one curates."""
        return selectors.visible(eyes.principal)

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the buttons."""
        view = self.admin_site.admin_view(require_POST(self.decide))
        return [path("<uuid:pk>/decide/", view, name="action_decide"), *super().get_urls()]

    @admin.display(description="what")
    def said(self, action: Action) -> str | SafeString:
        """The statement behind it, for whoever may read it."""
        return isolated(shorten(action.fact.statement, 120)) if action.readable else HIDDEN

    @admin.display(description="given to")
    def given_to(self, action: Action) -> str | SafeString:
        """Whose it is."""
        return isolated(action.assignee.display_name) if action.assignee else "–"

    @admin.display(description="why")
    def why(self, action: Action) -> str:
        """Why it was closed by itself, or nobody was told."""
        return words(action.reason)

    @admin.display(description="since")
    def since(self, action: Action) -> SafeString:
        """When it was opened."""
        return instant(action.created_at)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Mark, on the rows of a page, those whose words this person may read."""
        changelist = super().get_changelist_instance(request)
        for action in changelist.result_list:
            action.readable = selectors.may_read_words(request.principal, action)
        return changelist

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one action with its fact, the evidence and what was sent."""
        return self._page(request, self.get_or_404(request, object_id))

    def decide(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Do what the pressed button says."""
        action = self.get_or_404(request, str(pk))
        verb = request.POST.get("verb", "")
        seen = request.POST.get("version", "")
        expected = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else None
        try:
            if verb == "assign":
                person = typed(request.POST, "person")
                deciding.assign(request.principal, action.pk, person=person, expected_version=expected)
                said = "Given." if person else "In nobody's hands."
            elif verb in VERBS:
                service, said = VERBS[verb]
                service(request.principal, action.pk, expected_version=expected)
            else:
                raise DomainError("There is no such button.", code="unknown_decision")
        except DomainError as error:
            return self._page(request, action, error=error)
        messages.success(request, said)
        return redirect(reverse("admin:ingest_action_change", args=[pk]))

    def _page(self, request: HttpRequest, action: Action, *, error: DomainError | None = None) -> HttpResponse:
        eyes = of(request)
        action = self.visible(eyes).get(pk=action.pk)
        readable = selectors.may_read_words(eyes.principal, action)
        evidence = (
            Evidence.objects.filter(account_id=action.account_id, fact=action.fact)
            .select_related("event", "event__speaker", "event__subject", "event__scope")
            .order_by("-event__occurred_at")[: threads.SHOWN_EVIDENCE]
        )
        decidable = deciding.may_decide(eyes.principal, action)
        context = self.context(
            request,
            title=words(action.kind).capitalize(),
            action=action,
            fact=action.fact,
            readable=readable,
            hidden=HIDDEN,
            about=self.about(action),
            excerpts=threads.excerpts(eyes, evidence).get(action.fact_id, []) if readable else [],
            sent=Delivery.objects.filter(account_id=action.account_id, object_id=action.id).select_related("target"),
            may_close=decidable and action.state == ActionState.OPEN,
            may_reopen=decidable
            and action.state in {ActionState.DONE, ActionState.DISMISSED}
            and not action.state_before,
            may_assign=action.state == ActionState.OPEN and deciding.may_decide(eyes.principal, action, by_role=True),
            error=error,
        )
        return TemplateResponse(request, "memory/action.html", context, status=200 if error is None else error.status)


class MoodAdmin(GovernedAdmin):
    """How people felt: one's own days; everybody's for curators of the whole account."""

    list_title = "Moods"
    empty_list = "No moods yet. They are entered by people, or read out of what was said, at the end of each day."
    list_display = ["day", "about", "score", "source", "note"]
    list_display_links = None
    list_filter = [SubjectFilter, "source"]
    ordering = ["-day", "id"]
    fields = ["day", "score", "source", "note", "scorer", "created_at", "updated_at"]

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to every member, for their own."""
        return True

    def visible(self, eyes: Sight) -> QuerySet[MoodEntry]:
        """Return one's own; all for curators of the whole account."""
        return entering.visible(eyes.principal)
