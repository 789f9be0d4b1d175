"""The page of a name on a platform: whose it is, who says so, and the two buttons that say or doubt it."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from facts.errors import DomainError
from facts.models import Identity, Membership
from governance import identities
from ingest.slack.people import SLACK
from memory_site.admin_pages.fact_display import actor_name, words
from memory_site.admin_pages.governed import GovernedAdmin, typed

#: Other names of the same subject that are shown.
SHOWN = 50

#: What platforms are called; any other by its name.
_PLATFORMS = {"slack": "user of Slack", "slack_name": "name in Slack", "email": "e-mail address"}


def platform(identity: Identity) -> str:
    """Return what sort of name it is."""
    return _PLATFORMS.get(identity.platform, f"name on {words(identity.platform)}")


def certainty(identity: Identity) -> SafeString:
    """Return whether it is certain whose a name is, and who says so."""
    if not identity.confirmed:
        return mark_safe('<span class="chip warn">not confirmed</span>')
    said_by = actor_name(identity.confirmed_by) if identity.confirmed_by else "the platform"
    return format_html('<span class="chip included">confirmed</span> by {}', said_by)


def page(page_of: GovernedAdmin, request: HttpRequest, identity: Identity) -> HttpResponse:
    """Show a name; confirm it, or take that back."""
    if request.method == "POST":
        _decide(request, identity)
        return redirect(reverse("admin:facts_identity_change", args=[identity.pk]))
    others = Identity.objects.filter(account_id=identity.account_id, subject_id=identity.subject_id)
    context = page_of.context(
        request,
        title=f"{platform(identity).capitalize()} {identity.value}",
        platform=platform(identity),
        identity=identity,
        certainty=certainty(identity),
        is_slack=identity.platform == SLACK,
        signs_in=Membership.objects.filter(
            account_id=identity.account_id, subject_id=identity.subject_id, user__is_active=True
        ).exists(),
        others=[
            (other, platform(other), certainty(other))
            for other in others.exclude(pk=identity.pk).order_by("platform", "value")[:SHOWN]
        ],
    )
    return TemplateResponse(request, "memory/identity.html", context)


def _decide(request: HttpRequest, identity: Identity) -> None:
    try:
        if request.POST.get("decision") == "confirm":
            identities.confirm(request.principal, identity.pk, subject_id=_id(typed(request.POST, "subject")))
            messages.success(request, f"Confirmed: it is {identity.subject.display_name}'s.")
        elif request.POST.get("decision") == "take_back":
            identities.take_back(request.principal, identity.pk)
            messages.success(request, "Taken back: nothing is sent there until it is confirmed again.")
    except DomainError as error:
        messages.error(request, error.message)


def _id(text: str) -> uuid.UUID:
    """Return an id, one of nothing for what is none."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return uuid.UUID(int=0)
