"""Promotions as they are looked up and closed, and the copies that approved ones have placed."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from facts import audit, lifecycle
from facts.actors import Actor
from facts.clock import now
from facts.ids import new_id
from facts.models import Fact
from facts.status_graph import FINAL, may_follow
from facts.vocabulary import RelationKind, Status
from governance.models import Promotion, PromotionStatus, Review, ReviewKind, ReviewStatus

#: What the origin became for which its copies are untrue, or were forgotten with it.
_GONE = FINAL | {Status.DISABLED, Status.REJECTED}
#: What the origin became for which its copies were true until then.
_ENDED = frozenset({Status.SUPERSEDED, Status.EXPIRED})


def copies_of(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID]) -> list[Fact]:
    """Return the facts that promotions made of these, whatever became of them, in the order of their ids."""
    return list(
        Fact.objects.filter(
            account_id=account_id,
            relations_out__kind=RelationKind.PROMOTED_FROM,
            relations_out__target_id__in=list(fact_ids),
        ).order_by("id")
    )


def is_copy(fact: Fact) -> bool:
    """Tell whether a promotion placed the fact."""
    return fact.relations_out.filter(account_id=fact.account_id, kind=RelationKind.PROMOTED_FROM).exists()


def retract(copies: Iterable[Fact], *, actor: Actor, action: str, reason: str, group: uuid.UUID) -> None:
    """Withdraw copies from every reader at once, also from history; says nothing of their truth."""
    withdrawn = []
    for copy in copies:
        if copy.status not in FINAL:
            lifecycle.transition(
                copy.id,
                account_id=copy.account_id,
                to=Status.RETRACTED,
                actor=actor,
                action=action,
                reason=reason,
                group=group,
            )
            withdrawn.append(copy.id)
    approved = Promotion.objects.filter(copy_id__in=withdrawn, status=PromotionStatus.APPROVED)
    for promotion in approved.select_for_update():
        promotion.status = PromotionStatus.WITHDRAWN
        promotion.save(update_fields=["status"])
        record(promotion, action="promotion.withdrawn", actor=actor, group=group)


def follow_origin(fact: Fact, before: str, actor: Actor, group: uuid.UUID) -> None:
    """Let copies go the way of the fact that they were made of, and close what was asked about it.

    What is forgotten, withdrawn or never was true is gone at the target, too; what has ended has ended there; what is
    disputed is served nowhere until that is decided.
    """
    status = Status(fact.status)
    if status == before:
        return
    if Status.DISPUTED in {status, before} and status in {Status.DISPUTED, Status.ACTIVE}:
        _follow_dispute(fact, to=status, actor=actor, group=group)
        return
    if status not in _GONE | _ENDED:
        return
    close_open([fact.id], account_id=fact.account_id, status=PromotionStatus.CANCELLED, actor=actor, group=group)
    copies = copies_of(fact.account_id, [fact.id])
    if status in _GONE:
        retract(copies, actor=actor, action="promotion.pulled_back", reason=f"origin_{status}", group=group)
        return
    for copy in copies:
        if may_follow(copy.status, Status.EXPIRED):
            ends = fact.valid_to is not None and (copy.valid_from is None or copy.valid_from <= fact.valid_to)
            lifecycle.transition(
                copy.id,
                account_id=copy.account_id,
                to=Status.EXPIRED,
                actor=actor,
                action="promotion.ended",
                reason=f"origin_{status}",
                changes={"valid_to": fact.valid_to} if ends else {},
                group=group,
            )
        elif copy.status == Status.CANDIDATE:
            retract([copy], actor=actor, action="promotion.pulled_back", reason=f"origin_{status}", group=group)


def _follow_dispute(fact: Fact, *, to: str, actor: Actor, group: uuid.UUID) -> None:
    """Dispute the current copies of a disputed fact, or bring them back with it where nobody disputes them apart."""
    wanted = (Status.DISPUTED,) if to == Status.ACTIVE else (Status.ACTIVE, Status.NEEDS_REVALIDATION)
    for copy in copies_of(fact.account_id, [fact.id]):
        contested = Review.objects.filter(
            account_id=copy.account_id, fact=copy, kind=ReviewKind.CONTEST, status=ReviewStatus.PENDING
        )
        if copy.status not in wanted or (to == Status.ACTIVE and contested.exists()):
            continue
        how = {"account_id": copy.account_id, "actor": actor, "reason": f"origin_{to}", "group": group}
        try:
            lifecycle.transition(copy.id, to=to, action="promotion.followed", **how)
        except lifecycle.IdentityTaken:
            retract([copy], actor=actor, action="promotion.pulled_back", reason="identity_taken", group=group)


def close_open(
    fact_ids: Iterable[uuid.UUID],
    *,
    account_id: uuid.UUID,
    status: str,
    actor: Actor,
    group: uuid.UUID,
    target_id: uuid.UUID | None = None,
) -> None:
    """Close the requests about these facts on which nobody has decided yet (``target_id``: to that scope only)."""
    waiting = Promotion.objects.filter(
        account_id=account_id, fact_id__in=list(fact_ids), status=PromotionStatus.REQUESTED
    )
    if target_id is not None:
        waiting = waiting.filter(target_id=target_id)
    for promotion in waiting.select_for_update():
        close(promotion, status, review_status=ReviewStatus.WITHDRAWN, actor=actor, group=group)


def lapse(review: Review, *, actor: Actor) -> Promotion:
    """Reject a request that nobody decided about in time. The caller has locked the review."""
    promotion = Promotion.objects.select_for_update().get(account_id=review.account_id, review=review)
    if promotion.status == PromotionStatus.REQUESTED:
        close(
            promotion,
            PromotionStatus.REJECTED,
            review_status=ReviewStatus.REJECTED,
            actor=actor,
            group=new_id(),
            rationale="aged_out",
        )
    return promotion


def close(
    promotion: Promotion,
    status: str,
    *,
    review_status: str,
    actor: Actor,
    group: uuid.UUID,
    rationale: str = "",
    copy: Fact | None = None,
) -> Promotion:
    """Write what became of a request and of its review, and the audit entry. The caller has locked the request."""
    promotion.status, promotion.closed_at, promotion.copy = status, now(), copy
    promotion.save(update_fields=["status", "closed_at", "copy"])
    review = promotion.review
    review.status, review.decided_by, review.decided_at = review_status, actor.as_json(), promotion.closed_at
    review.rationale = rationale
    review.save(update_fields=["status", "decided_by", "decided_at", "rationale"])
    record(promotion, action=f"promotion.{status}", actor=actor, group=group)
    return promotion


def record(promotion: Promotion, *, action: str, actor: Actor, group: uuid.UUID) -> None:
    """Write what happened to a request into the audit chain."""
    audit.record(
        promotion.account_id,
        action=action,
        object_type="promotion",
        object_id=promotion.id,
        actor=actor,
        group=group,
        metadata={
            "fact": str(promotion.fact_id),
            "target": str(promotion.target_id),
            "copy": str(promotion.copy_id or ""),
            "status": promotion.status,
        },
    )
