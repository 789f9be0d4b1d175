"""What a subject says about sharing: yes over a verified channel only, no over any, at once.

A yes lets what waited for it go on. A no pulls back whatever is seen beyond the subject because of it: copies leave
every reader, also of history; the fact itself becomes one for its subject alone.
"""

from __future__ import annotations

import uuid

from facts import lifecycle
from facts.actors import Actor
from facts.errors import NotFound, Refused
from facts.ids import new_id
from facts.models import Fact
from facts.status_graph import FINAL
from facts.tenancy import account_transaction
from facts.vocabulary import Level
from governance import placement
from governance.access import Principal
from governance.models import Consent, ConsentChannel, ConsentStatus, PromotionStatus
from governance.sharing import consent_records, promotion_records


def grant(principal: Principal, consent_id: uuid.UUID) -> Consent:
    """Agree, as the signed-in subject; what waited only for this is placed. Saying it twice changes nothing.

    Raises ``Refused`` (``human_required``) and ``NotFound`` (``consent_not_found``: there is none, or it is for
    somebody else to give; administrators consent for nobody).
    """
    with account_transaction(principal.account_id):
        consent = locked_consent(_own(principal, consent_id))
        return say_yes(consent, channel=ConsentChannel.SESSION, actor=principal.actor)


def refuse(principal: Principal, consent_id: uuid.UUID) -> Consent:
    """Say no, before or after having agreed, as the signed-in subject; it counts at once. Raises as :func:`grant`."""
    with account_transaction(principal.account_id):
        consent = locked_consent(_own(principal, consent_id))
        return say_no(consent, channel=ConsentChannel.SESSION, verified=True, actor=principal.actor)


def require_person(principal: Principal) -> None:
    """Raise ``Refused`` (``human_required``) for a key, whatever was delegated to it: this never is."""
    if not principal.is_person:
        raise Refused("Only a signed-in person may do this.", code="human_required")


def locked_consent(consent: Consent) -> Consent:
    """Lock the places that an answer touches, then the row, and return it as it is then."""
    consent_records.lock_places(consent.fact, consent.target_id)
    return (
        Consent.objects.select_for_update(of=("self",))
        .select_related("fact__subject", "fact__scope", "target", "subject")
        .get(account_id=consent.account_id, pk=consent.pk)
    )


def say_yes(consent: Consent, *, channel: str, actor: Actor) -> Consent:
    """Write a yes that came over a channel on which the subject is known, and place what waited for it.

    The caller has locked the consent.
    """
    if consent.status == ConsentStatus.GRANTED and consent.verified:
        return consent
    consent_records.answer(consent, ConsentStatus.GRANTED, channel=channel, verified=True, actor=actor)
    consent_records.record(consent, action="consent.granted", actor=actor, group=new_id())
    if consent.fact.scope_id == consent.target_id:
        placement.accept_if_settled(consent.fact, actor=actor, reason="consented")
    return consent


def say_no(consent: Consent, *, channel: str, verified: bool, actor: Actor) -> Consent:
    """Write a no, over whatever channel it came, and pull back what was seen because of a yes.

    The caller has locked the consent.
    """
    if consent.status in consent_records.REFUSED:
        return consent
    withdrawn = consent.status == ConsentStatus.GRANTED
    status = ConsentStatus.WITHDRAWN if withdrawn else ConsentStatus.DENIED
    group = new_id()
    consent_records.answer(consent, status, channel=channel, verified=verified, actor=actor)
    consent_records.record(consent, action=f"consent.{status}", actor=actor, group=group)
    fact = consent.fact
    promotion_records.close_open(
        [fact.id],
        account_id=fact.account_id,
        target_id=consent.target_id,
        status=PromotionStatus.REFUSED,
        actor=actor,
        group=group,
    )
    _pull_back_copies(consent, actor=actor, group=group)
    _narrow(fact, target_id=consent.target_id, actor=actor, group=group)
    return consent


def _own(principal: Principal, consent_id: uuid.UUID) -> Consent:
    require_person(principal)
    consent = (
        Consent.objects.filter(account_id=principal.account_id, pk=consent_id, subject_id=principal.subject_id)
        .select_related("fact")
        .first()
    )
    if consent is None:
        raise NotFound("There is no such consent.", code="consent_not_found")
    return consent


def _pull_back_copies(consent: Consent, *, actor: Actor, group: uuid.UUID) -> None:
    copies = promotion_records.copies_of(consent.account_id, [consent.fact_id])
    there = [copy for copy in copies if copy.scope_id == consent.target_id]
    promotion_records.retract(
        there, actor=actor, action="promotion.pulled_back", reason="consent_withdrawn", group=group
    )


def _narrow(fact: Fact, *, target_id: uuid.UUID, actor: Actor, group: uuid.UUID) -> None:
    """Make a fact that is seen by others where it was captured one for its subject alone."""
    fact.refresh_from_db()
    if fact.scope_id != target_id or fact.level == Level.PEER or fact.status in FINAL:
        return
    lifecycle.amend(
        fact.id,
        account_id=fact.account_id,
        actor=actor,
        action="consent.narrowed",
        changes={"level": Level.PEER},
        reason="consent_withdrawn",
        group=group,
    )
