"""The first page of the portal: how much is known, what waits for an answer, and the switch of being remembered."""

from __future__ import annotations

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from facts.models import Subject
from governance import subject_data
from governance.models import ConsentStatus
from governance.subject_data import STATUSES, Standing
from ingest import opting_out
from memory_site.portal import wording
from memory_site.portal.shell import member_page, render

#: Messages counted at most.
COUNTED = 1_000


@member_page()
def home(request: HttpRequest) -> HttpResponse:
    """Show the overview."""
    principal = request.principal
    counts = {one.value: Count("pk", filter=Q(status__in=STATUSES[one])) for one in Standing}
    found = subject_data.facts(principal).order_by().aggregate(**counts)
    said = subject_data.messages(principal).values("pk")[: COUNTED + 1].count()
    return render(
        request,
        "home.html",
        title="What is remembered about you",
        section="home",
        standings=[(one.value, wording.STANDINGS[one], found[one.value]) for one in Standing],
        said=f"{COUNTED:,}+" if said > COUNTED else f"{said:,}",
        receipts=list(subject_data.receipts(principal).filter(target="subject")[:5]),
        is_opted_out=opting_out.is_opted_out(principal.account_id, principal.subject_id),
        pending=ConsentStatus.PENDING,
    )


@member_page("POST")
def set_capture(request: HttpRequest) -> HttpResponse:
    """Turn being remembered from channels off or on; anything else changes nothing."""
    principal = request.principal
    subject = Subject.objects.get(account_id=principal.account_id, pk=principal.subject_id)
    match request.POST.get("remember"):
        case "no":
            opting_out.stop_remembering(principal.account_id, subject, via=opting_out.PORTAL)
        case "yes":
            opting_out.start_remembering(principal.account_id, subject, via=opting_out.PORTAL)
    return redirect("me:home")
