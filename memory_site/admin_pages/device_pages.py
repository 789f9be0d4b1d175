"""The page on which a person lets a terminal in, or turns it away: `haki login` and the like show where it is."""

from __future__ import annotations

import math
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache

from facts.errors import DomainError, NotFound
from governance import device_login
from governance.access import APP_RIGHTS, Principal
from governance.models import DeviceLogin, Effect, Role
from memory_site.admin_pages.key_pages import DELEGATIONS, RIGHTS
from memory_site.api import throttling

#: So many wrong codes may a person type in so many seconds.
WRONG_CODES, WINDOW = 10, 300
PAGE = "admin:device_login"


class LetInForm(forms.Form):
    """What the terminal may do, and where."""

    label = forms.CharField(max_length=128, initial="terminal", help_text="How you will recognise its key.")
    project = forms.CharField(
        max_length=512,
        initial="default",
        help_text="The project (a scope) that its client works in unless told otherwise.",
    )
    is_confined = forms.BooleanField(
        required=False,
        label="Only this project",
        help_text="Otherwise the key is good for the whole account. The client's own check, haki verify, works in a "
        "project of its own and needs that.",
    )
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


@never_cache
def decide(request: HttpRequest) -> HttpResponse:
    """Ask for the code, show what would be granted, and take the decision."""
    principal: Principal | None = request.principal
    if principal is None:
        return _page(request, "memory/no_account.html", title="No account yet")
    if not _administers(principal):
        return _page(request, may_decide=False, status=403)
    data = request.POST if request.method == "POST" else request.GET
    code = device_login.normalise_user_code(data.get("user_code", ""))
    if not code:
        return _page(request)
    try:
        login = _find(principal, code)
    except DomainError as error:
        return _page(request, code=code, wrong=error.message, status=error.status)
    if request.method != "POST":
        return _page(request, login=login, code=code, form=LetInForm())
    if request.POST.get("decision") == "refuse":
        device_login.refuse(principal, code)
        messages.success(request, "The terminal was turned away.")
        return redirect(PAGE)
    form = LetInForm(request.POST)
    if _let_in(principal, code, form):
        messages.success(request, "Approved. The terminal fetches its key within seconds; you can close this page.")
        return redirect(PAGE)
    return _page(request, login=login, code=code, form=form)


def _let_in(principal: Principal, code: str, form: LetInForm) -> bool:
    """Approve if what was filled in allows it; else say in the form what does not."""
    if not form.is_valid():
        return False
    try:
        device_login.approve(principal, code, **form.cleaned_data)
    except DomainError as error:
        form.add_error("project" if error.field == "scope" else None, error.message)
        return False
    return True


def _find(principal: Principal, code: str) -> DeviceLogin:
    """Return the waiting login, counting codes that nothing waits with; raises ``DomainError``."""
    client = f"user-code:{principal.membership_id}"
    if throttling.counted(client, window=WINDOW) >= WRONG_CODES:
        minutes = math.ceil(throttling.seconds_left(window=WINDOW) / 60)
        raise DomainError(f"Too many wrong codes. Try again in {minutes} min.", code="rate_limited", status=429)
    try:
        return device_login.waiting(code)
    except NotFound:
        throttling.count(client, window=WINDOW)
        raise


def _administers(principal: Principal) -> bool:
    """Tell whether the person administers the account or a part of it; approving looks closer."""
    return any(role == Role.ACCOUNT_ADMIN and effect == Effect.ALLOW for _, role, effect, _, _ in principal.grants)


def _page(
    request: HttpRequest, template: str = "memory/device.html", *, status: int = 200, **context: Any
) -> HttpResponse:
    request.current_app = admin.site.name
    about = {"title": "Let a terminal in", "subtitle": None, "may_decide": True, **context}
    return TemplateResponse(request, template, {**admin.site.each_context(request), **about}, status=status)
