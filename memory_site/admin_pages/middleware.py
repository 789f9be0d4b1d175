"""Runs every request of a signed-in person to the admin or the portal inside a transaction of their account.

Without it row-level security shows them nothing. The transaction spans the view and the rendering of its template, and
is rolled back when either fails. A view that is marked with :func:`commits_by_item` opens its own transactions.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.urls import Resolver404, resolve, reverse

from facts.models import Account, Membership
from facts.tenancy import enter_account
from governance import access
from memory_site.api.authentication import ACCOUNT_IN_SESSION


def commits_by_item(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Mark a view that does many things, each in a transaction of its own; it renders nothing outside of one."""
    view.commits_by_item = True
    return view


class AccountMiddleware:
    """Sets ``request.principal`` (``None`` without a membership) and ``request.accounts`` for these pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        """Wrap the next handler."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle one request; those outside of these pages, and of strangers, pass untouched."""
        request.principal, request.accounts, request.view_failed = None, [], False
        pages = (reverse("admin:index"), reverse("me:home"))
        if not request.path.startswith(pages) or not request.user.is_authenticated:
            return self.get_response(request)
        if "%00" in request.META.get("QUERY_STRING", ""):
            return HttpResponseBadRequest("An address holds no NUL.")  # the database would refuse it in any filter
        if _commits_by_item(request.path_info):
            with transaction.atomic():
                _admit(request)
            return self.get_response(request)
        with transaction.atomic():
            _admit(request)
            response = self.get_response(request)
            if request.view_failed or response.status_code >= 500:
                transaction.set_rollback(True)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> None:
        """Note that what the view wrote is to be undone, whatever answer its failure becomes."""
        request.view_failed = True


def _admit(request: HttpRequest) -> None:
    """Find the account of the signed-in person, enter it, and say who they are there."""
    request.accounts = accounts_of(request.user.pk)
    chosen = choose(request.accounts, request.session.get(ACCOUNT_IN_SESSION))
    if chosen is not None:
        enter_account(chosen.id)
        membership = Membership.objects.select_related("user").get(account_id=chosen.id, user_id=request.user.pk)
        request.account = chosen
        request.principal = access.person(membership)


def _commits_by_item(path: str) -> bool:
    try:
        return getattr(resolve(path).func, "commits_by_item", False)
    except Resolver404:
        return False


def accounts_of(user_id: uuid.UUID) -> list[Account]:
    """Return the accounts that a user belongs to, the one joined first in front. Runs inside a transaction."""
    with connection.cursor() as cursor:
        # The account is not known yet: the look-up policy lets exactly this user's memberships be read.
        cursor.execute("SELECT set_config('app.user', %s, true)", [str(user_id)])
    memberships = list(Membership.objects.filter(user_id=user_id).select_related("account").order_by("id"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.user', '', true)")
    return [membership.account for membership in memberships]


def choose(accounts: list[Account], key: str | None) -> Account | None:
    """Return the account that the session names, or the first one; ``None`` when there is none."""
    named = [account for account in accounts if account.key == key]
    return next(iter(named or accounts), None)
