"""The page of the account: what it is, by which clock its days and nights begin, and the form that changes that."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from facts import timezones
from facts.clock import now
from facts.errors import DomainError
from facts.models import Account
from governance import account_settings
from memory_site.admin_pages.governed import GovernedAdmin


@cache
def offered() -> list[str]:
    """Return the names of time zones that this machine knows."""
    return sorted(available_timezones())


class TimezoneForm(forms.Form):
    """By which clock the account lives, and what was read before it was changed."""

    expected = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    timezone = forms.CharField(
        max_length=64,
        label="Time zone",
        help_text="Continent/City, such as Europe/Paris, or UTC. Type a part of it to choose from what there is.",
        widget=forms.TextInput(attrs={"list": "timezones", "autocomplete": "off", "spellcheck": "false"}),
    )


def page(page_of: GovernedAdmin, request: HttpRequest, account: Account) -> HttpResponse:
    """Show the account; choose its time zone."""
    form = TimezoneForm(
        request.POST or None, initial={"timezone": account.timezone, "expected": account.timezone}, label_suffix=""
    )
    if request.method == "POST" and form.is_valid():
        try:
            account_settings.set_timezone(request.principal, **form.cleaned_data)
        except DomainError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, "Set. The next day and the next night begin by this clock.")
            return redirect(reverse("admin:facts_account_change", args=[account.pk]))
    zone = timezones.find(account.timezone)
    context = page_of.context(
        request,
        title="Account",
        shown=account,
        form=form,
        offered=offered(),
        is_unknown=zone is None,
        clock=now().astimezone(zone) if zone else None,
    )
    return TemplateResponse(request, "memory/account.html", context)
