"""Short codes by which a subject refuses a question of consent in a plain message.

A code is no secret that lets anybody agree: a no counts over any channel, a yes never over this one. It is made from
the question's id, so that nothing is stored, and is looked for among the subject's own questions only.
"""

from __future__ import annotations

import base64
import uuid

from django.utils.crypto import constant_time_compare, salted_hmac

from facts.actors import Actor, ActorKind
from facts.models import Subject
from governance.models import Consent, ConsentChannel, ConsentStatus
from governance.sharing import consents

LENGTH = 8


def code_of(consent_id: uuid.UUID) -> str:
    """Return the code of a question: eight lower-case letters and digits 2 to 7."""
    digest = salted_hmac("consent.code", str(consent_id), algorithm="sha256").digest()
    return base64.b32encode(digest).decode().lower()[:LENGTH]


def refuse(account_id: uuid.UUID, subject: Subject, *, code: str) -> bool:
    """Say no for ``subject`` to the question with this code, also after a yes; ``False`` where it has none.

    Runs in the caller's account transaction.
    """
    asked = Consent.objects.filter(
        account_id=account_id, subject=subject, status__in=[ConsentStatus.PENDING, ConsentStatus.GRANTED]
    ).select_related("fact")
    for consent in asked:
        if constant_time_compare(code_of(consent.id), code.casefold()):
            actor = Actor(kind=ActorKind.PERSON, name=subject.display_name, subject_id=subject.id)
            locked = consents.locked_consent(consent)
            consents.say_no(locked, channel=ConsentChannel.MESSAGE, verified=False, actor=actor)
            return True
    return False
