"""What is known about a person: the list, one fact with all that can be told of it, and what can be done about it."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from facts.errors import DomainError, NotFound
from facts.models import Fact
from facts.vocabulary import Category
from governance import pagination, subject_data, subject_rights
from governance.subject_data import Standing
from memory_site.admin_pages.governed import typed
from memory_site.portal import trail_pages, wording
from memory_site.portal.shell import member_page, render
from retrieval import served

#: Facts on one page.
PAGE = 25


@member_page()
def listing(request: HttpRequest) -> HttpResponse:
    """Show one page of what is known, newest first, narrowed by how it stands and by category."""
    standing = _one_of(typed(request.GET, "standing"), [one.value for one in Standing])
    category = _one_of(typed(request.GET, "category"), Category.values)
    wanted = subject_data.facts(request.principal, standing=standing, category=category)
    found, next_cursor = pagination.page(
        wanted, listing="portal.facts", cursor=typed(request.GET, "after") or None, limit=PAGE
    )
    return render(
        request,
        "facts.html",
        title="What is known about you",
        section="facts",
        facts=[wording.worded(held) for held in subject_data.told(request.principal, found)],
        next_cursor=next_cursor,
        is_first="after" not in request.GET,
        standing=standing,
        category=category,
        standings=wording.STANDINGS.items(),
        categories=wording.CATEGORIES.items(),
    )


@member_page()
def show(request: HttpRequest, fact_id: uuid.UUID) -> HttpResponse:
    """Show one fact."""
    return _page(request, fact_id)


@member_page("POST")
def contest(request: HttpRequest, fact_id: uuid.UUID) -> HttpResponse:
    """Contest it for the reason that was typed."""
    return _do(request, fact_id, subject_rights.contest, "Contested. Nobody is told it until somebody has decided.")


@member_page("POST")
def redact(request: HttpRequest, fact_id: uuid.UUID) -> HttpResponse:
    """Black it out, once that was confirmed."""
    if request.POST.get("sure") != "yes":
        error = DomainError("Tick the box to confirm: it does not come back.", code="confirmation_mismatch")
        return _page(request, fact_id, error=error)
    return _do(request, fact_id, subject_rights.redact, "Blacked out. It is shown to nobody and never learned again.")


@member_page("POST")
def withdraw(request: HttpRequest, fact_id: uuid.UUID) -> HttpResponse:
    """Take it back."""
    return _do(request, fact_id, subject_rights.withdraw, "Withdrawn. It is shown to nobody any more.")


def _do(request: HttpRequest, fact_id: uuid.UUID, verb: Callable[..., Fact], done: str) -> HttpResponse:
    try:
        verb(request.principal, fact_id, reason=typed(request.POST, "reason"))
    except NotFound:
        raise
    except DomainError as error:
        return _page(request, fact_id, error=error)
    messages.success(request, done)
    return redirect("me:fact", fact_id=fact_id)


def _page(request: HttpRequest, fact_id: uuid.UUID, *, error: DomainError | None = None) -> HttpResponse:
    found = subject_data.dossier(request.principal, fact_id)
    reads, next_cursor = trail_pages.reads_from(request, fact_id=fact_id)
    return render(
        request,
        "fact.html",
        title="One thing known about you",
        section="facts",
        status=error.status if error else 200,
        fact=wording.worded(found.held),
        dossier=found,
        sensitivity=wording.SENSITIVITIES[found.held.fact.sensitivity],
        steps=[(step, wording.step(step.action)) for step in found.history],
        lookers=wording.lookers(found.readers, found.held.read_by),
        reads=reads,
        next_cursor=next_cursor,
        looked_through=served.OTHERS_LOOKED_THROUGH,
        error=error,
        reason=typed(request.POST, "reason") if error else "",
        promotions=[(row, wording.PROMOTIONS[row.status]) for row in found.promotions],
    )


def _one_of(text: str, known: list[str]) -> str:
    return text if text in known else ""
