"""Taking back the approval of a promotion while nothing has built on it: the copy goes, and the question is open again.

What the copy had superseded at the target is what it was. A consent stays what its subject said.
"""

from __future__ import annotations

import uuid

from django.db.models import Max, Min

from facts import lifecycle
from facts.errors import Conflicting
from facts.ids import new_id
from facts.models import ConflictMember, Fact, FactRevision, Relation
from facts.returning import bring_back
from facts.status_graph import FINAL
from facts.tenancy import account_transaction
from facts.vocabulary import RelationKind, Status
from governance.access import Principal
from governance.models import Promotion, PromotionStatus, ReviewStatus
from governance.sharing import consent_records, promotion_records, promotions


def undo(principal: Principal, promotion_id: uuid.UUID, *, rationale: str = "") -> Promotion:
    """Withdraw the copy that an approval placed, and ask again, as a curator of the target.

    Raises as :func:`governance.sharing.promotions.approve`, and ``Conflicting``: ``nothing_to_undo`` unless it is
    approved and its copy still there, ``decision_built_upon``, ``promotion_pending`` where it was asked anew meanwhile.
    """
    with account_transaction(principal.account_id):
        promotion, actor = promotions.decided_by(principal, promotion_id)
        consent_records.lock_places(promotion.fact, promotion.target_id)
        promotion = (
            Promotion.objects.select_for_update(of=("self",))
            .select_related("fact", "target", "copy", "review")
            .get(account_id=promotion.account_id, pk=promotion.pk)
        )
        copy = promotion.copy
        if promotion.status != PromotionStatus.APPROVED or copy is None or copy.status in FINAL:
            raise Conflicting("There is no approval that could be undone.", code="nothing_to_undo")
        asked = Promotion.objects.filter(account_id=copy.account_id, fact_id=promotion.fact_id)
        if asked.filter(status=PromotionStatus.REQUESTED).exists():
            raise Conflicting("Somebody has asked for this fact again.", code="promotion_pending")
        changes = _changes(copy)
        if not _untouched(copy, changes):
            raise Conflicting("Something has built on the decision since.", code="decision_built_upon")
        group = new_id()
        by = {"actor": actor, "reason": rationale, "group": group}
        lifecycle.transition(copy.id, account_id=copy.account_id, to=Status.RETRACTED, action="promotion.undone", **by)
        Relation.objects.filter(
            account_id=copy.account_id, source_id=copy.id, target_id__in=changes, kind=RelationKind.SUPERSEDES
        ).delete()
        for fact in Fact.objects.filter(account_id=copy.account_id, pk__in=set(changes) - {copy.id}).order_by("id"):
            bring_back(fact, to_version=changes[fact.id][0] - 1, action="promotion.undone", **by)
        promotion.status, promotion.closed_at, promotion.copy = PromotionStatus.REQUESTED, None, None
        promotion.save(update_fields=["status", "closed_at", "copy"])
        review = promotion.review
        review.status, review.decided_by, review.decided_at = ReviewStatus.PENDING, None, None
        review.rationale, review.escalated_at = "", None
        review.save(update_fields=["status", "decided_by", "decided_at", "rationale", "escalated_at"])
        promotion_records.record(promotion, action="promotion.undone", actor=actor, group=group)
        return promotion


def may_undo(promotion: Promotion) -> bool:
    """Tell whether the approval can be taken back now."""
    copy = promotion.copy
    if promotion.status != PromotionStatus.APPROVED or copy is None or copy.status in FINAL:
        return False
    return _untouched(copy, _changes(copy))


def _changes(copy: Fact) -> dict[uuid.UUID, tuple[int, int]]:
    """Return which facts the approval led to which (first, last) version: all revisions of the copy's first group."""
    first = FactRevision.objects.get(account_id=copy.account_id, fact=copy, version=1)
    rows = (
        FactRevision.objects.filter(account_id=copy.account_id, group=first.group)
        .values("fact_id")
        .annotate(first=Min("version"), last=Max("version"))
    )
    return {row["fact_id"]: (row["first"], row["last"]) for row in rows}


def _untouched(copy: Fact, changes: dict[uuid.UUID, tuple[int, int]]) -> bool:
    """Tell whether all these facts are as the approval left them, and nothing was derived from the copy.

    A copy that is in a conflict set is decided there.
    """
    facts = Fact.objects.filter(account_id=copy.account_id, pk__in=changes)
    if any(fact.version != changes[fact.id][1] or fact.status in FINAL for fact in facts):
        return False
    if ConflictMember.objects.filter(account_id=copy.account_id, fact=copy).exists():
        return False
    built = Relation.objects.filter(account_id=copy.account_id, target_id=copy.id)
    return not built.filter(kind__in=[RelationKind.DERIVED_FROM, RelationKind.PROMOTED_FROM]).exists()
