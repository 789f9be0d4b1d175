"""The page of a subject: what is known of it, what waits, what it agreed to, and to whom it was told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils.safestring import SafeString

from facts.clock import now
from facts.models import Fact, Identity, Membership, Subject
from facts.vocabulary import ConflictStatus, Status
from governance.models import Consent, Role
from ingest.models import OptOut
from memory_site.admin_pages import card_pages, consent_panel, merging_page
from memory_site.admin_pages.conflict_summary import in_short, with_sides
from memory_site.admin_pages.fact_display import words
from memory_site.admin_pages.fact_timeline import Lives, lives
from memory_site.admin_pages.governed import GovernedAdmin
from memory_site.admin_pages.sight import Sight, of
from retrieval.models import Card, CardKind, Trace
from retrieval.traces import finding
from retrieval.traces.finding import Wanted

#: Rows of each list on the page; current facts, and facts that are drawn.
SHOWN, FACTS, DRAWN = 20, 200, 40
#: What stands in place of a text that the person may not read.
HIDDEN = "not for you to read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The current facts of a subject by category; ``more``: whether there are others."""

    groups: Sequence[tuple[str, Sequence[Fact]]]
    more: bool


def page(page_of: GovernedAdmin, request: HttpRequest, subject: Subject) -> HttpResponse:
    """Show a subject that the person knows of."""
    eyes = of(request)
    owned = {"account_id": subject.account_id}
    reads, since = _reads(eyes, subject)
    context = page_of.context(
        request,
        title=f"Subject {subject.display_name}",
        subject=subject,
        known=_known(eyes, subject),
        lives=_lives(eyes, subject),
        cards=_cards(eyes, subject),
        conflicts=_conflicts(eyes, subject),
        consents=_consents(eyes, subject),
        reads=reads,
        reads_since=since,
        may_confirm=eyes.has_role_at_root(Role.CURATOR),
        identities=list(Identity.objects.filter(subject=subject, **owned).order_by("platform", "value")[:SHOWN]),
        opted_out=OptOut.objects.filter(subject=subject, active=True, **owned).first(),
        ways=_ways(eyes, subject),
        merges=merging_page.merges_of(request, subject),
        hidden=HIDDEN,
    )
    return TemplateResponse(request, "memory/subject.html", context)


def _known(eyes: Sight, subject: Subject) -> Known:
    current = eyes.facts().filter(subject=subject, status=Status.ACTIVE).select_related("scope")
    found = list(current.order_by("category", "-pk")[: FACTS + 1])
    by_category = groupby(found[:FACTS], key=lambda fact: fact.category)
    groups = [(words(category), list(facts)) for category, facts in by_category]
    return Known(groups=groups, more=len(found) > FACTS)


def _lives(eyes: Sight, subject: Subject) -> Lives | None:
    """Return the drawing of when the facts held that began last, current and ended ones."""
    held = eyes.facts().filter(
        subject=subject, readable=True, status__in=[Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED]
    )
    facts = list(held.order_by("-pk")[:DRAWN])
    return lives(facts, at=now()) if facts else None


def _cards(eyes: Sight, subject: Subject) -> list[tuple[Card, list[dict[str, Any]]]]:
    """Return the profiles of a subject, each with its lines as far as the person may read what they rest on."""
    about = Q(subject=subject) | Q(kind=CardKind.SHARED_PROFILE, key=str(subject.pk))
    found = Card.objects.filter(about, account_id=subject.account_id, scope_id__in=eyes.curated_ids).exclude(builder="")
    cards = list(found.select_related("scope").order_by("-built_at", "-pk")[:5])
    return [(card, lines) for card, lines in zip(cards, card_pages.lines_of(eyes, cards), strict=True) if lines]


def _conflicts(eyes: Sight, subject: Subject) -> list[tuple[Any, str]]:
    """Return the open conflicts about a subject that the person may decide, each with what its sides say."""
    open_ones = eyes.conflicts().filter(subject=subject, status=ConflictStatus.OPEN)
    return [(conflict, in_short(conflict)) for conflict in with_sides(eyes, open_ones).order_by("opened_at")[:SHOWN]]


def _consents(eyes: Sight, subject: Subject) -> list[tuple[Consent, SafeString, Fact | None]]:
    """Return what was asked of a subject where the person decides: how it stands, and its fact if they may read it."""
    asked = Consent.objects.filter(
        Q(target_id__in=eyes.curated_ids) | Q(fact__scope_id__in=eyes.curated_ids),
        account_id=subject.account_id,
        subject=subject,
    )
    consents = list(asked.select_related("target").order_by("-pk")[:SHOWN])
    facts = eyes.facts().filter(readable=True).in_bulk([consent.fact_id for consent in consents])
    return [(consent, consent_panel.standing(consent), facts.get(consent.fact_id)) for consent in consents]


def _reads(eyes: Sight, subject: Subject) -> tuple[list[Trace], Any]:
    """Return the newest reads about a subject of the last days, and how far back was looked."""
    wanted = Wanted()
    stretched = finding.stretch(subject.account_id, wanted)
    found = finding.among(eyes.traces().filter(subject=subject), stretched, wanted)
    return list(found.select_related("reader").order_by("-pk")[:SHOWN]), stretched.since


def _ways(eyes: Sight, subject: Subject) -> list[tuple[str, str, str]]:
    """Return where to go from here: address, what the link says, and what follows."""
    ways = [
        (reverse("admin:believed", args=[subject.pk]), "What was believed when …", "As of any earlier time."),
        (reverse("admin:subject_erase", args=[subject.pk]), "Erase …", "First shows what would go."),
    ]
    if eyes.has_role_at_root(Role.ACCOUNT_ADMIN):
        member = Membership.objects.filter(account_id=subject.account_id, subject=subject).first()
        if member is not None:
            leave = reverse("admin:member_leaves", args=[member.pk])
            ways.append((leave, "They leave …", "First shows what that would end."))
    merge = _merge_address(subject)
    return [*ways, (merge, "Merge …", "When two subjects are one.")] if merge else ways


def _merge_address(subject: Subject) -> str:
    try:
        return reverse("admin:subject_merge", args=[subject.pk])
    except NoReverseMatch:
        return ""
