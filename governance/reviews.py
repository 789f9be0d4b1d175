"""Deciding what waits for a person: approve or reject a fact that the gates left open, or that a reader contests."""

from __future__ import annotations

import uuid

from facts import lifecycle, suppressions
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, NotFound, Refused
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import Fact, FactRevision
from facts.models.conflicts import SuppressionCause
from facts.returning import bring_back
from facts.tenancy import account_transaction
from facts.vocabulary import Status
from governance.access import Delegation, Principal, require_authority
from governance.gates import GateOutcome
from governance.models import ApiKey, Gate, Review, ReviewKind, ReviewStatus
from governance.placement import place_waiting, record_gates
from governance.provenance import put_in_by

#: What repetition changes about a waiting fact: it is still what was reviewed.
_CHANGED_BY_REPETITION = frozenset({"corroboration", "last_reinforced_at"})


def approve(principal: Principal, review_id: uuid.UUID, *, rationale: str = "") -> Review:
    """Say yes: a waiting fact passes both gates by this person, is planned again and placed; a contested one returns.

    Raises ``NotFound`` (``review_not_found``), ``Conflicting`` (``review_decided``, ``stale_version``) and ``Refused``
    (``human_required``, ``forbidden_scope``, ``own_request``).
    """
    with account_transaction(principal.account_id):
        review, fact, actor = _open(principal, review_id)
        if review.kind == ReviewKind.CONTEST:
            _refuse_contest(review, fact, actor=actor, rationale=rationale)
        else:
            outcomes = dict.fromkeys(Gate.values, (GateOutcome.PASS, ("approved",)))
            record_gates(fact, outcomes=outcomes, cell={"review": str(review.id)}, actor=actor)
            place_waiting(fact, actor=actor, action="review.approved", reason=rationale)
        return _close(review, ReviewStatus.APPROVED, actor=actor, rationale=rationale)


def reject(principal: Principal, review_id: uuid.UUID, *, rationale: str = "") -> Review:
    """Say no: the fact was never true, and what was said up to now does not bring it back.

    Raises as :func:`approve`.
    """
    with account_transaction(principal.account_id):
        review, fact, actor = _open(principal, review_id)
        if review.kind != ReviewKind.CONTEST:
            outcomes = {Gate.A: (GateOutcome.REJECT, ("rejected",)), Gate.B: (GateOutcome.WAIT, ("rejected",))}
            record_gates(fact, outcomes=outcomes, cell={"review": str(review.id)}, actor=actor)
        fact = lifecycle.transition(
            fact.id,
            account_id=fact.account_id,
            to=Status.REJECTED,
            actor=actor,
            action="review.rejected",
            reason=rationale,
        )
        suppressions.suppress(fact, cause=SuppressionCause.REJECTED, actor=actor, evidence_until=now())
        closed = _close(review, ReviewStatus.REJECTED, actor=actor, rationale=rationale)
        withdraw_for([fact.id], account_id=fact.account_id, actor=actor)
        return closed


def _refuse_contest(review: Review, fact: Fact, *, actor: Actor, rationale: str) -> None:
    """Give a contested fact back the status and interval that it had before."""
    before = FactRevision.objects.filter(account_id=fact.account_id, fact=fact, version__lt=review.fact_version)
    bring_back(
        fact,
        to_version=before.order_by("-version").values_list("version", flat=True)[0],
        actor=actor,
        action="contest.refused",
        reason=rationale,
        group=new_id(),
    )


def withdraw_for(fact_ids: list[uuid.UUID], *, account_id: uuid.UUID, actor: Actor) -> int:
    """Close the pending reviews of facts that are gone, so that nobody is asked about them; returns how many."""
    return Review.objects.filter(account_id=account_id, fact_id__in=fact_ids, status=ReviewStatus.PENDING).update(
        status=ReviewStatus.WITHDRAWN, decided_by=actor.as_json(), decided_at=now()
    )


def resume_for(fact: Fact) -> None:
    """Ask again about a fact that has come back to wait for a person, where its review was withdrawn meanwhile."""
    kind = {
        Status.PROVISIONAL: ReviewKind.NEW_FACT,
        Status.HELD: ReviewKind.NEW_FACT,
        Status.DISPUTED: ReviewKind.CONTEST,
    }.get(Status(fact.status))
    last = Review.objects.filter(account_id=fact.account_id, fact=fact, kind=kind).order_by("-id").first()
    if last is not None and last.status == ReviewStatus.WITHDRAWN:
        last.status, last.decided_by, last.decided_at = ReviewStatus.PENDING, None, None
        last.save(update_fields=["status", "decided_by", "decided_at"])


def _open(principal: Principal, review_id: uuid.UUID) -> tuple[Review, Fact, Actor]:
    """Lock the fact's subject and the review, and check that it still is what was asked about."""
    asked = Review.objects.filter(account_id=principal.account_id, pk=review_id, fact__isnull=False)
    review = asked.first()
    if review is None:
        raise NotFound("There is no such review.", code="review_not_found")
    fact = Fact.objects.select_related("scope", "subject", "account").get(
        account_id=principal.account_id, pk=review.fact_id
    )
    actor = require_authority(principal, Delegation.RESOLVE, path=fact.scope.path)
    if _asked_by(review, actor) or put_in_by(principal.account_id, [fact.id], actor):
        raise Refused("Nobody decides about what they put in themselves.", code="own_request")
    lock_subject(fact.scope_id, fact.subject_id)
    review = asked.select_for_update().get()
    if review.status != ReviewStatus.PENDING:
        raise Conflicting(f"The review is {review.status} already.", code="review_decided")
    fact.refresh_from_db()
    if not _is_what_was_reviewed(fact, review):
        raise Conflicting("What you reviewed has changed.", code="stale_version", field="version")
    return review, fact, actor


def _asked_by(review: Review, actor: Actor) -> bool:
    """Tell whether this person asked for the review, by themselves or through a key that they made."""
    asked = review.requested_by
    if asked.get("membership_id") == str(actor.membership_id):
        return True
    keys = ApiKey.objects.filter(account_id=review.account_id, maker_id=actor.membership_id)
    return "key_id" in asked and keys.filter(pk=asked["key_id"]).exists()


def _is_what_was_reviewed(fact: Fact, review: Review) -> bool:
    reviewed = FactRevision.objects.get(account_id=fact.account_id, fact=fact, version=review.fact_version)
    names = ("status", *(set(lifecycle.MUTABLE) - _CHANGED_BY_REPETITION))
    return all(getattr(fact, name) == getattr(reviewed, name) for name in names)


def _close(review: Review, status: str, *, actor: Actor, rationale: str) -> Review:
    review.status = status
    review.decided_by = actor.as_json()
    review.decided_at = now()
    review.rationale = rationale
    review.save(update_fields=["status", "decided_by", "decided_at", "rationale"])
    return review
