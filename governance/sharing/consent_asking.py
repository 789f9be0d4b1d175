"""How a subject is asked: by a message where an app above reaches it by one, else by e-mail.

Only the address with which the subject signs in is used: whoever can add another one to a subject could answer in its
place. Whoever registers another way answers for the same, and says when that way gave up (:func:`ask_otherwise`).
Where no way is left, nor was there any, the consent says so and waits until its subject signs in.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings

from facts import jobs
from facts.clock import now
from facts.models import Membership
from governance.models import Consent, ConsentStatus

#: The kind of job that sends one question: run by ``governance.sharing.consent_mail.run``.
KIND = "consent.mail"

#: Has the question of a consent brought to its subject, in the caller's transaction; ``False`` where it cannot be.
Way = Callable[[Consent], bool]

_ways: list[Way] = []


def register(way: Way) -> None:
    """Have questions brought by ``way`` where it reaches the subject, and not by e-mail then."""
    if way not in _ways:
        _ways.append(way)


def queue(consent: Consent) -> None:
    """Have the question sent, in the caller's transaction, by the first way there is."""
    if settings.MEMORY_SITE_URL and any(way(consent) for way in _ways):
        return
    ask_otherwise(consent)


def ask_otherwise(consent: Consent) -> None:
    """Have the question sent by e-mail, in the caller's transaction: no registered way is left.

    Where there is no address either, the consent says that its subject could not be asked. Nothing is asked twice by
    e-mail, and nobody who has answered.
    """
    if consent.status != ConsentStatus.PENDING:
        return
    if settings.MEMORY_SITE_URL and settings.EMAIL_HOST and address_of(consent):
        jobs.submit(consent.account_id, kind=KIND, input_key=str(consent.id), payload={"consent_id": str(consent.id)})
    else:
        note_unreached(consent)


def note_unreached(consent: Consent) -> None:
    """Write down that the subject could not be asked, unless that stands there or it has answered."""
    open_ones = Consent.objects.filter(account_id=consent.account_id, pk=consent.pk, status=ConsentStatus.PENDING)
    open_ones.filter(unreached_at__isnull=True).update(unreached_at=now())


def note_reached(consent: Consent) -> None:
    """Write down that the question arrived after all."""
    reached = Consent.objects.filter(account_id=consent.account_id, pk=consent.pk, unreached_at__isnull=False)
    reached.update(unreached_at=None)


def address_of(consent: Consent) -> str:
    """Return where the consent's subject is asked, empty where it cannot be."""
    members = Membership.objects.filter(
        account_id=consent.account_id, subject_id=consent.subject_id, user__is_active=True
    ).exclude(user__email="")
    return members.values_list("user__email", flat=True).first() or ""
