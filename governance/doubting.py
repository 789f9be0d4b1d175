"""Doubting a fact: a curator has it looked at again, and until then nobody is served it."""

from __future__ import annotations

import uuid

from facts.errors import Conflicting, DomainError, NotFound
from facts.locks import lock_subject
from facts.models import Fact
from facts.tenancy import account_transaction
from facts.vocabulary import Status
from governance import feedback
from governance.access import Principal, has_role, is_read_by_curators
from governance.models import Feedback, Rating, Role

#: Longest reason in characters.
REASON_LENGTH = 2000
#: What says something to readers now, or of the past, that nobody is deciding about already.
DOUBTABLE = frozenset({Status.ACTIVE, Status.NEEDS_REVALIDATION, Status.SUPERSEDED, Status.EXPIRED})


def doubt(principal: Principal, fact_id: uuid.UUID, *, reason: str) -> Fact:
    """Send a fact to review as doubtful, by a person who is a curator of its scope; the review decides.

    Raises ``NotFound`` (``fact_not_found``) for what the caller does not decide about as for what does not exist,
    ``DomainError`` (``reason_missing``) and ``Conflicting`` (``not_contestable``).
    """
    if not reason.strip():
        raise DomainError("Say what is wrong with it.", code="reason_missing", field="reason")
    with account_transaction(principal.account_id):
        fact = Fact.objects.filter(account_id=principal.account_id, pk=fact_id).select_related("scope").first()
        if fact is None or not (has_role(principal, fact.scope.path, Role.CURATOR) and is_read_by_curators(fact)):
            raise NotFound("There is no such fact.", code="fact_not_found", field="fact_id")
        lock_subject(fact.scope_id, fact.subject_id)
        fact.refresh_from_db()
        if fact.status not in DOUBTABLE:
            raise Conflicting("It is gone, or somebody is deciding about it already.", code="not_contestable")
        fact = feedback.dispute(fact, actor=principal.actor, why="doubted_by_curator")
        Feedback.objects.create(
            account_id=principal.account_id,
            fact=fact,
            rating=Rating.INCORRECT,
            comment=reason.strip()[:REASON_LENGTH],
            actor=principal.actor.as_json(),
        )
        return fact
