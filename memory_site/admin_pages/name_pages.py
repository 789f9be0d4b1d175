"""The page on which a curator of the whole account says which names are one.

The index of names itself is shown nowhere. What this page shows are wordings of facts that the person may read, two at
a time; a pair of which they may not read both is not on it (``retrieval.entities.pairs``).
"""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache

from facts.errors import DomainError
from facts.tenancy import ROOT
from governance.access import Principal, has_role
from governance.models import Role
from memory_site.admin_pages.governed import typed
from retrieval.entities import pairs
from retrieval.models import PairState

PAGE = "admin:name_pairs"
_TOLD = {"same": "From now on both names find the same.", "different": "They stay apart.", "undo": "Taken back."}


@never_cache
def decide(request: HttpRequest) -> HttpResponse:
    """List pairs of one state, or take a decision and go back to the list."""
    principal: Principal | None = request.principal
    if principal is None:
        return _page(request, "memory/no_account.html", title="No account yet")
    if not has_role(principal, ROOT, Role.CURATOR):
        return _page(request, may_decide=False, status=403)
    given = request.POST if request.method == "POST" else request.GET
    state = given.get("state", "") if given.get("state", "") in PairState.values else PairState.PROPOSED.value
    if request.method != "POST":
        return _page(request, pairs=pairs.list_pairs(principal, state=state), state=state)
    try:
        _decide(principal, typed(request.POST, "pair"), typed(request.POST, "decision"))
    except DomainError as error:
        listed = pairs.list_pairs(principal, state=state)
        return _page(request, pairs=listed, state=state, wrong=error.message, status=error.status)
    messages.success(request, _TOLD[request.POST["decision"]])
    return redirect(f"{reverse(PAGE)}?state={state}")


def _decide(principal: Principal, pair: str, decision: str) -> None:
    """Carry out what was clicked; raises ``DomainError``."""
    try:
        pair_id = uuid.UUID(pair)
    except ValueError as error:
        raise DomainError("There is no such pair.", code="pair_not_found", status=404) from error
    if decision == "undo":
        pairs.undo(principal, pair_id)
    elif decision in _TOLD:
        pairs.decide(principal, pair_id, same=decision == "same")
    else:
        raise DomainError("Choose one of the decisions.", code="unknown_decision", field="decision")


def _page(
    request: HttpRequest, template: str = "memory/names.html", *, status: int = 200, **context: Any
) -> HttpResponse:
    request.current_app = admin.site.name
    about = {
        "title": "Names that may be one",
        "subtitle": None,
        "may_decide": True,
        "states": PairState.choices,
        **context,
    }
    return TemplateResponse(request, template, {**admin.site.each_context(request), **about}, status=status)
