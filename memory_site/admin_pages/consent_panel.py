"""The page of one consent: what was asked of whom, what each answer would do, and that only they answer.

Whoever decides where the fact is, or where it would be known, may look at it. There is nothing to press: a yes counts
over a way on which the subject is known, and nobody gives it in their place.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from facts.clock import now
from facts.models import Evidence, Fact
from governance.models import Consent, ConsentChannel, ConsentLink, ConsentStatus, Promotion
from memory_site.admin_pages import threads
from memory_site.admin_pages.deciding import surroundings
from memory_site.admin_pages.fact_display import claim
from memory_site.admin_pages.fact_pages import HIDDEN
from memory_site.admin_pages.governed import GovernedAdmin, Queue
from memory_site.admin_pages.sight import Sight, of

#: Promotions shown that asked for it.
_SHOWN = 5
#: Where a consent stands, and over which way the answer came.
_SAID = {
    ConsentStatus.PENDING: "not answered",
    ConsentStatus.GRANTED: "agreed",
    ConsentStatus.DENIED: "said no",
    ConsentStatus.WITHDRAWN: "took it back",
}
_HOW = {
    ConsentChannel.SESSION: ", signed in",
    ConsentChannel.LINK: ", by their link",
    ConsentChannel.MESSAGE: ", in a chat",
}


def standing(consent: Consent) -> SafeString:
    """Return where a consent stands, in the words of every page that shows one, and over which way the answer came."""
    said = _SAID[ConsentStatus(consent.status)]
    match consent.status:
        case ConsentStatus.PENDING:
            return _chip("could not be asked" if consent.unreached_at else said, "warn")
        case ConsentStatus.GRANTED if consent.channel == ConsentChannel.AUTO:
            return _chip("agreed by the account, nobody asked them", "warn")
    how = _HOW.get(consent.channel, "")
    return _chip(f"{said}{how}", "included" if consent.status == ConsentStatus.GRANTED else "blocked")


def _chip(text: str, sort: str) -> SafeString:
    return format_html('<span class="chip {}">{}</span>', sort, text)


def page(page_of: GovernedAdmin, request: HttpRequest, consent: Consent) -> HttpResponse:
    """Show what was asked, with its fact as far as the person may read it."""
    eyes = of(request)
    fact = eyes.facts().select_related("scope", "subject").filter(pk=consent.fact_id).first()
    readable = fact is not None and fact.readable
    evidence = (
        Evidence.objects.filter(account_id=consent.account_id, fact_id=consent.fact_id)
        .select_related("event", "event__speaker", "event__subject", "event__scope")
        .order_by("-event__occurred_at")[: threads.SHOWN_EVIDENCE]
    )
    context = page_of.context(
        request,
        title=f"Consent: {consent.subject.display_name}",
        noun="consent",
        consent=consent,
        standing=standing(consent),
        fact=fact,
        readable=readable,
        hidden=HIDDEN,
        is_mine=consent.subject_id == eyes.principal.subject_id,
        rows=claim(fact) if readable else [],
        excerpts=threads.excerpts(eyes, evidence).get(consent.fact_id, []) if readable else [],
        link=ConsentLink.objects.filter(account_id=consent.account_id, consent=consent).order_by("-pk").first(),
        at=now(),
        list_address=reverse("admin:governance_consent_changelist"),
        **_around(eyes, consent, fact),
        **Queue(page_of, request).links(consent.pk),
    )
    return TemplateResponse(request, "memory/consent_asked.html", context)


def _around(eyes: Sight, consent: Consent, fact: Fact | None) -> dict[str, Any]:
    """Return who would get it after each answer, what used it, what says nearly the same, requests and history."""
    facts = [fact] if fact is not None else []
    uses = surroundings.uses(eyes, facts)
    waits = consent.status == ConsentStatus.PENDING
    asked = Promotion.objects.filter(
        account_id=consent.account_id, fact_id=consent.fact_id, target_id=consent.target_id
    ).filter(review__in=eyes.reviews().values("pk"))
    return {
        "waits": waits,
        "choices": surroundings.choices_of_consent(eyes, fact, consent.target) if fact is not None and waits else [],
        "uses": [(0, uses.get(consent.fact_id))] if facts else [],
        "is_used": bool(uses),
        "near": surroundings.near(eyes, facts) if facts else None,
        "promotions": list(asked.order_by("-pk")[:_SHOWN]),
        "history": surroundings.history(consent.account_id, "consent", consent.pk),
    }
