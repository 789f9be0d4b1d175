"""The page on what was believed about somebody at an earlier time."""

from __future__ import annotations

import uuid

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache

from facts.clock import now
from facts.errors import DomainError
from governance.fields import parse_instant
from memory_site.admin_pages import believed, sight


@never_cache
def show(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Show a subject at the time of the parameter ``at``, by default now; for whoever decides anywhere."""
    eyes = sight.of(request)
    if eyes is None or not eyes.is_curator:
        return HttpResponse(status=403)
    subject = eyes.subjects().filter(pk=pk).first()
    if subject is None:
        raise Http404
    asked = request.GET.get("at", "").replace("\x00", "").strip()
    at, wrong = now(), ""
    try:
        at = parse_instant(asked, field="at") if asked else at
    except DomainError as error:
        wrong = error.message
    request.current_app = admin.site.name
    context = {
        **admin.site.each_context(request),
        "title": f"What was believed about {subject.display_name}",
        "subtitle": None,
        "subject": subject,
        "asked": asked,
        "at": at,
        "wrong": wrong,
        "beliefs": [] if wrong else believed.beliefs(eyes, subject, at),
        "most": believed.SHOWN_FACTS,
        "reads": believed.READS,
    }
    return TemplateResponse(request, "memory/believed.html", context, status=422 if wrong else 200)
