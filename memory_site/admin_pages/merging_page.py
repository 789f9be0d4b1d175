"""Merging a subject into another one from its page: which one, what would change, a confirmation; and the undo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.db.models import Min
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from facts.errors import DomainError
from facts.models import Event, Fact, Identity, Membership, Subject, SubjectMerge
from facts.vocabulary import Status
from governance.merging import merging, unmerging
from memory_site.admin_pages import sight
from memory_site.admin_pages.fact_display import actor_name
from memory_site.admin_pages.governed import GovernedAdmin, subjects_called, typed

#: Subjects offered for what was typed; names and facts shown of each of the two.
OFFERED, SHOWN = 20, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What tells a subject from another: names on platforms, the latest facts that may be read, and since when."""

    subject: Subject
    facts: Sequence[Fact]
    names: Sequence[Identity]
    first: datetime | None
    signs_in: bool


def page(admin: GovernedAdmin, request: HttpRequest, subject: Subject) -> HttpResponse:
    """Look for the other one, show what a merge would change, or carry it out when its key was typed."""
    asked = request.POST if request.method == "POST" else request.GET
    search, into = typed(asked, "search"), _chosen(admin, request, typed(asked, "into"))
    problem, status, preview = "", 200, None
    if request.method == "POST" and into is not None:
        if typed(request.POST, "key") != into.key.strip():
            problem, status = "Type the key of the one that it is to confirm.", 422
        else:
            try:
                merging.merge(
                    request.principal,
                    source_id=subject.pk,
                    target_id=into.pk,
                    rationale=typed(request.POST, "rationale"),
                )
            except DomainError as error:
                problem, status = error.message, error.status
            else:
                messages.success(request, "They are one now. It can be taken back while nothing has built on it.")
                return redirect(reverse("admin:facts_subject_change", args=[into.pk]))
    if into is not None:
        try:
            preview = merging.preview(request.principal, source_id=subject.pk, target_id=into.pk)
        except DomainError as error:
            problem, status = problem or error.message, error.status if status == 200 else status
    context = admin.context(
        request,
        title=f"Merge {subject.display_name}",
        subject=subject,
        search=search,
        found=_found(request, subject, search),
        into=into,
        pair=[_known(request, one) for one in (subject, into)] if into is not None else [],
        preview=preview,
        rationale=typed(request.POST, "rationale"),
        problem=problem,
    )
    return TemplateResponse(request, "memory/subject_merge.html", context, status=status)


def undo(admin: GovernedAdmin, request: HttpRequest, subject: Subject) -> HttpResponse:
    """Take the merge of a subject back."""
    try:
        made = unmerging.unmerge(request.principal, subject_id=subject.pk)
    except DomainError as error:
        messages.error(request, error.message)
    else:
        kept = len(made.detail["kept"])
        stays = f" {kept} fact{'s' if kept != 1 else ''} recorded since then stayed with the other one." if kept else ""
        messages.success(request, f"They are two again.{stays}")
    return redirect(reverse("admin:facts_subject_change", args=[subject.pk]))


def merges_of(request: HttpRequest, subject: Subject) -> list[tuple[SubjectMerge, str, bool]]:
    """Return the standing merges of and into a subject, each with who said it and whether it can be taken back.

    Those of which the person knows both.
    """
    known = sight.of(request).subjects().values("pk")
    merges = unmerging.standing(subject.account_id).filter(source__in=known, target__in=known)
    found = [*merges.filter(source=subject), *merges.filter(target=subject)[:OFFERED]]
    return [(made, actor_name(made.actor), unmerging.may_unmerge(made)) for made in found]


def _chosen(admin: GovernedAdmin, request: HttpRequest, pk: str) -> Subject | None:
    return admin.get_or_404(request, pk) if pk else None


def _known(request: HttpRequest, subject: Subject) -> Known:
    owned = {"account_id": subject.account_id, "subject": subject}
    facts = sight.of(request).facts().filter(subject=subject, readable=True, status=Status.ACTIVE)
    return Known(
        subject=subject,
        facts=list(facts.order_by("-pk")[:SHOWN]),
        names=list(Identity.objects.filter(**owned).order_by("platform", "value")[:SHOWN]),
        first=Event.objects.filter(**owned).aggregate(first=Min("occurred_at"))["first"],
        signs_in=Membership.objects.filter(**owned).exists(),
    )


def _found(request: HttpRequest, subject: Subject, search: str) -> list[Subject]:
    if not search:
        return []
    found = subjects_called(request, search).filter(kind=subject.kind, merged_into__isnull=True)
    return list(found.exclude(pk=subject.pk).order_by("key")[:OFFERED])
