"""People who do not want to be remembered from channels: said by themselves, by message or in the portal.

From then on nothing that they say in a channel is kept, whatever way it comes, and nothing that others say there
becomes a fact about them. What was kept before stays, for them to erase. Their word outlives an erasure: whoever comes
again under the same identifier, or the same key, is the same person in this.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime

from facts import audit, erased_keys
from facts.actors import Actor, ActorKind
from facts.clock import now
from facts.errors import DomainError
from facts.ids import new_id
from facts.models import Event, Identity, Subject
from facts.vocabulary import SubjectKind
from ingest.models import OptOut

#: Whose identifiers are recognised again: those by which a platform's messages name their authors.
PLATFORM = "slack"
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
    return bool(opted_out(account_id, [subject_id]))


def opted_out(account_id: uuid.UUID, subject_ids: Collection[uuid.UUID] | None = None) -> frozenset[uuid.UUID]:
    """Return the people who opted out, of ``subject_ids`` or of all."""
    active = OptOut.objects.filter(account_id=account_id, active=True)
    said = dict(active.values_list("subject_id", "subject__key"))
    if subject_ids is None:
        return frozenset(said)
    out = said.keys() & set(subject_ids)
    erased = {key for key in said.values() if key.startswith(erased_keys.PREFIX)}
    return frozenset(out | _who_came_again(account_id, set(subject_ids) - out, erased) if erased else out)


def silent(account_id: uuid.UUID, identifiers: Collection[str]) -> frozenset[str]:
    """Return those identifiers of the platform under which somebody opted out, whoever bears them now."""
    if not identifiers:
        return frozenset()
    digests = {_digest(account_id, identifier): identifier for identifier in identifiers}
    last: dict[str, bool] = {}
    for row in OptOut.objects.filter(account_id=account_id, known_as__has_any_keys=list(digests)).order_by("said_at"):
        last |= dict.fromkeys(row.known_as, row.active)
    return frozenset(identifier for digest, identifier in digests.items() if last.get(digest))


def recognise(account_id: uuid.UUID, subject: Subject, identifier: str) -> None:
    """Take note that a person goes by an identifier: who opted out under it, and was erased since, still has."""
    if subject.kind != SubjectKind.PERSON:
        return
    mine = OptOut.objects.select_for_update().filter(account_id=account_id, subject=subject).first()
    digest = _digest(account_id, identifier)
    if mine is not None:
        mine.known_as = sorted({*mine.known_as, digest})
        mine.save(update_fields=["known_as"])
        return
    before = OptOut.objects.filter(account_id=account_id, known_as__contains=[digest]).order_by("-said_at").first()
    if before is not None and before.active:
        OptOut.objects.create(
            account_id=account_id, subject=subject, said_at=before.said_at, via=before.via, known_as=[digest]
        )


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
    known = Identity.objects.filter(account_id=account_id, subject=subject, platform=PLATFORM)
    names = {_digest(account_id, value) for value in known.values_list("value", flat=True)}
    row.known_as = sorted({*row.known_as, *names})
    row.save(update_fields=["active", "said_at", "via", "known_as"])
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


def _who_came_again(account_id: uuid.UUID, subject_ids: Collection[uuid.UUID], erased: set[str]) -> set[uuid.UUID]:
    """Return those who have the key of somebody who opted out and was erased, and have said nothing since."""
    heard = OptOut.objects.filter(account_id=account_id, subject_id__in=subject_ids).values("subject_id")
    people = Subject.objects.filter(account_id=account_id, pk__in=subject_ids, kind=SubjectKind.PERSON)
    began = {key.split(":")[1] for key in erased}
    return {
        subject_id
        for subject_id, key in people.exclude(pk__in=heard).values_list("pk", "key")
        if erased_keys.subject_key(account_id, kind=SubjectKind.PERSON, key=key).split(":")[1] in began
    }


def _digest(account_id: uuid.UUID, identifier: str) -> str:
    return erased_keys.keyed(account_id, PLATFORM, identifier)
