"""Erasing a subject from its page: first what would go, then a confirmation by its key."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from facts.erasure import ErasureMode
from facts.errors import DomainError
from facts.models import Subject
from governance import erasing
from memory_site.admin_pages.governed import GovernedAdmin, typed


def page(admin: GovernedAdmin, request: HttpRequest, subject: Subject) -> HttpResponse:
    """Show what an erasure of the subject would take, or carry it out when its key was typed."""
    asked = request.POST if request.method == "POST" else request.GET
    mode = ErasureMode.STRICT if asked.get("erasure") == ErasureMode.STRICT else ErasureMode.PROPORTIONATE
    problem, status = "", 200
    if request.method == "POST" and typed(request.POST, "key") != subject.key.strip():
        problem, status = "Type the key of the subject to confirm.", 422
    elif request.method == "POST":
        try:
            receipt = erasing.erase(request.principal, subject_id=subject.pk, mode=mode)
        except DomainError as error:
            problem, status = error.message, error.status
        else:
            left = sum(receipt.counters["search"]["left"].values())
            found = f"The same words stand in {left:,} rows of others." if left else "No word of it was found anywhere."
            messages.success(request, f"Erased for good. {found}")
            return redirect(reverse("admin:facts_subject_change", args=[subject.pk]))
    preview = None
    try:
        preview = erasing.preview(request.principal, subject_id=subject.pk, mode=mode)
    except DomainError as error:
        problem, status = error.message, error.status
    context = admin.context(
        request,
        title=f"Erase {subject.display_name}",
        subject=subject,
        mode=mode.value,
        is_strict=mode is ErasureMode.STRICT,
        preview=preview,
        stores=[(name, rows) for name, rows in preview.stores.items() if rows] if preview else [],
        problem=problem,
    )
    return TemplateResponse(request, "memory/subject_erase.html", context, status=status)
