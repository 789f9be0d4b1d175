"""The buttons around the tabs above a list: keep what it shows, share it or not any more, remove it."""

from __future__ import annotations

import uuid
from typing import Any

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from facts.errors import DomainError
from memory_site.admin_pages import saved_views, sight
from memory_site.admin_pages.governed import GovernedAdmin, typed, with_query
from memory_site.models import SavedView


def keep(request: HttpRequest) -> HttpResponse:
    """Keep the list that the form names, under the filters it had."""
    page = _page(request, typed(request.POST, "list"))
    query = QueryDict(typed(request.POST, "query").replace("%00", ""))
    back = _list_of(page) + f"?{query.urlencode()}"
    try:
        changelist = page.get_changelist_instance(with_query(request, query))
        view = saved_views.keep(
            sight.of(request),
            changelist,
            name=request.POST.get("name", ""),
            shared=request.POST.get("shared") == "yes",
        )
    except IncorrectLookupParameters:
        messages.error(request, "The list does not understand these filters; nothing was kept.")
        return redirect(_list_of(page) + saved_views.address({}))
    except DomainError as error:
        messages.error(request, error.message)
        return redirect(back)
    whom = "everybody who may open this list" if view.shared else "you"
    messages.success(request, f"Kept as a tab for {whom}.")
    return redirect(_list_of(page) + saved_views.address(view.query))


def share(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Offer a view to everybody who may open its list, or to its owner alone, as the button says."""
    shared = request.POST.get("shared") == "yes"
    said = "Everybody who may open this list sees the tab now." if shared else "Only its owner sees the tab now."
    return _do(request, lambda eyes: saved_views.share(eyes, pk, shared=shared), said, stays=True)


def remove(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Drop a view."""
    return _do(request, lambda eyes: saved_views.remove(eyes, pk), "The tab is gone.", stays=False)


def _do(request: HttpRequest, verb: Any, said: str, *, stays: bool) -> HttpResponse:
    """Carry out a change of a view; 404 for one that is not the person's to change."""
    eyes = sight.of(request)
    if eyes is None:
        raise Http404
    try:
        view: SavedView = verb(eyes)
    except DomainError as error:
        if error.code == "view_not_found":
            raise Http404 from None
        messages.error(request, error.message)
        return redirect("admin:index")
    messages.success(request, said)
    page = _page(request, view.list_name)
    return redirect(_list_of(page) + saved_views.address(view.query if stays else {}))


def _page(request: HttpRequest, label: str) -> GovernedAdmin:
    """Return the page of a list by the label of its model; 404 for what is none, or not for this person."""
    try:
        page = admin.site._registry.get(apps.get_model(label))
    except (LookupError, ValueError):
        page = None
    if not isinstance(page, GovernedAdmin) or not page.has_view_permission(request):
        raise Http404
    return page


def _list_of(page: GovernedAdmin) -> str:
    return reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_changelist")
