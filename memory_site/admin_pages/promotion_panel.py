"""What a curator sees of a promotion beside the fact: where to, why, what its subject says, and who could read it."""

from __future__ import annotations

from typing import Any

from governance.models import PromotionStatus, Review
from governance.readers import readers_at
from governance.sharing import consent_records, promotion_undo, promotions
from memory_site.admin_pages.sight import Sight

#: Names that are written out; of the others the number is told.
SHOWN_PEOPLE = 40


def of_review(eyes: Sight, review: Review) -> dict[str, Any] | None:
    """Return what the page of a review shows of the promotion that it asks about; ``None`` for other reviews."""
    promotion = promotions.visible_promotions(eyes.principal).filter(review_id=review.pk).first()
    if promotion is None:
        return None
    readers = readers_at(promotion.account_id, promotion.target.path)
    return {
        "promotion": promotion,
        "consent": consent_records.consent_of(promotion.fact, target_id=promotion.target_id),
        "needs_consent": promotions.needs_consent(promotion.fact, promotion.target),
        "people": readers.people[:SHOWN_PEOPLE],
        "further_people": max(0, len(readers.people) - SHOWN_PEOPLE),
        "keys": readers.keys,
        "is_open": promotion.status == PromotionStatus.REQUESTED,
        "may_undo": promotion_undo.may_undo(promotion),
    }
