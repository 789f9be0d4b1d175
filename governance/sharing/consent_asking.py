"""Whether a subject can be asked by e-mail, at which address, and the job that does it.

Only the address with which the subject signs in is used: whoever can add another one to a subject could answer in its
place. Without a mail server and the site's own address nothing is queued, and the question waits until the subject
signs in.
"""

from __future__ import annotations

from django.conf import settings

from facts import jobs
from facts.models import Membership
from governance.models import Consent

#: The kind of job that sends one question: run by ``governance.sharing.consent_mail.run``.
KIND = "consent.mail"


def queue(consent: Consent) -> None:
    """Have the question sent, in the caller's transaction, if it can be."""
    if settings.EMAIL_HOST and settings.MEMORY_SITE_URL and address_of(consent):
        jobs.submit(consent.account_id, kind=KIND, input_key=str(consent.id), payload={"consent_id": str(consent.id)})


def address_of(consent: Consent) -> str:
    """Return where the consent's subject is asked, empty where it cannot be."""
    members = Membership.objects.filter(
        account_id=consent.account_id, subject_id=consent.subject_id, user__is_active=True
    ).exclude(user__email="")
    return members.values_list("user__email", flat=True).first() or ""
