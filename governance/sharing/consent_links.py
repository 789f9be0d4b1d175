"""Signed links by which a subject answers without signing in: for one answer, until a date, and a no at any time.

A link proves who answers because it was sent to an address of the subject's own. It holds ids and no content; who opens
it is shown what is asked, and decides nothing by opening it.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.core import signing

from facts.actors import Actor, ActorKind
from facts.clock import now
from facts.errors import Conflicting, NotFound
from facts.tenancy import account_transaction
from governance.models import Consent, ConsentChannel, ConsentLink, ConsentStatus
from governance.sharing import consent_asking, consent_records, consents

#: How long a link is good for a yes; as long as a request waits, twice over.
GOOD_FOR = timedelta(days=14)
_SALT = "consent.link"


@dataclass(frozen=True, slots=True)
class Opened:
    """A link with the consent that it is about; ``is_good``: for a yes, which it is once and for a time."""

    link: ConsentLink
    consent: Consent
    is_good: bool


def issue(consent: Consent) -> str:
    """Make a link for a consent and return its token, which goes to the subject and to nobody else."""
    link = ConsentLink.objects.create(account_id=consent.account_id, consent=consent, expires_at=now() + GOOD_FOR)
    return _token(link)


def again(consent: Consent) -> str:
    """Return the token of a link for the consent that nobody has used and that is good still, else of a new one.

    For whoever may have to send a question several times.
    """
    unused = ConsentLink.objects.filter(account_id=consent.account_id, consent=consent, used_at__isnull=True)
    link = unused.filter(expires_at__gt=now()).order_by("-expires_at").first()
    return issue(consent) if link is None else _token(link)


def ask_anew(account_id: uuid.UUID, consent_ids: Collection[str]) -> None:
    """Let no link that was sent say yes to consents that are another subject's to give by now.

    Whoever got it is not known to be that one. A no counts still. The subject, whom no question has reached, is said
    to be unasked until one does, or they sign in.
    """
    sent = ConsentLink.objects.filter(account_id=account_id, consent_id__in=consent_ids, expires_at__gt=now())
    sent.update(expires_at=now())
    for consent in Consent.objects.filter(account_id=account_id, pk__in=consent_ids):
        consent_asking.note_unreached(consent)


def open_link(token: str) -> Opened:
    """Return what a link is about; changes nothing. Raises ``NotFound`` (``consent_link_not_found``)."""
    account_id, link_id = _read(token)
    with account_transaction(account_id):
        return _opened(account_id, link_id)


def answer(token: str, *, agrees: bool) -> Consent:
    """Answer over a link. A yes needs a link that is still good, and a question that is still open; a no counts over
    any that was ever sent.

    Raises ``NotFound`` (``consent_link_not_found``) and ``Conflicting`` (``link_used``, ``link_expired``).
    """
    account_id, link_id = _read(token)
    with account_transaction(account_id):
        consent = consents.locked_consent(_opened(account_id, link_id).consent)
        link = ConsentLink.objects.select_for_update().get(account_id=account_id, pk=link_id)
        is_good = _is_good(link)
        actor = Actor(kind=ActorKind.PERSON, name=consent.subject.display_name, subject_id=consent.subject_id)
        if not agrees:
            answered = consents.say_no(consent, channel=ConsentChannel.LINK, verified=is_good, actor=actor)
        elif link.used_at is not None or consent.status in consent_records.REFUSED:
            raise Conflicting("This link was used already.", code="link_used")
        elif not is_good:
            raise Conflicting("This link is no longer good for a yes.", code="link_expired")
        else:
            answered = consents.say_yes(consent, channel=ConsentChannel.LINK, actor=actor)
        link.used_at = link.used_at or now()
        link.save(update_fields=["used_at"])
        return answered


def _token(link: ConsentLink) -> str:
    return signing.dumps([str(link.account_id), str(link.id)], salt=_SALT)


def _read(token: str) -> tuple[uuid.UUID, uuid.UUID]:
    try:
        account_id, link_id = signing.loads(token, salt=_SALT)
        return uuid.UUID(account_id), uuid.UUID(link_id)
    except (signing.BadSignature, ValueError):
        raise _unknown() from None


def _opened(account_id: uuid.UUID, link_id: uuid.UUID) -> Opened:
    link = (
        ConsentLink.objects.filter(account_id=account_id, pk=link_id)
        .select_related("account", "consent__fact", "consent__target", "consent__subject")
        .first()
    )
    if link is None:
        raise _unknown()
    is_good = _is_good(link) and link.consent.status == ConsentStatus.PENDING
    return Opened(link=link, consent=link.consent, is_good=is_good)


def _is_good(link: ConsentLink) -> bool:
    return link.used_at is None and now() < link.expires_at


def _unknown() -> NotFound:
    return NotFound("There is no such link, or what it was about is gone.", code="consent_link_not_found")
