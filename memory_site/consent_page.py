"""The page behind a link that asks for consent: shows the question, and takes the answer when a button is pressed."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods

from facts.errors import DomainError
from facts.status_graph import FINAL
from facts.vocabulary import Status
from governance.models import ConsentStatus
from governance.sharing import consent_links
from governance.sharing.consent_links import Opened

_NOT_SHOWN = FINAL | {Status.DISABLED}
_TO_BE_REFUSED = frozenset({ConsentStatus.PENDING, ConsentStatus.GRANTED})


@never_cache
@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: HttpRequest, token: str) -> HttpResponse:
    """Show what is asked, or take the answer; opening the page decides nothing."""
    try:
        if request.method != "POST":
            return _page(request, opened=consent_links.open_link(token))
        if request.POST.get("answer") in {"yes", "no"}:
            consent_links.answer(token, agrees=request.POST["answer"] == "yes")
    except DomainError as error:
        return _page(request, error=error.message, status=error.status)
    return redirect("consent", token=token)


def _page(request: HttpRequest, *, opened: Opened | None = None, error: str = "", status: int = 200) -> HttpResponse:
    asked = opened.consent if opened else None
    context = {
        "error": error,
        "asked": asked,
        "account": opened.link.account if opened else None,
        "may_agree": opened is not None and opened.is_good and asked.fact.status not in _NOT_SHOWN,
        "may_refuse": asked is not None and asked.status in _TO_BE_REFUSED,
    }
    response = render(request, "memory/consent.html", context, status=status)
    response.headers["X-Robots-Tag"] = "noindex"
    return response
