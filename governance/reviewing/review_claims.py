"""Who has taken a review in hand: said to everybody who decides there, and a lock for nobody."""

from __future__ import annotations

import uuid

from facts import audit
from facts.actors import Actor
from facts.errors import Conflicting
from facts.ids import new_id
from facts.models import Membership
from facts.tenancy import account_transaction
from governance.access import Principal
from governance.models import Review
from governance.reviewing import review_opening
from governance.reviewing.deciders import deciders_at, require_decider
from governance.reviewing.review_authority import deciding_actor, place_of


def claim(principal: Principal, review_id: uuid.UUID) -> Review:
    """Take a review in hand. Raises ``Conflicting`` (``review_claimed``) when somebody else has it, and what
    :func:`assign` raises."""
    with account_transaction(principal.account_id):
        review, actor = _locked(principal, review_id)
        if review.assignee_id not in {None, actor.membership_id}:
            raise Conflicting("Somebody else has taken this review.", code="review_claimed", field="assignee")
        return _write(review, actor.membership_id, actor=actor)


def assign(principal: Principal, review_id: uuid.UUID, *, to: uuid.UUID | None) -> Review:
    """Give a review to the person with this membership, also one that somebody has; ``None`` lets go of it.

    Raises ``NotFound`` (``review_not_found``, ``assignee_not_found`` for who may not decide it), ``Conflicting``
    (``review_decided``) and ``Refused`` (``human_required``, ``forbidden_scope``, ``own_request``).
    """
    with account_transaction(principal.account_id):
        review, actor = _locked(principal, review_id)
        if to is not None:
            require_decider(review.account_id, place_of(review), to)
        return _write(review, to, actor=actor)


def deciders(review: Review) -> list[Membership]:
    """Return the people who could decide a review, by name: those to whom it can be given."""
    return deciders_at(review.account_id, place_of(review))


def _locked(principal: Principal, review_id: uuid.UUID) -> tuple[Review, Actor]:
    asked = review_opening.get(principal, review_id)
    actor = deciding_actor(principal, asked)
    return review_opening.lock_pending(asked), actor


def _write(review: Review, assignee_id: uuid.UUID | None, *, actor: Actor) -> Review:
    if review.assignee_id == assignee_id:
        return review
    before, review.assignee_id = review.assignee_id, assignee_id
    review.save(update_fields=["assignee"])
    audit.record(
        review.account_id,
        action="review.assigned" if assignee_id else "review.released",
        object_type="review",
        object_id=review.id,
        actor=actor,
        group=new_id(),
        metadata={"from": str(before) if before else None, "to": str(assignee_id) if assignee_id else None},
    )
    return review
