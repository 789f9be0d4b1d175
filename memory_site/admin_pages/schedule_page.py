"""What runs by the clock: how often, when it ran last and runs next, what failed and why; to be run at once by who may.

The schedules are those of the installation: every administrator of an account may look, superusers have one run.
"""

from __future__ import annotations

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from facts.clock import now
from governance.models import Role
from memory_site import heartbeat, scheduled_runs, schedules
from memory_site.admin_pages import sight
from memory_site.admin_pages.governed import typed

PAGE = "admin:schedules"
#: What each of them is for.
DOES = {
    "heartbeat": "shows that the worker gets work done",
    "requeue waiting jobs": "hands work out again that got lost, or whose time has come",
    "start due facts": "lets facts begin that were said to hold from a later day",
    "expire facts": "ends facts whose time is over",
    "ask to revalidate": "has people asked whether old facts still hold",
    "age reviews": "escalates reviews that are overdue, and closes proposals that nobody took up",
    "remove raw text": "removes the words of live chat once they are read and old enough",
    "make trace partitions": "makes room for the reads to come, and drops those that are kept no longer",
    "keep search indexes": "makes new facts and messages findable",
    "keep names": "finds the names in what was said",
    "keep cards": "rebuilds profiles and summaries whose facts have changed",
    "send deliveries": "sends the messages, webhooks and e-mails that wait",
    schedules.COUNTS_DEAD_LETTERS: "counts what could not be sent",
    "detect moods": "reads the mood of a day out of what was said, from 23:00 of each account on",
    "begin reasoning": "begins the night's thinking over of each account, at 01:00 there",
    "begin nights": "begins the night's summing up of cards of each account, at 23:00 there",
    "keep statistics": "counts the figures by day",
    "prune task results": "forgets the queue's own records of what ran",
    "prune receipts of Slack": "forgets requests of Slack that were taken in long ago",
    "prune uploads": "removes uploaded files whose import is over",
    "prune deliveries": "forgets deliveries that ended long ago",
    "prune told changes": "forgets changes that everybody was told of",
    "prune answers and counts": "forgets stored answers and counts of calls that nobody needs any more",
}


def show(request: HttpRequest) -> HttpResponse:
    """Show them all; run one soon when its button was pressed."""
    eyes = sight.of(request)
    if eyes is None or not eyes.has_role_at_root(Role.ACCOUNT_ADMIN):
        raise PermissionDenied
    if request.method == "POST":
        return _run_soon(request)
    request.current_app = admin.site.name
    at = now()
    beat = heartbeat.last_beat()
    planned = scheduled_runs.planned(at=at)
    context = {
        **admin.site.each_context(request),
        "title": "Schedules",
        "subtitle": None,
        "planned": [(one, DOES.get(one.entry.name, "")) for one in planned],
        "late": [one.entry.name for one in planned if one.state.is_late],
        "failing": [one.entry.name for one in planned if one.state.is_failing],
        "worker_lives": heartbeat.is_fresh(beat, at=at),
        "last_beat": beat,
        "may_run": request.user.is_superuser,
    }
    return TemplateResponse(request, "memory/schedules.html", context)


def _run_soon(request: HttpRequest) -> HttpResponse:
    if not request.user.is_superuser:
        raise PermissionDenied
    name = typed(request.POST, "name")
    if not schedules.run_soon(name):
        raise Http404
    messages.success(request, f"“{name}” runs within a minute, when the worker is alive.")
    return redirect(reverse(PAGE))
