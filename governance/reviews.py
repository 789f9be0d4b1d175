"""Deciding what waits: approve or reject a fact that the gates left to a person."""

from __future__ import annotations

import uuid

from facts import lifecycle, suppressions
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, NotFound, Refused
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import Fact
from facts.models.conflicts import SuppressionCause
from facts.tenancy import account_transaction
from facts.vocabulary import Status
from governance.access import Delegation, Principal, require_authority
from governance.gates import GateOutcome
from governance.models import Gate, Review, ReviewStatus
from governance.placement import place_waiting, record_gates
from governance.provenance import put_in_by


def approve(principal: Principal, review_id: uuid.UUID, *, rationale: str = "") -> Review:
    """Accept a waiting fact: both gates pass by this person, and the fact is planned again and placed.

    Raises ``NotFound`` (``review_not_found``), ``Conflicting`` (``review_decided``, ``stale_version``) and ``Refused``
    (``human_required``, ``forbidden_scope``, ``own_request``).
    """
    with account_transaction(principal.account_id):
        review, fact, actor = _open(principal, review_id)
        outcomes = dict.fromkeys(Gate.values, (GateOutcome.PASS, ("approved",)))
        record_gates(fact, outcomes=outcomes, cell={"review": str(review.id)}, actor=actor)
        place_waiting(fact, actor=actor, action="review.approved", reason=rationale)
        return _close(review, ReviewStatus.APPROVED, actor=actor, rationale=rationale)


def reject(principal: Principal, review_id: uuid.UUID, *, rationale: str = "") -> Review:
    """Refuse a waiting fact: it never becomes current, and what was said up to now does not bring it back.

    Raises as :func:`approve`.
    """
    with account_transaction(principal.account_id):
        review, fact, actor = _open(principal, review_id)
        outcomes = {Gate.A: (GateOutcome.REJECT, ("rejected",)), Gate.B: (GateOutcome.WAIT, ("rejected",))}
        record_gates(fact, outcomes=outcomes, cell={"review": str(review.id)}, actor=actor)
        fact = lifecycle.transition(
            fact.id,
            account_id=fact.account_id,
            to=Status.REJECTED,
            actor=actor,
            action="review.rejected",
            reason=rationale,
            group=new_id(),
        )
        suppressions.suppress(fact, cause=SuppressionCause.REJECTED, actor=actor, evidence_until=now())
        return _close(review, ReviewStatus.REJECTED, actor=actor, rationale=rationale)


def withdraw_for(fact_ids: list[uuid.UUID], *, account_id: uuid.UUID, actor: Actor) -> int:
    """Close the pending reviews of facts that are gone, so that nobody is asked about them; returns how many."""
    return Review.objects.filter(account_id=account_id, fact_id__in=fact_ids, status=ReviewStatus.PENDING).update(
        status=ReviewStatus.WITHDRAWN, decided_by=actor.as_json(), decided_at=now()
    )


def _open(principal: Principal, review_id: uuid.UUID) -> tuple[Review, Fact, Actor]:
    """Lock the review and its fact's subject, and check that it still is what was asked about."""
    review = (
        Review.objects.select_for_update(of=("self",))
        .filter(account_id=principal.account_id, pk=review_id, fact__isnull=False)
        .first()
    )
    if review is None:
        raise NotFound("There is no such review.", code="review_not_found")
    fact = Fact.objects.select_related("scope", "subject", "account").get(
        account_id=principal.account_id, pk=review.fact_id
    )
    actor = require_authority(principal, Delegation.RESOLVE, path=fact.scope.path)
    own_request = review.requested_by.get("membership_id") == str(actor.membership_id)
    if own_request or put_in_by(principal.account_id, [fact.id], actor):
        raise Refused("Nobody decides about what they put in themselves.", code="own_request")
    if review.status != ReviewStatus.PENDING:
        raise Conflicting(f"The review is {review.status} already.", code="review_decided")
    lock_subject(fact.scope_id, fact.subject_id)
    fact.refresh_from_db()
    if fact.version != review.fact_version:
        raise Conflicting("What you reviewed has changed.", code="stale_version", field="version")
    return review, fact, actor


def _close(review: Review, status: str, *, actor: Actor, rationale: str) -> Review:
    review.status = status
    review.decided_by = actor.as_json()
    review.decided_at = now()
    review.rationale = rationale
    review.save(update_fields=["status", "decided_by", "decided_at", "rationale"])
    return review
