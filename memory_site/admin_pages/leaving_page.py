"""Somebody leaves the account: what that would end, a choice about the facts, a confirmation, and taking it back."""

from __future__ import annotations

import uuid

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from facts.errors import DomainError
from facts.models import Membership
from governance import leaving
from governance.models import LeaversFacts, Leaving
from memory_site.admin_pages.fact_display import actor_name
from memory_site.admin_pages.governed import GovernedAdmin, typed

#: What a preview says of each of its numbers, in the order in which they are shown.
_SAYS = (
    ("reviews_assigned", "Reviews they have taken: back to the queue"),
    ("conflicts_assigned", "Conflicts they have taken: back to the list"),
    ("only_they_decide", "Waiting reviews that nobody else may decide: let somebody in who may"),
    ("consents_pending", "Questions of consent to them: count as refused"),
    ("promotions_about", "Requests to share what is about them: those that need their consent are refused"),
    ("promotions_asked", "Requests to share that they made: go on waiting for others"),
    ("facts_about", "Facts about them: as you choose below"),
    ("facts_shared", "… of which others can see"),
    ("facts_from", "Facts about others that they told: stay, unless you erase"),
    ("facts_only_from", "… of which nobody else told"),
    ("open_conflicts", "Open conflicts about them: stay open"),
)


def page(page_of: GovernedAdmin, request: HttpRequest, member: Membership) -> HttpResponse:
    """Show what somebody's leaving would end, or carry it out when their key was typed."""
    chosen, problem, status = LeaversFacts.KEEP, "", 200
    if request.method == "POST":
        known = request.POST.get("facts", "")
        chosen = LeaversFacts(known) if known in LeaversFacts.values else LeaversFacts.KEEP
        if typed(request.POST, "key") != member.subject.key.strip() or known not in LeaversFacts.values:
            problem, status = "Choose what becomes of the facts, and type their key to confirm.", 422
        else:
            try:
                gone = leaving.leave(request.principal, member.pk, facts=chosen)
            except DomainError as error:
                problem, status = error.message, error.status
            else:
                messages.success(request, "They have left; their access has ended.")
                return redirect(reverse("admin:governance_leaving_change", args=[gone.pk]))
    seen = None
    try:
        seen = leaving.preview(request.principal, member.pk)
    except DomainError as error:
        problem, status = error.message, error.status
    context = page_of.context(
        request,
        title=f"{member.subject.display_name} leaves",
        member=member,
        preview=seen,
        numbers=[(text, getattr(seen, name)) for name, text in _SAYS] if seen else [],
        choices=LeaversFacts.choices,
        chosen=chosen.value,
        problem=problem,
    )
    return TemplateResponse(request, "memory/leave.html", context, status=status)


class LeavingAdmin(GovernedAdmin):
    """Who left, what that ended, and what was chosen about the facts."""

    list_title = "People who left"
    empty_list = "Nobody has left. On the page of a subject who signs in, “They leave …” ends what they may do."
    list_display = ["about", "left_at", "facts", "by", "undone_at"]
    fields = ["subject", "user", "facts", "detail", "actor", "left_at", "undone_at", "undone_by"]
    list_select_related = ["subject"]
    ordering = ["-id"]
    change_form_template = "memory/leaving.html"

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the button."""
        view = self.admin_site.admin_view(require_POST(self.undo))
        return [path("<uuid:pk>/undo/", view, name="leaving_undo"), *super().get_urls()]

    @admin.display(description="by")
    def by(self, row: Leaving) -> str:
        """Who decided it."""
        return actor_name(row.actor)

    def undo(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Let them in again."""
        gone = self.get_or_404(request, str(pk))
        try:
            leaving.undo(request.principal, gone.pk)
        except DomainError as error:
            messages.error(request, error.message)
        else:
            messages.success(request, "They are in again. Keys stay revoked, consents refused.")
        return redirect(reverse("admin:governance_leaving_change", args=[gone.pk]))
