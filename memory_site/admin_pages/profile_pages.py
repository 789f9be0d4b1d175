"""How the account reads: overrides of retrieval profiles, a look at what a change would do, and their history."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from facts.errors import DomainError
from facts.models import Scope
from facts.tenancy import get_scope
from memory_site.admin_pages.governed import GovernedAdmin, typed
from memory_site.admin_pages.profile_form import NewOverrideForm, OverrideForm, StoredQueryForm
from memory_site.admin_pages.sight import Sight
from retrieval.models import ProfileAction, RetrievalProfile
from retrieval.profiles import profile_preview, profile_settings, profile_versions, stored_queries

#: Versions and stored queries shown at most.
SHOWN = 50


class ProfileAdmin(GovernedAdmin):
    """The overrides of the account; open to its administrators."""

    list_title = "Profiles"

    def visible(self, eyes: Sight) -> QuerySet[RetrievalProfile]:
        """Return every version of every override."""
        return super().visible(eyes).select_related("scope")

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses of the editor."""
        view = self.admin_site.admin_view
        return [
            path("edit/", view(self.edit), name="profile_edit"),
            path("queries/add/", view(require_POST(self.add_query)), name="stored_query_add"),
            path("queries/<uuid:pk>/remove/", view(require_POST(self.remove_query)), name="stored_query_remove"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show what is overridden, and the stored queries."""
        self._require(request)
        return self._list(request, StoredQueryForm())

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Lead from a version to the editor of its override."""
        row = self.get_or_404(request, object_id)
        return redirect(_address(row.name, row.scope))

    def edit(self, request: HttpRequest) -> HttpResponse:
        """Show an override with its history; look at a change, make it, end it, or go back."""
        self._require(request)
        asked = NewOverrideForm(request.GET)
        scope = _scope(request, asked)
        name = asked.cleaned_data["name"]
        active = profile_versions.active(request.principal.account_id, name=name, scope=scope)
        returns = request.POST.get("decision") == "go_back"
        form = OverrideForm(None if returns else request.POST or None, name=name, active=active)
        previews, refusal = None, ""
        if request.method == "POST" and (returns or form.is_valid()):
            try:
                previews = _carry_out(request, form, name, scope)
            except DomainError as error:
                if returns:
                    refusal = error.message
                else:
                    form.add_error(error.field if error.field in form.fields else None, error.message)
            else:
                if previews is None:
                    return redirect(_address(name, scope))
        versions = list(profile_versions.history(request.principal.account_id, name=name, scope=scope)[:SHOWN])
        context = self.context(
            request,
            title=f"Profile {name}",
            name=name,
            scope=scope,
            form=form,
            active=active,
            versions=[(row, _described(row), row.action != ProfileAction.SWITCHED_OFF) for row in versions],
            previews=previews,
            refusal=refusal,
            has_queries=stored_queries.reached_by(request.principal.account_id, scope).exists(),
        )
        return TemplateResponse(request, "memory/profile.html", context)

    def add_query(self, request: HttpRequest) -> HttpResponse:
        """Keep a question."""
        self._require(request)
        form = StoredQueryForm(request.POST)
        if form.is_valid():
            values = form.cleaned_data
            try:
                stored_queries.add(
                    request.principal,
                    scope_path=values["scope"],
                    subject_key=values["subject"],
                    query=values["query"],
                )
            except DomainError as error:
                form.add_error(error.field if error.field in form.fields else None, error.message)
            else:
                messages.success(request, "Kept. Looks at a change will ask it.")
                return redirect(_list_address())
        return self._list(request, form)

    def remove_query(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Drop a stored question."""
        self._require(request)
        try:
            stored_queries.remove(request.principal, pk)
        except DomainError:
            raise Http404 from None
        messages.success(request, "The stored query is gone.")
        return redirect(_list_address())

    def _list(self, request: HttpRequest, form: StoredQueryForm) -> HttpResponse:
        account_id = request.principal.account_id
        rows = self.get_queryset(request).filter(active=True).order_by("name", "scope__path")[:SHOWN]
        context = self.context(
            request,
            title=self.title_of_list,
            opts=None,
            overrides=[(row, _described(row), _address(row.name, row.scope)) for row in rows],
            new=NewOverrideForm(auto_id="new-%s"),
            form=form,
            queries=stored_queries.reached_by(account_id, None)[:SHOWN],
        )
        return TemplateResponse(request, "memory/profile_list.html", context)

    def _require(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied


def _carry_out(
    request: HttpRequest, form: OverrideForm, name: str, scope: Scope | None
) -> list[profile_preview.Preview] | None:
    """Do what the pressed button says; return what a look shows, ``None`` when something was changed."""
    who, what = request.principal, {"name": name, "scope": scope}
    change = {**what, "note": typed(request.POST, "note"), "expected": _number(request, "expected")}
    match request.POST.get("decision"):
        case "save":
            row = profile_versions.save(who, **change, settings=form.settings)
            messages.success(request, f"Version {row.version} holds within seconds.")
        case "switch_off":
            profile_versions.switch_off(who, **change)
            messages.success(request, "Switched off: what is next upwards holds within seconds.")
        case "go_back":
            row = profile_versions.go_back(who, **change, version=_number(request, "version") or 0)
            messages.success(request, f"Version {row.version} holds within seconds, with the earlier settings.")
        case _:
            return profile_preview.preview(who, **what, settings=form.settings)
    return None


def _number(request: HttpRequest, name: str) -> int | None:
    text = typed(request.POST, name)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _scope(request: HttpRequest, asked: NewOverrideForm) -> Scope | None:
    """Return the scope that the address names, ``None`` for the whole account; 404 for what does not exist."""
    if not asked.is_valid():
        raise Http404
    text = asked.cleaned_data["scope"].strip()
    if not text:
        return None
    try:
        scope = get_scope(request.principal.account_id, text)
    except DomainError:
        scope = None
    if scope is None:
        raise Http404
    return scope


def _described(row: RetrievalProfile) -> list[str]:
    """Return the settings of a version in words, those that this version of the program does not know by their key."""
    known = profile_settings.settings_of(row.name)
    named = [f"{setting.label}: {row.settings[key]:g}" for key, setting in known.items() if key in row.settings]
    return named + [f"{key}: {value}" for key, value in row.settings.items() if key not in known]


def _address(name: str, scope: Scope | None) -> str:
    query = {"name": name, **({"scope": scope.path} if scope else {})}
    return f"{reverse('admin:profile_edit')}?{urlencode(query)}"


def _list_address() -> str:
    return reverse("admin:retrieval_retrievalprofile_changelist")
