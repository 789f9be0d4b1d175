"""Consents as they are asked for and looked up: whether a fact may be seen beyond its subject, and who was asked."""

from __future__ import annotations

import uuid

from facts import audit
from facts.actors import Actor, system
from facts.clock import now
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import Account, Fact, Relation
from facts.models.tenancy import ConsentMode
from facts.vocabulary import Level, RelationKind, Status
from governance.models import Consent, ConsentChannel, ConsentStatus
from governance.sharing import consent_asking
from governance.sharing.consent_rule import consent_needed

#: Statuses in which somebody other than the subject may read a fact, now or as history.
_READ_BY_OTHERS = frozenset(
    {Status.ACTIVE, Status.NEEDS_REVALIDATION, Status.DISPUTED, Status.SUPERSEDED, Status.EXPIRED}
)
#: A no stands until the subject itself changes its mind; nobody asks again.
REFUSED = frozenset({ConsentStatus.DENIED, ConsentStatus.WITHDRAWN})


def needs_consent(fact: Fact) -> bool:
    """Tell whether the fact, as wide as it is, is one that its subject has to agree to."""
    return consent_needed(subject_kind=fact.subject.kind, sensitivity=fact.sensitivity, level=fact.level)


def is_granted(fact: Fact) -> bool:
    """Tell whether the subject has agreed to the fact where it is: to itself, or to its being copied there."""
    return ConsentStatus.GRANTED in _said_of(fact)


def consent_of(fact: Fact, *, target_id: uuid.UUID) -> Consent | None:
    """Return what the fact's subject was asked about its being known in a scope, if anybody asked."""
    return Consent.objects.filter(
        account_id=fact.account_id, fact=fact, subject_id=fact.subject_id, target_id=target_id
    ).first()


def has_agreed(fact: Fact, *, target_id: uuid.UUID) -> bool:
    """Tell whether the fact's subject has agreed to its being known in a scope."""
    consent = consent_of(fact, target_id=target_id)
    return consent is not None and consent.status == ConsentStatus.GRANTED


def is_settled(fact: Fact) -> bool:
    """Tell whether nothing has to be asked, or the answer was yes."""
    return not needs_consent(fact) or is_granted(fact)


def level_allowed(fact: Fact) -> str:
    """Return the level that a fact may have in its status: without its subject's yes, others read nothing of it.

    After a no it is for its subject alone, whatever it waits for.
    """
    if fact.level == Level.PEER or not needs_consent(fact):
        return fact.level
    said = _said_of(fact)
    refused = bool(said & REFUSED) or Status(fact.status) in _READ_BY_OTHERS
    return Level.PEER if refused and ConsentStatus.GRANTED not in said else fact.level


def _said_of(fact: Fact) -> set[str]:
    """Return where the consents of the fact's subject stand that are about this fact in its scope."""
    origins = Relation.objects.filter(
        account_id=fact.account_id, source_id=fact.id, kind=RelationKind.PROMOTED_FROM
    ).values_list("target_id", flat=True)
    about = Consent.objects.filter(
        account_id=fact.account_id,
        fact_id__in=[fact.id, *origins],
        subject_id=fact.subject_id,
        target_id=fact.scope_id,
    )
    return set(about.values_list("status", flat=True))


def ask(fact: Fact, *, target_id: uuid.UUID, actor: Actor, group: uuid.UUID | None = None) -> Consent:
    """Return the consent of the fact's subject to its being seen in a scope, asking for it if nobody has yet.

    In an account that consents for everybody (``consent_mode = auto``) an open question is answered at once, by a row
    that says so. What the subject has answered stays. The caller holds the subject's lock in the fact's scope.
    """
    consent, asked = Consent.objects.get_or_create(
        account_id=fact.account_id,
        fact=fact,
        subject_id=fact.subject_id,
        target_id=target_id,
        defaults={"id": new_id(), "requested_by": actor.as_json()},
    )
    group = group or new_id()
    if asked:
        record(consent, action="consent.asked", actor=actor, group=group)
    mode = Account.objects.values_list("consent_mode", flat=True).get(pk=fact.account_id)
    if consent.status == ConsentStatus.PENDING and mode == ConsentMode.AUTO:
        answer(
            consent, ConsentStatus.GRANTED, channel=ConsentChannel.AUTO, verified=False, actor=system("consent_mode")
        )
        record(consent, action="consent.granted", actor=system("consent_mode"), group=group)
    elif asked:
        consent_asking.queue(consent)
    return consent


def answer(consent: Consent, status: str, *, channel: str, verified: bool, actor: Actor) -> None:
    """Write an answer into the row that was asked. The caller has locked it and records it."""
    consent.status, consent.channel, consent.verified = status, channel, verified
    consent.decided_by, consent.decided_at = actor.as_json(), now()
    consent.save(update_fields=["status", "channel", "verified", "decided_by", "decided_at"])


def record(consent: Consent, *, action: str, actor: Actor, group: uuid.UUID) -> None:
    """Write what happened to a consent into the audit chain."""
    audit.record(
        consent.account_id,
        action=action,
        object_type="consent",
        object_id=consent.id,
        actor=actor,
        group=group,
        metadata={
            "fact": str(consent.fact_id),
            "target": str(consent.target_id),
            "status": consent.status,
            "channel": consent.channel,
            "verified": consent.verified,
        },
    )


def lock_places(fact: Fact, target_id: uuid.UUID) -> None:
    """Lock the fact's subject where the fact is and where it is to be seen, in the order that everybody keeps."""
    for scope_id in sorted({fact.scope_id, target_id}):
        lock_subject(scope_id, fact.subject_id)
