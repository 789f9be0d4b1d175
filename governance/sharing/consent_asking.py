"""How a subject is asked: by a message where an app above reaches it by one, else by e-mail; and the job that mails.

Only the address with which the subject signs in is used: whoever can add another one to a subject could answer in its
place. Whoever registers another way answers for the same. Without the site's own address nothing is queued, nor without
a way to reach the subject, and the question waits until it signs in.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings

from facts import jobs
from facts.models import Membership
from governance.models import Consent

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
    """Have the question sent, in the caller's transaction, if it can be."""
    if not settings.MEMORY_SITE_URL or any(way(consent) for way in _ways):
        return
    if settings.EMAIL_HOST and address_of(consent):
        jobs.submit(consent.account_id, kind=KIND, input_key=str(consent.id), payload={"consent_id": str(consent.id)})


def address_of(consent: Consent) -> str:
    """Return where the consent's subject is asked, empty where it cannot be."""
    members = Membership.objects.filter(
        account_id=consent.account_id, subject_id=consent.subject_id, user__is_active=True
    ).exclude(user__email="")
    return members.values_list("user__email", flat=True).first() or ""
