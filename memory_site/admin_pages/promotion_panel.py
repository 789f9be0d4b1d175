"""What a curator sees of a promotion beside the fact: where to, why, and what its subject says."""

from __future__ import annotations

from typing import Any

from governance.models import ConsentStatus, PromotionStatus, Review
from governance.sharing import consent_records, promotion_undo, promotions
from memory_site.admin_pages.sight import Sight


def of_review(eyes: Sight, review: Review) -> dict[str, Any] | None:
    """Return what the page of a review shows of the promotion that it asks about; ``None`` for other reviews."""
    promotion = promotions.visible_promotions(eyes.principal).filter(review_id=review.pk).first()
    if promotion is None:
        return None
    consent = consent_records.consent_of(promotion.fact, target_id=promotion.target_id)
    needs_consent = promotions.needs_consent(promotion.fact, promotion.target)
    return {
        "promotion": promotion,
        "consent": consent,
        "needs_consent": needs_consent,
        "awaits_consent": needs_consent and (consent is None or consent.status != ConsentStatus.GRANTED),
        "is_open": promotion.status == PromotionStatus.REQUESTED,
        "may_undo": promotion_undo.may_undo(promotion),
    }
