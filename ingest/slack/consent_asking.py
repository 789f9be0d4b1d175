"""Asking for consent by a direct message of the workspace's bot: a link that is good for one answer.

Only where it is certain which user of the workspace the subject is. The message is worded when it is sent: a question
that was answered meanwhile is not asked. Where it cannot be brought, the subject is asked by e-mail.
"""

from __future__ import annotations

from governance.models import Consent, ConsentStatus
from governance.sharing import consent_asking, consent_codes, consent_links, consent_question
from ingest.deliveries import contents, outbox, places
from ingest.deliveries.contents import Content, NotToBeTold
from ingest.deliveries.places import Place
from ingest.models import Delivery, DeliveryKind
from ingest.slack.client import client_for

ABOUT = "consent.question"


def register() -> None:
    """Tell governance that subjects are asked here, and the outbox how it is worded."""
    consent_asking.register(ask)
    contents.register(ABOUT, word, ending=note_ending)


def ask(consent: Consent) -> bool:
    """Have the subject asked, in the caller's account transaction; ``False`` where it is not reached here."""
    known = places.slack_address(consent.account_id, consent.subject, by_platform=True)
    if known is None or client_for(known[0]) is None:
        return False
    outbox.request(
        consent.account_id,
        about=ABOUT,
        object_id=consent.id,
        key=f"{ABOUT}:{consent.id}",
        recipient=consent.subject,
    )
    return True


def note_ending(delivery: Delivery, arrived: bool) -> None:
    """Have a question that did not arrive asked by e-mail; note of one that did that the subject was asked."""
    consent = Consent.objects.filter(account_id=delivery.account_id, pk=delivery.object_id).first()
    if consent is not None and arrived:
        consent_asking.note_reached(consent)
    elif consent is not None:
        consent_asking.ask_otherwise(consent)


def word(delivery: Delivery, place: Place) -> Content:
    """Return the question. Raises ``NotToBeTold`` for one that is not open, or would reach somebody else."""
    found = Consent.objects.filter(account_id=delivery.account_id, pk=delivery.object_id)
    consent = found.select_related("account").first()
    if consent is None or consent.status != ConsentStatus.PENDING:
        raise NotToBeTold("consent_answered", over=True)
    if place.recipient is None or place.recipient.id != consent.subject_id:
        raise NotToBeTold("not_the_subject")
    # Whoever confirms a name could answer in its subject's place; an address by e-mail is that of the sign-in.
    known = places.slack_address(consent.account_id, place.recipient, by_platform=True)
    if place.kind == DeliveryKind.SLACK and known != (place.team, place.address):
        raise NotToBeTold("not_the_subject")
    question = consent_question.worded(
        consent.account.name, token=consent_links.again(consent), code=consent_codes.code_of(consent.id)
    )
    return Content(type=ABOUT, title=question.title, text=question.text, fields={})
