"""What waits for people, as far as the asker is one of those for whom it waits."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When

from facts.clock import now
from facts.models import Fact, Scope
from facts.vocabulary import Kind, Level, OriginTrust, Sensitivity
from governance.access import Principal, all_readable_scopes
from governance.models import Review, ReviewKind, ReviewStatus
from governance.visible_conflicts import may_decide_at


def reviews_for(principal: Principal) -> QuerySet[Review]:
    """Return the reviews about facts and events in the scopes where the caller decides; for others none.

    Whether a fact becomes known higher up is decided there, and by people only.
    """
    scopes = [scope.id for scope in all_readable_scopes(principal) if may_decide_at(principal, scope.path)]
    promoting = Q(kind=ReviewKind.PROMOTION)
    if scopes and not Scope.objects.filter(account_id=principal.account_id).exclude(id__in=scopes).exists():
        # Who decides everywhere is asked about everything: counting it then looks at no other table.
        here = there = Q(fact_id__isnull=False) | Q(event_id__isnull=False)
    else:
        here = Q(fact__scope_id__in=scopes) | Q(fact__isnull=True, event__scope_id__in=scopes)
        there = Q(promotion__target_id__in=scopes)
    asked = here & ~promoting
    if principal.is_person:
        asked |= promoting & there
    return Review.objects.filter(
        asked,
        account_id=principal.account_id,
    ).select_related("fact__scope", "fact__subject", "event__scope", "event__subject")


def may_read_words(principal: Principal, review: Review, fact: Fact) -> bool:
    """Tell whether the fact's words are shown with its review: restricted ones only to a person who is asked now."""
    if fact.sensitivity != Sensitivity.RESTRICTED:
        return True
    return principal.is_person and review.status == ReviewStatus.PENDING


#: What each trait of a waiting review adds to its risk. Ranks, not measurements: what is wrong in the answers that
#: readers get now, or would be seen by most, comes first.
_RISK_OF_KIND = {
    ReviewKind.CONTEST: 40,
    ReviewKind.DIRECTIVE: 40,
    ReviewKind.PROMOTION: 30,
    ReviewKind.NEW_FACT: 20,
    ReviewKind.REVALIDATION: 20,
    ReviewKind.UNRESOLVED_SUBJECT: 10,
}
_RISK_OF_SENSITIVITY = {Sensitivity.RESTRICTED: 30, Sensitivity.PERSONAL: 20, Sensitivity.INTERNAL: 10}
_RISK_OF_LEVEL = {Level.ACCOUNT: 30, Level.SCOPE: 15}
_RISK_OF_TRUST = {OriginTrust.UNTRUSTED: 30, OriginTrust.THIRD_PARTY: 20, OriginTrust.SEMI_TRUSTED: 10}
_RISK_OF_INSTRUCTIONS = {Kind.INSTRUCTION: 20}
_RISK_WHEN_ESCALATED = 50
_RISK_WHEN_OVERDUE = 25

#: From which risk on a review is shown as such.
HIGH_RISK, MEDIUM_RISK = 90, 60


def in_queue(reviews: QuerySet[Review]) -> QuerySet[Review]:
    """Keep those that wait for a decision now: pending, and not put off."""
    return reviews.filter(status=ReviewStatus.PENDING).exclude(deferred_until__gt=now())


def with_risk(reviews: QuerySet[Review]) -> QuerySet[Review]:
    """Add to each review its ``risk``, from 0 to about 250, by which queues are sorted."""
    return reviews.annotate(
        risk=_ranked("kind", _RISK_OF_KIND)
        + _ranked("fact__sensitivity", _RISK_OF_SENSITIVITY)
        + _ranked("fact__level", _RISK_OF_LEVEL)
        + _ranked("fact__origin_trust", _RISK_OF_TRUST)
        + _ranked("fact__kind", _RISK_OF_INSTRUCTIONS)
        + Case(When(escalated_at__isnull=False, then=Value(_RISK_WHEN_ESCALATED)), default=Value(0))
        + Case(When(due_at__lt=now(), then=Value(_RISK_WHEN_OVERDUE)), default=Value(0))
    )


def _ranked(field: str, points: Mapping[str, int]) -> Case:
    whens = [When(**{field: value}, then=Value(number)) for value, number in points.items()]
    return Case(*whens, default=Value(0), output_field=IntegerField())
