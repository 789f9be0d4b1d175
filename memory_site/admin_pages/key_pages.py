"""API keys: the list, making one (shown once), revoking one."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from facts.clock import now
from facts.errors import DomainError
from facts.models import Membership, Scope, Subject
from facts.tenancy import get_scope, get_subject
from governance import keys
from governance.access import APP_RIGHTS, PEER_KINDS, Delegation, Right
from governance.models import ApiKey
from memory_site.admin_pages.fact_display import instant, words
from memory_site.admin_pages.governed import GovernedAdmin
from memory_site.admin_pages.texts import isolated

#: The longest overlap of two secrets, in hours.
LONGEST = int(keys.LONGEST_OVERLAP.total_seconds()) // 3600
#: What the rights and delegations of a key mean, for the person who chooses.
RIGHTS = {
    Right.CAPTURE: "capture: send what was said",
    Right.READ: "read: ask for context and facts",
    Right.READ_AS_SUBJECT: "read as subject: see what the subject of a call may see",
    Right.READ_FOR_OTHERS: "read for others: name any peer as the reader",
    Right.DIAGNOSTICS: "diagnostics: learn that something was withheld",
}
DELEGATIONS = {
    Delegation.RESOLVE: "resolve: decide conflicts and reviews in your name",
    Delegation.FORGET: "forget: hide facts in your name",
    Delegation.OBSERVE: "observe: write facts in your name",
    Delegation.KEYS: "keys: make and revoke keys in your name",
}


class NewKeyForm(forms.Form):
    """What a new key is called and what it may do."""

    label = forms.CharField(max_length=128, help_text="Which application will use it.")
    rights = forms.MultipleChoiceField(
        choices=[(right.value, text) for right, text in RIGHTS.items()],
        widget=forms.CheckboxSelectMultiple,
        initial=[right.value for right in APP_RIGHTS],
        help_text="What it may do by itself.",
    )
    delegated = forms.MultipleChoiceField(
        choices=[(delegation.value, text) for delegation, text in DELEGATIONS.items()],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        label="In your name",
        help_text="Decisions it may take for you. The record will name you and the key.",
    )
    scope = forms.CharField(required=False, max_length=512, help_text="Confine it to a scope and below: /support.")
    peer = forms.CharField(
        required=False,
        max_length=200,
        help_text="Key of the person or agent as whom it reads by itself; empty: nobody.",
    )
    per_minute = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=1_000_000,
        label="Calls a minute",
        help_text="Empty: as the installation.",
    )
    days = forms.IntegerField(
        required=False, min_value=1, max_value=3650, label="Expires after", help_text="Days; empty: never."
    )


class RotateForm(forms.Form):
    """How long the old secret goes on working."""

    hours = forms.IntegerField(
        label="The old one works for",
        min_value=0,
        max_value=LONGEST,
        help_text=f"Hours, 0 to {LONGEST}: as long as applications need to change over.",
    )


class KeyStateFilter(admin.SimpleListFilter):
    """Whether a key works."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [("used", "In use"), ("ended", "Revoked or expired")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        """Keep the chosen ones."""
        ended = Q(revoked_at__isnull=False) | Q(expires_at__lte=now())
        match self.value():
            case "used":
                return queryset.exclude(ended)
            case "ended":
                return queryset.filter(ended)
            case _:
                return queryset


class ApiKeyAdmin(GovernedAdmin):
    """The credentials of machines."""

    list_title = "API keys"
    empty_list = "No application has a key yet. Make one for each, so that one can be revoked without the others."
    list_filter = [KeyStateFilter]
    search_fields = ["label__icontains", "prefix__startswith"]
    search_help_text = "A part of the label, or the start of a key as it is shown here."

    list_display = ["label", "prefix", "may", "where", "state", "last_used", "ends"]
    list_select_related = ["scope_limit"]
    ordering = ["-id"]
    change_list_template = "memory/key_list.html"

    def visible(self, eyes: Any) -> QuerySet[ApiKey]:
        """Return the account's keys; nothing in them reveals a key."""
        return super().visible(eyes).select_related("maker__user", "maker__account", "peer", "scope_limit")

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses of the buttons."""
        view = self.admin_site.admin_view
        return [
            path("new/", view(never_cache(self.create)), name="key_create"),
            path("<uuid:pk>/rotate/", view(never_cache(require_POST(self.rotate))), name="key_rotate"),
            path("<uuid:pk>/revoke/", view(require_POST(self.revoke)), name="key_revoke"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one key: what it may do, when it was used last, and the two buttons that end its secret."""
        return self._page(request, self.get_or_404(request, object_id), RotateForm(initial={"hours": 24}))

    def _page(self, request: HttpRequest, key: ApiKey, form: RotateForm) -> HttpResponse:
        context = self.context(
            request,
            title=f"API key {key.label}",
            original=key,
            state=self.state(key),
            rights=[RIGHTS.get(right, words(right)) for right in key.rights],
            delegated=[DELEGATIONS.get(name, words(name)) for name in key.delegated],
            works=_ended(key) is None,
            form=form,
        )
        return TemplateResponse(request, "memory/key.html", context)

    @admin.display(description="may")
    def may(self, key: ApiKey) -> str:
        """Its rights and what was delegated to it."""
        return ", ".join([*map(words, key.rights), *(f"{words(name)} (in a name)" for name in key.delegated)])

    @admin.display(description="where")
    def where(self, key: ApiKey) -> SafeString | str:
        """The scope that it is confined to."""
        return isolated(key.scope_limit.path) if key.scope_limit else "the whole account"

    @admin.display(description="last used")
    def last_used(self, key: ApiKey) -> SafeString | str:
        """When it was used last."""
        return instant(key.last_used_at) if key.last_used_at else "never"

    @admin.display(description="expires")
    def ends(self, key: ApiKey) -> SafeString | str:
        """When it ends by itself."""
        return instant(key.expires_at) if key.expires_at else "never"

    @admin.display(description="state")
    def state(self, key: ApiKey) -> SafeString:
        """Whether it works."""
        ended = _ended(key)
        return format_html('<span class="chip {}">{}</span>', "blocked" if ended else "included", ended or "in use")

    def create(self, request: HttpRequest) -> HttpResponse:
        """Ask what the key is for; then make it and show it, once."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        form = NewKeyForm(request.POST or None)
        raw, key = "", None
        if request.method == "POST" and form.is_valid():
            try:
                key, raw = _create(request, form.cleaned_data)
            except DomainError as error:
                form.add_error(error.field if error.field in form.fields else None, error.message)
        context = self.context(request, title="Your new key" if raw else "New API key", form=form, raw=raw, key=key)
        return TemplateResponse(request, "memory/key_new.html", context)

    def rotate(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Make a key's successor and show it, once; the old one ends after the hours that were chosen."""
        old = self.get_or_404(request, str(pk))
        form = RotateForm(request.POST)
        if not form.is_valid():
            return self._page(request, old, form)
        overlap = timedelta(hours=form.cleaned_data["hours"])
        try:
            key, raw = keys.rotate_key(request.principal, old.pk, actor=request.principal.actor, overlap=overlap)
        except DomainError as error:
            messages.error(request, error.message)
            return redirect(reverse("admin:governance_apikey_change", args=[pk]))
        context = self.context(request, title="The key's new secret", form=None, raw=raw, key=key)
        return TemplateResponse(request, "memory/key_new.html", context)

    def revoke(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """End a key for good."""
        key = self.get_or_404(request, str(pk))
        keys.revoke_key(key.account_id, key.pk, actor=request.principal.actor)
        messages.success(request, f"{key.label} is revoked; it stops working within seconds.")
        return redirect(reverse("admin:governance_apikey_changelist"))


def _ended(key: ApiKey) -> str | None:
    """Return how a key has ended, ``None`` for one that works."""
    if key.revoked_at:
        return "revoked"
    return "expired" if key.expires_at and key.expires_at <= now() else None


def _create(request: HttpRequest, values: dict[str, Any]) -> tuple[ApiKey, str]:
    principal = request.principal
    keys.check_may_hand_out(principal, values["rights"], values["delegated"])
    return keys.create_key(
        account_id=principal.account_id,
        label=values["label"],
        rights=values["rights"],
        delegated=values["delegated"],
        maker=Membership.objects.get(account_id=principal.account_id, pk=principal.membership_id),
        scope_limit=_scope(principal.account_id, values["scope"]),
        peer=_peer(principal.account_id, values["peer"]),
        requests_per_minute=values["per_minute"],
        expires_at=now() + timedelta(days=values["days"]) if values["days"] else None,
        actor=principal.actor,
    )


def _peer(account_id: uuid.UUID, text: str) -> Subject | None:
    """Return the peer called so; raises ``DomainError`` (``peer_not_found``) for one that does not exist."""
    if not text.strip():
        return None
    peer = get_subject(account_id, key=text.strip())
    if peer is None or peer.kind not in PEER_KINDS:
        raise DomainError("No peer goes by that key.", code="peer_not_found", field="peer")
    return peer


def _scope(account_id: uuid.UUID, text: str) -> Scope | None:
    """Return the scope called so; raises ``DomainError`` (``unknown_scope``) for one that does not exist."""
    if not text.strip():
        return None
    scope = get_scope(account_id, text)
    if scope is None:
        raise DomainError("There is no such scope.", code="unknown_scope", field="scope")
    return scope
