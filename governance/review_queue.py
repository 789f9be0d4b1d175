"""What waits for people, as far as the asker is one of those for whom it waits."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from facts.models import Fact
from facts.vocabulary import Sensitivity
from governance.access import Principal, all_readable_scopes
from governance.models import Review, ReviewStatus
from governance.visible_conflicts import may_decide_at


def reviews_for(principal: Principal) -> QuerySet[Review]:
    """Return the reviews about facts and events in the scopes where the caller decides; for others none."""
    scopes = [scope.id for scope in all_readable_scopes(principal) if may_decide_at(principal, scope.path)]
    return Review.objects.filter(
        Q(fact__scope_id__in=scopes) | Q(fact__isnull=True, event__scope_id__in=scopes),
        account_id=principal.account_id,
    ).select_related("fact__scope", "fact__subject", "event__scope", "event__subject")


def may_read_words(principal: Principal, review: Review, fact: Fact) -> bool:
    """Tell whether the fact's words are shown with its review: restricted ones only to a person who is asked now."""
    if fact.sensitivity != Sensitivity.RESTRICTED:
        return True
    return principal.is_person and review.status == ReviewStatus.PENDING
