"""What somebody is asked about sharing what is personal, what they said, and what is asked for about them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from governance import pagination, subject_data
from governance.models import Consent, ConsentChannel, ConsentStatus, Promotion
from governance.readers import Readers, readers_at
from governance.sharing import consents
from memory_site.admin_pages.governed import typed
from memory_site.portal import wording
from memory_site.portal.shell import member_page, render

#: Answers on one page; questions that wait are all shown, up to this number.
PAGE, SHOWN_QUESTIONS = 25, 100


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the answer, if there is one. ``statement`` is ``None`` for what is shown to nobody any more."""

    consent: Consent
    statement: str | None
    status: str
    by: str
    reason: str
    readers: Readers | None

    @property
    def may_agree(self) -> bool:
        """Whether a yes says something."""
        return self.statement is not None and not self.is_granted

    @property
    def is_granted(self) -> bool:
        """Whether there is a yes to take back."""
        return self.consent.status == ConsentStatus.GRANTED

    @property
    def is_of_account(self) -> bool:
        """Whether nobody answered: the account says yes for everybody."""
        return self.consent.channel == ConsentChannel.AUTO


@member_page()
def consents_page(request: HttpRequest) -> HttpResponse:
    """Show what waits for an answer, then what was answered, newest first."""
    principal = request.principal
    own = Consent.objects.filter(account_id=principal.account_id, subject_id=principal.subject_id)
    own = own.select_related("fact", "target")
    waiting = list(own.filter(status=ConsentStatus.PENDING).order_by("-pk")[:SHOWN_QUESTIONS])
    answered, next_cursor = pagination.page(
        own.exclude(status=ConsentStatus.PENDING),
        listing="portal.consents",
        cursor=typed(request.GET, "after") or None,
        limit=PAGE,
    )
    return render(
        request,
        "consents.html",
        title="Your consent",
        section="consents",
        waiting=_asked(waiting, with_readers=True),
        answered=_asked(answered, with_readers=False),
        next_cursor=next_cursor,
        is_first="after" not in request.GET,
        promotions=[
            (
                row,
                None if row.fact.status in subject_data.WORDLESS else row.fact.statement,
                wording.PROMOTIONS[row.status],
            )
            for row in subject_data.promotions(principal)[:PAGE]
        ],
    )


@member_page("POST")
def agree(request: HttpRequest, consent_id: uuid.UUID) -> HttpResponse:
    """Say yes."""
    consents.grant(request.principal, consent_id)
    messages.success(request, "You agreed. You can take it back at any time.")
    return redirect("me:consents")


@member_page("POST")
def refuse(request: HttpRequest, consent_id: uuid.UUID) -> HttpResponse:
    """Say no, or take a yes back."""
    consents.refuse(request.principal, consent_id)
    messages.success(request, "You said no. Nobody else is told it.")
    return redirect("me:consents")


def _asked(found: Sequence[Consent], *, with_readers: bool) -> list[Asked]:
    wanted = Promotion.objects.filter(fact_id__in=[consent.fact_id for consent in found]).order_by("pk")
    last = {(promotion.fact_id, promotion.target_id): promotion for promotion in wanted}
    readers: dict[str, Readers] = {}
    if with_readers:
        paths = {(consent.account_id, consent.target.path) for consent in found}
        readers = {path: readers_at(account_id, path) for account_id, path in paths}
    shown = []
    for consent in found:
        promotion = last.get((consent.fact_id, consent.target_id))
        shown.append(
            Asked(
                consent=consent,
                statement=None if consent.fact.status in subject_data.WORDLESS else consent.fact.statement,
                status=wording.CONSENTS[consent.status],
                by=(promotion or consent).requested_by.get("name", ""),
                reason=promotion.reason if promotion else "",
                readers=readers.get(consent.target.path),
            )
        )
    return shown
