"""People who do not want to be remembered from channels: said by themselves, by message or in the portal.

From then on nothing that they say in a channel is kept, whatever way it comes, and nothing that others say there
becomes a fact about them. What was kept before stays, for them to erase.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime

from facts import audit
from facts.actors import Actor, ActorKind
from facts.clock import now
from facts.errors import DomainError
from facts.ids import new_id
from facts.models import Event, Subject
from facts.vocabulary import SubjectKind
from ingest.models import OptOut

#: How somebody said it.
PORTAL = "portal"
MESSAGE = "slack_message"


def stop_remembering(account_id: uuid.UUID, subject: Subject, *, via: str, said_at: datetime | None = None) -> bool:
    """Keep nothing of this person from channels from now on; ``False`` when that is so already, or an older word.

    ``said_at`` is when they said so, by default now. Runs in the caller's account transaction. Raises ``DomainError``
    (``invalid_subject``) for a subject that is no person.
    """
    return _say(account_id, subject, active=True, via=via, said_at=said_at)


def start_remembering(account_id: uuid.UUID, subject: Subject, *, via: str, said_at: datetime | None = None) -> bool:
    """Take :func:`stop_remembering` back; answers and raises as it does."""
    return _say(account_id, subject, active=False, via=via, said_at=said_at)


def is_opted_out(account_id: uuid.UUID, subject_id: uuid.UUID) -> bool:
    """Tell whether nothing of this person may be kept from channels."""
    return OptOut.objects.filter(account_id=account_id, subject_id=subject_id, active=True).exists()


def opted_out(account_id: uuid.UUID, subject_ids: Collection[uuid.UUID] | None = None) -> frozenset[uuid.UUID]:
    """Return the people who opted out, of ``subject_ids`` or of all."""
    found = OptOut.objects.filter(account_id=account_id, active=True)
    if subject_ids is not None:
        found = found.filter(subject_id__in=subject_ids)
    return frozenset(found.values_list("subject_id", flat=True))


def not_to_be_subjects(event: Event, subjects: Collection[Subject | None]) -> frozenset[uuid.UUID]:
    """Return those of ``subjects`` about whom nothing may be learned from this event, in one query.

    What somebody tells their own assistant, outside of any channel, is not concerned.
    """
    if not event.channel_id:
        return frozenset()
    return opted_out(event.account_id, {subject.id for subject in subjects if subject is not None})


def _say(account_id: uuid.UUID, subject: Subject, *, active: bool, via: str, said_at: datetime | None) -> bool:
    if subject.kind != SubjectKind.PERSON:
        raise DomainError("Only a person can ask not to be remembered.", code="invalid_subject", field="subject_id")
    at = said_at or now()
    row, created = OptOut.objects.select_for_update().get_or_create(
        account_id=account_id,
        subject=subject,
        defaults={"active": active, "said_at": at, "via": via},
    )
    was_active = row.active and not created
    if not created:
        if at <= row.said_at:
            return False
        row.active, row.said_at, row.via = active, at, via
        row.save(update_fields=["active", "said_at", "via"])
    if was_active == active:
        return False
    audit.record(
        account_id,
        action="subject.opted_out" if active else "subject.opted_in",
        object_type="subject",
        object_id=subject.id,
        actor=Actor(kind=ActorKind.PERSON, name=subject.display_name, subject_id=subject.id),
        group=new_id(),
        metadata={"via": via},
    )
    return True
