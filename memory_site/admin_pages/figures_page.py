"""The page of figures: what reading, deciding and taking in came to, for whoever decides in some scope."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache

from memory_site.admin_pages import sight
from memory_site.admin_pages.governed import typed
from memory_site.figures import asked, headlines, period, read_sections, work_sections
from memory_site.figures.asked import Asked
from memory_site.figures.tables import Section, day

#: Purposes and scopes to choose from; others are found by their address.
OFFERED = 200


@never_cache
def show(request: HttpRequest) -> HttpResponse:
    """Show the figures of a period, or the table that the parameter ``csv`` names as a file."""
    eyes = sight.of(request)
    if eyes is None or not eyes.is_curator:
        return HttpResponse(status=403)
    days, wrong = period.chosen(request.GET)
    path, purpose = typed(request.GET, "scope"), request.GET.get("purpose") or None
    scopes, paths = asked.narrowed(eyes, path)
    found = asked.find(Asked(eyes=eyes, period=days, path=path, scopes=scopes, paths=paths, purpose=purpose))
    shown = [*read_sections.sections(found), *work_sections.sections(found)]
    if wanted := request.GET.get("csv"):
        return _file(next((section for section in shown if section.key == wanted), None), days)
    request.current_app = admin.site.name
    kept = {"scope": path, **({"purpose": purpose} if purpose else {})}
    context = {
        **admin.site.each_context(request),
        "title": "Figures",
        "subtitle": None,
        "wrong": wrong,
        "period": days,
        "before": days.before if found.before else None,
        "began": found.began,
        "until": found.now.reads.until,
        "headlines": headlines.headlines(found),
        "sections": shown,
        "presets": [(span, urlencode({"days": span, **kept})) for span in period.PRESETS],
        "span": len(days.days),
        "query": urlencode({"from": day(days.first), "to": day(days.last), **kept}),
        "scope": path,
        "purpose": purpose,
        "scopes": asked.offered_scopes(eyes)[:OFFERED],
        "purposes": sorted({*found.now.reads.by_purpose, *([purpose] if purpose else [])} - {""})[:OFFERED],
    }
    return TemplateResponse(request, "memory/figures.html", context)


def _file(section: Section | None, days: period.Period) -> HttpResponse:
    if section is None:
        raise Http404
    name = f"memory-{section.key}-{day(days.first)}-{day(days.last)}.csv"
    return HttpResponse(
        section.as_csv(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
