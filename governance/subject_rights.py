"""What a signed-in person may do about what is held of them: contest, withdraw, black out, erase.

Each of these is theirs alone: no key does it, whatever was delegated to it, and nobody does it for somebody else. What
is not about the caller is not there. Each takes the fact from every reader, card and cache in the transaction that
records it.
"""

from __future__ import annotations

import uuid

from facts import lifecycle, suppressions
from facts.erasure import ErasureMode
from facts.errors import Conflicting, DomainError
from facts.locks import lock_subject
from facts.models import Fact, Subject
from facts.models.conflicts import SuppressionCause
from facts.status_graph import FINAL
from facts.tenancy import account_transaction
from facts.vocabulary import Status
from governance import erasing, feedback, subject_data
from governance.access import Principal
from governance.erasing import Preview
from governance.models import Feedback, ForgetReceipt, Rating
from governance.reviewing.reviews import withdraw_for
from governance.sharing.consents import require_person

#: Longest reason in characters.
REASON_LENGTH = 2000

#: Statuses in which a fact says something of the person, now or of the past, that nobody is deciding about already.
CONTESTABLE = frozenset(
    {Status.ACTIVE, Status.PROVISIONAL, Status.NEEDS_REVALIDATION, Status.HELD, Status.SUPERSEDED, Status.EXPIRED}
)


def contest(principal: Principal, fact_id: uuid.UUID, *, reason: str) -> Fact:
    """Say that a fact about oneself is wrong, and why: nobody is served it until a curator has decided.

    Saying it again of a contested fact adds the new reason and changes nothing else. Raises ``Refused``
    (``human_required``), ``NotFound`` (``fact_not_found``), ``DomainError`` (``reason_missing``) and ``Conflicting``
    (``not_contestable``).
    """
    require_person(principal)
    if not reason.strip():
        raise DomainError("Say what is wrong with it.", code="reason_missing", field="reason")
    with account_transaction(principal.account_id):
        fact = _locked(principal, fact_id)
        if fact.status not in CONTESTABLE | {Status.DISPUTED}:
            raise Conflicting("It is gone, or somebody is deciding about it already.", code="not_contestable")
        if fact.status != Status.DISPUTED:
            fact = feedback.dispute(fact, actor=principal.actor, why="contested_by_subject")
        Feedback.objects.create(
            account_id=principal.account_id,
            fact=fact,
            rating=Rating.INCORRECT,
            comment=reason.strip()[:REASON_LENGTH],
            actor=principal.actor.as_json(),
        )
        return fact


def withdraw(principal: Principal, fact_id: uuid.UUID, *, reason: str = "") -> Fact:
    """Take a fact about oneself back, without saying whether it is true: no reader is told it again, also as history.

    It does not come back by itself; said anew, it is learned anew. Raises as :func:`redact`.
    """
    return _take_away(principal, fact_id, to=Status.RETRACTED, action="subject.withdrew", reason=reason)


def redact(principal: Principal, fact_id: uuid.UUID, *, reason: str = "") -> Fact:
    """Black a fact about oneself out for good: shown to nobody, with the passages it rests on, and never learned again.

    Twice is as good as once. Raises ``Refused`` (``human_required``), ``NotFound`` (``fact_not_found``) and
    ``Conflicting`` (``gone_already``).
    """
    return _take_away(principal, fact_id, to=Status.REDACTED, action="subject.redacted", reason=reason)


def preview_erasure(principal: Principal, *, mode: ErasureMode) -> Preview:
    """Return what :func:`erase` would do now. Raises ``Refused`` (``human_required``)."""
    require_person(principal)
    return erasing.preview(principal, subject_id=principal.subject_id, mode=mode)


def erase(principal: Principal, *, mode: ErasureMode, confirm: str) -> ForgetReceipt:
    """Erase everything held about oneself for good, once ``confirm`` is the key of one's own subject.

    Raises ``DomainError`` (``confirmation_mismatch``) and as :func:`governance.erasing.erase`.
    """
    require_person(principal)
    if confirm.strip() != key_of(principal):
        raise DomainError("Type what is asked for to confirm.", code="confirmation_mismatch", field="confirm")
    return erasing.erase(principal, subject_id=principal.subject_id, mode=mode)


def key_of(principal: Principal) -> str:
    """Return what a person types to confirm an erasure: the key of their subject, without blanks around it."""
    with account_transaction(principal.account_id):
        return Subject.objects.get(account_id=principal.account_id, pk=principal.subject_id).key.strip()


def _take_away(principal: Principal, fact_id: uuid.UUID, *, to: Status, action: str, reason: str) -> Fact:
    require_person(principal)
    with account_transaction(principal.account_id):
        fact = _locked(principal, fact_id)
        if fact.status == to:
            return fact
        if fact.status in FINAL:
            raise Conflicting("It is gone already.", code="gone_already", field="fact_id")
        fact = lifecycle.transition(
            fact.id, account_id=fact.account_id, to=to, actor=principal.actor, action=action, reason=reason.strip()
        )
        if to == Status.REDACTED:
            suppressions.suppress(fact, cause=SuppressionCause.FORGOTTEN, actor=principal.actor, evidence_until=None)
        withdraw_for([fact.id], account_id=fact.account_id, actor=principal.actor)
        return fact


def _locked(principal: Principal, fact_id: uuid.UUID) -> Fact:
    """Return the person's own fact as it stands under its subject's lock."""
    fact = subject_data.get_fact(principal, fact_id)
    lock_subject(fact.scope_id, fact.subject_id)
    return subject_data.get_fact(principal, fact_id)
