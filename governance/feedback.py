"""What readers say about what they were served. "Incorrect" disputes a fact; it never decides anything."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db.models import Q

from facts import lifecycle
from facts.actors import Actor
from facts.audience import Reader, visible_to
from facts.clock import now
from facts.errors import DomainError, NotFound
from facts.locks import lock_subject
from facts.models import Fact
from facts.vocabulary import Status
from governance.models import Feedback, Rating, Review, ReviewKind, ReviewStatus

#: A contest is due a day after it was raised.
CONTEST_DUE = timedelta(days=1)

#: Statuses in which a fact is served to those the audience rule allows, or was until lately; its subject sees more.
_RATEABLE = frozenset({Status.ACTIVE, Status.NEEDS_REVALIDATION, Status.DISPUTED, Status.SUPERSEDED, Status.EXPIRED})


def rate(
    *,
    account_id: uuid.UUID,
    reader: Reader,
    actor: Actor,
    rating: str,
    fact_id: uuid.UUID | None = None,
    trace_id: uuid.UUID | None = None,
    comment: str = "",
) -> Feedback:
    """Record a rating of a fact the reader may see, or of a trace; the caller has checked the trace.

    ``incorrect`` on a fact that is served disputes it (nobody is served it) and asks curators; runs in the caller's
    account transaction. Raises ``DomainError`` (``invalid_payload``) and ``NotFound`` (``fact_not_found``).
    """
    if (fact_id is None) == (trace_id is None):
        raise DomainError("Rate one fact or one trace.", field="fact_id")
    if rating not in Rating.values:
        raise DomainError("There is no such rating.", field="rating")
    fact = None if fact_id is None else _rated(account_id, fact_id, reader)
    feedback = Feedback.objects.create(
        account_id=account_id,
        fact=fact,
        trace_id=trace_id,
        rating=rating,
        comment=comment[:2000],
        actor=actor.as_json(),
    )
    if fact is not None and rating == Rating.INCORRECT and fact.status in {Status.ACTIVE, Status.PROVISIONAL}:
        dispute(fact, actor=actor, why="rated_incorrect")
    return feedback


def _rated(account_id: uuid.UUID, fact_id: uuid.UUID, reader: Reader) -> Fact:
    """Return the fact as it stands under its subject's lock, if it is one that this reader can have been served."""
    to_itself = Q(status__in=[Status.PROVISIONAL, Status.REJECTED], subject_id=reader.subject_id)
    served = Q(status__in=_RATEABLE) | to_itself
    rateable = Fact.objects.filter(visible_to(reader), served, account_id=account_id, pk=fact_id)
    fact = rateable.first()
    if fact is not None:
        lock_subject(fact.scope_id, fact.subject_id)
        fact = rateable.first()
    if fact is None:
        raise NotFound("There is no such fact.", code="fact_not_found", field="fact_id")
    return fact


def dispute(fact: Fact, *, actor: Actor, why: str) -> Fact:
    """Take a fact from every reader until a curator has decided, and ask for that; ``why`` is the reason's code.

    The caller has locked the fact's subject. Returns the fact as it is then.
    """
    fact = lifecycle.transition(
        fact.id,
        account_id=fact.account_id,
        to=Status.DISPUTED,
        actor=actor,
        action="fact.contested",
        reason=why,
    )
    Review.objects.get_or_create(
        account_id=fact.account_id,
        fact=fact,
        kind=ReviewKind.CONTEST,
        status=ReviewStatus.PENDING,
        defaults={
            "fact_version": fact.version,
            "reasons": [why],
            "requested_by": actor.as_json(),
            "due_at": now() + CONTEST_DUE,
        },
    )
    return fact
