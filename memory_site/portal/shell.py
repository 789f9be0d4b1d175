"""What every page of the portal has in common: who may open it, what its frame needs, and how errors are shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from facts.errors import DomainError
from facts.models import Subject
from governance.models import Consent, ConsentStatus

View = Callable[..., HttpResponse]


def member_page(*methods: str) -> Callable[[View], View]:
    """Open a view to signed-in members of an account, for these HTTP methods (``GET`` and ``HEAD`` unless said).

    Anybody else is sent to sign in, or told that they belong to no account. What the view raises as ``DomainError`` is
    shown as a page with its status.
    """

    def opened(view: View) -> View:
        @never_cache
        @require_http_methods(methods or ("GET", "HEAD"))
        @wraps(view)
        def page(request: HttpRequest, **named: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path(), reverse("me:login"))
            if request.principal is None:
                return TemplateResponse(request, "portal/no_account.html", {"title": "No account yet"}, status=403)
            try:
                return view(request, **named)
            except DomainError as error:
                title = "Not found" if error.status == 404 else "That did not work"
                return render(request, "problem.html", title=title, error=error, status=error.status)

        return page

    return opened


def render(
    request: HttpRequest, template: str, *, title: str, section: str = "", status: int = 200, **values: Any
) -> HttpResponse:
    """Return a page of the portal; ``section`` is the entry of the navigation that it belongs to."""
    principal = request.principal
    owned = {"account_id": principal.account_id}
    context = {
        "title": title,
        "section": section,
        "me": Subject.objects.get(pk=principal.subject_id, **owned),
        "account": request.account,
        "accounts": request.accounts,
        "asked": Consent.objects.filter(subject_id=principal.subject_id, status=ConsentStatus.PENDING, **owned).count(),
        **values,
    }
    return TemplateResponse(request, f"portal/{template}", context, status=status)
