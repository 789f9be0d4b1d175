"""Taking back what was decided about a review, while nothing has built on it.

Facts are again what the revision before recorded, what was made is rejected, evidence that was brought elsewhere is
taken away there, and the question is open again. Promotions are pulled back by their own ways, not here.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from facts import audit, conflict_sets, lifecycle, withholding
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, NotFound
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import ConflictSet, Evidence, Fact, FactRevision, Relation, Suppression
from facts.models.conflicts import SuppressionCause
from facts.returning import bring_back
from facts.status_graph import FINAL, may_follow
from facts.tenancy import account_transaction
from facts.vocabulary import ConflictStatus, RelationKind, Status
from governance.access import Principal
from governance.models import Review, ReviewDecision, ReviewStatus, ReviewVerb
from governance.reviewing.review_authority import deciding_actor


def undo(principal: Principal, decision_id: uuid.UUID, *, rationale: str = "") -> ReviewDecision:
    """Take a decision back; everything is as it was before, and the review waits again.

    Raises ``NotFound`` (``decision_not_found``), ``Refused`` as the decision itself, and ``Conflicting``:
    ``decision_undone``, ``decision_built_upon``.
    """
    with account_transaction(principal.account_id):
        decision = _decisions(principal.account_id).filter(pk=decision_id).first()
        if decision is None:
            raise NotFound("There is no such decision.", code="decision_not_found")
        actor = deciding_actor(principal, decision.review)
        for place in _places(decision):
            lock_subject(*place)
        review = Review.objects.select_for_update().get(account_id=principal.account_id, pk=decision.review_id)
        decision.refresh_from_db(fields=["undone_at"])
        if decision.undone_at is not None:
            raise Conflicting("The decision was undone already.", code="decision_undone")
        if not may_undo(decision):
            raise Conflicting("Something has built on the decision since.", code="decision_built_upon")
        group = new_id()
        if decision.verb == ReviewVerb.DEFER:
            _bring_forward(decision, review)
        else:
            _take_back(decision, by={"actor": actor, "reason": rationale, "group": group})
            _ask_again(decision, review)
        decision.undone_at, decision.undone_by = now(), actor.as_json()
        decision.save(update_fields=["undone_at", "undone_by"])
        _record(decision, actor=actor, group=group)
    return decision


def last_decision(account_id: uuid.UUID, review_id: uuid.UUID) -> ReviewDecision | None:
    """Return the newest decision about a review that was not taken back."""
    return _decisions(account_id).filter(review_id=review_id, undone_at__isnull=True).first()


def may_undo(decision: ReviewDecision) -> bool:
    """Tell whether nothing has built on the decision.

    The facts are as it left them, nothing was derived or promoted from them, no conflict set that it opened has been
    joined or decided, none that was there was joined by it, and nothing newer was decided or asked about the review.
    """
    review = Review.objects.get(account_id=decision.account_id, pk=decision.review_id)
    newest = last_decision(decision.account_id, decision.review_id)
    if decision.undone_at is not None or newest is None or newest.pk != decision.pk:
        return False
    if decision.verb == ReviewVerb.DEFER:
        return review.status == ReviewStatus.PENDING
    if review.status == ReviewStatus.PENDING or _asked_anew(review) or decision.detail.get("joined_conflict"):
        return False
    versions = {change["fact"]: change["to_version"] for change in decision.changes}
    facts = Fact.objects.filter(account_id=decision.account_id, pk__in=versions)
    if any(fact.version != versions[str(fact.id)] or fact.status in FINAL for fact in facts):
        return False
    return not _built_upon(decision, list(versions)) and _conflicts_untouched(decision)


def _decisions(account_id: uuid.UUID) -> Any:
    return ReviewDecision.objects.filter(account_id=account_id).select_related(
        "review__fact__scope", "review__fact__subject", "review__event__scope"
    )


def _places(decision: ReviewDecision) -> list[tuple[uuid.UUID, uuid.UUID]]:
    """Return the (scope, subject) pairs of everything that the decision touched, in the order of their locks."""
    concerned = decision.review.fact or decision.review.event
    changed = Fact.objects.filter(
        account_id=decision.account_id, pk__in=[change["fact"] for change in decision.changes]
    ).values_list("scope_id", "subject_id")
    return sorted({(concerned.scope_id, concerned.subject_id), *changed})


def _asked_anew(review: Review) -> bool:
    if review.fact_id is None:
        return False
    return Review.objects.filter(
        account_id=review.account_id, fact_id=review.fact_id, kind=review.kind, status=ReviewStatus.PENDING
    ).exists()


def _built_upon(decision: ReviewDecision, fact_ids: list[str]) -> bool:
    return Relation.objects.filter(
        account_id=decision.account_id,
        target_id__in=fact_ids,
        kind__in=[RelationKind.DERIVED_FROM, RelationKind.PROMOTED_FROM],
        created_at__gte=decision.decided_at,
    ).exists()


def _conflicts_untouched(decision: ReviewDecision) -> bool:
    opened = decision.detail.get("conflicts_opened", {})
    sets = ConflictSet.objects.filter(account_id=decision.account_id, pk__in=opened)
    return all(one.status == ConflictStatus.OPEN and one.version == opened[str(one.id)] for one in sets)


def _bring_forward(decision: ReviewDecision, review: Review) -> None:
    for name in ("due_at", "deferred_until"):
        text = decision.detail[name]
        setattr(review, name, datetime.fromisoformat(text) if text else None)
    review.save(update_fields=["due_at", "deferred_until"])


def _take_back(decision: ReviewDecision, *, by: dict[str, Any]) -> None:
    account_id = decision.account_id
    fact_ids = [change["fact"] for change in decision.changes]
    opened = decision.detail.get("conflicts_opened", {})
    for conflict in ConflictSet.objects.filter(account_id=account_id, pk__in=opened):
        conflict_sets.close(
            conflict, status=ConflictStatus.DISSOLVED, actor=by["actor"], resolution="undone", group=by["group"]
        )
    Suppression.objects.filter(
        account_id=account_id,
        fact_id__in=fact_ids,
        cause=SuppressionCause.REJECTED,
        created_at__gte=decision.decided_at,
        lifted_at__isnull=True,
    ).update(lifted_at=now())
    Relation.objects.filter(
        account_id=account_id,
        source_id__in=[*fact_ids, *_into(decision)],
        target_id__in=fact_ids,
        kind=RelationKind.SUPERSEDES,
        created_at__gte=decision.decided_at,
    ).delete()
    brought = Evidence.objects.filter(account_id=account_id, pk__in=decision.detail.get("evidence", []))
    cited = list(brought.values_list("fact_id", flat=True))
    brought.delete()
    made = [change["fact"] for change in decision.changes if change["from_version"] == 0]
    for fact in Fact.objects.filter(account_id=account_id, pk__in=made):
        _unmake(fact, by=by)
    # Those that stop being current go first, so that the identity is free for the one that was.
    for revision in sorted(_revisions(decision), key=lambda revision: revision.status == Status.ACTIVE):
        fact = Fact.objects.get(account_id=account_id, pk=revision.fact_id)
        bring_back(fact, to_version=revision.version, action="review.undone", **by)
    withholding.refresh(account_id, cited)


def _into(decision: ReviewDecision) -> list[str]:
    return [decision.detail["into"]] if "into" in decision.detail else []


def _unmake(fact: Fact, *, by: dict[str, Any]) -> None:
    """Reject a fact that the decision made. Nothing keeps it from being said again."""
    common = {"account_id": fact.account_id, "action": "review.undone", **by}
    if not may_follow(fact.status, Status.REJECTED) and fact.status != Status.REJECTED:
        lifecycle.transition(fact.id, to=Status.DISPUTED, **common)
    if fact.status != Status.REJECTED:
        lifecycle.transition(fact.id, to=Status.REJECTED, **common)
    Review.objects.filter(account_id=fact.account_id, fact=fact, status=ReviewStatus.PENDING).update(
        status=ReviewStatus.WITHDRAWN, decided_by=by["actor"].as_json(), decided_at=now()
    )


def _revisions(decision: ReviewDecision) -> list[FactRevision]:
    return [
        FactRevision.objects.get(account_id=decision.account_id, fact_id=change["fact"], version=change["from_version"])
        for change in decision.changes
        if change["from_version"] > 0
    ]


def _ask_again(decision: ReviewDecision, review: Review) -> None:
    reopened = {"status": ReviewStatus.PENDING, "decided_by": None, "decided_at": None, "rationale": ""}
    # It ages from the beginning: otherwise the next sweep would reject what somebody has just brought back.
    reopened["escalated_at"] = None
    withdrawn = Review.objects.filter(
        account_id=decision.account_id,
        pk__in=decision.detail.get("withdrawn", []),
        status=ReviewStatus.WITHDRAWN,
    )
    withdrawn.update(**reopened)
    for name, value in reopened.items():
        setattr(review, name, value)
    review.save(update_fields=list(reopened))


def _record(decision: ReviewDecision, *, actor: Actor, group: uuid.UUID) -> None:
    audit.record(
        decision.account_id,
        action="review.undone",
        object_type="review",
        object_id=decision.review_id,
        actor=actor,
        group=group,
        metadata={"decision": str(decision.id), "verb": decision.verb},
    )
