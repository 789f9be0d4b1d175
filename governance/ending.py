"""Saying that a fact is over: it was true and is no more, or another one has taken its place."""

from __future__ import annotations

import uuid
from datetime import datetime

from facts import lifecycle
from facts.clock import now
from facts.errors import DomainError, NotFound, Refused
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import Fact, Relation
from facts.tenancy import account_transaction
from facts.vocabulary import RelationKind, Status
from governance.access import Delegation, Principal, is_read_by_curators, may_act, require_authority


def end(principal: Principal, fact_id: uuid.UUID, *, at: datetime | None = None, reason: str = "") -> Fact:
    """End a fact at a moment that has come; raises as :func:`supersede`, and ``DomainError`` (``invalid_interval``)."""
    with account_transaction(principal.account_id):
        fact = _decided_about(principal, fact_id)
        ends = at or max(now(), fact.valid_from or now())
        if at is not None and at > now():
            raise DomainError("A fact is ended at a moment that has come.", code="invalid_interval", field="at")
        return _over(principal, fact, to=Status.EXPIRED, ends=ends, action="fact.ended", reason=reason)


def supersede(principal: Principal, fact_id: uuid.UUID, *, by: uuid.UUID | None = None, reason: str = "") -> Fact:
    """Take a fact out of what is current; ``by`` names the one that took its place, about the same subject.

    For people who are curators of its scope, and keys to which one of them delegated ``observe``. Raises ``Refused``
    (``human_required``), ``NotFound`` (``fact_not_found``) for what the caller does not decide about as for what does
    not exist, and ``DomainError`` (``illegal_status_transition``).
    """
    with account_transaction(principal.account_id):
        fact = _decided_about(principal, fact_id)
        newer = _decided_about(principal, by) if by is not None else None
        if newer is not None and (newer.pk == fact.pk or newer.subject_id != fact.subject_id):
            raise DomainError("Another fact about the same subject takes its place.", field="supersededBy")
        ended = _over(
            principal,
            fact,
            to=Status.SUPERSEDED,
            ends=max(now(), fact.valid_from or now()),
            action="fact.superseded",
            reason=reason,
        )
        if newer is not None:
            Relation.objects.get_or_create(
                account_id=fact.account_id,
                source=newer,
                target=fact,
                kind=RelationKind.SUPERSEDES,
                defaults={"id": new_id()},
            )
        return ended


def human_required() -> Refused:
    """Return the refusal of a key that stands for no person in this."""
    return Refused("A person has to decide this.", code="human_required")


def _over(principal: Principal, fact: Fact, *, to: str, ends: datetime, action: str, reason: str) -> Fact:
    actor = require_authority(principal, Delegation.OBSERVE, path=fact.scope.path)
    earlier = fact.valid_to is not None and fact.valid_to < ends
    lifecycle.transition(
        fact.pk,
        account_id=fact.account_id,
        to=to,
        actor=actor,
        action=action,
        reason=reason,
        changes={} if earlier else {"valid_to": ends},
    )
    return Fact.objects.select_related("scope", "subject").get(account_id=fact.account_id, pk=fact.pk)


def _decided_about(principal: Principal, fact_id: uuid.UUID) -> Fact:
    """Return a fact about which the caller decides, its subject locked."""
    if not principal.is_person and Delegation.OBSERVE not in principal.delegated:
        raise human_required()
    found = Fact.objects.filter(account_id=principal.account_id, pk=fact_id).select_related("scope", "subject").first()
    if found is None or not (
        may_act(principal, Delegation.OBSERVE, path=found.scope.path) and is_read_by_curators(found)
    ):
        raise NotFound("There is no such fact.", code="fact_not_found", field="fact_id")
    lock_subject(found.scope_id, found.subject_id)
    found.refresh_from_db()
    return found
