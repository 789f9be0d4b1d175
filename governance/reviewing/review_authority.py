"""Who may decide a review: a curator of where it belongs, and nobody on what they asked for or put in themselves."""

from __future__ import annotations

from django.db.models import Count, QuerySet
from django.db.models.functions import Coalesce

from facts.actors import Actor
from facts.errors import DomainError, NotFound, Refused
from facts.models import Fact
from governance.access import Delegation, Principal, require_authority
from governance.models import ApiKey, Promotion, Review, ReviewKind
from governance.provenance import put_in_by


def deciding_actor(principal: Principal, review: Review) -> Actor:
    """Return the actor of a decision about ``review``, or raise.

    ``NotFound`` (``review_not_found``) for one that belongs nowhere; ``Refused`` (``human_required``,
    ``forbidden_scope``, ``own_request``). Runs inside the account's transaction.
    """
    concerned = review.fact or review.event
    if concerned is None:
        raise NotFound("There is no such review.", code="review_not_found")
    if review.kind == ReviewKind.PROMOTION and not principal.is_person:
        raise Refused("A person has to decide this.", code="human_required")
    actor = require_authority(principal, Delegation.RESOLVE, path=place_of(review))
    own_fact = isinstance(concerned, Fact) and put_in_by(review.account_id, [concerned.id], actor)
    if own_fact or asked_by(review, actor):
        raise Refused("Nobody decides about what they put in themselves.", code="own_request")
    return actor


def refusal(principal: Principal, review: Review) -> DomainError | None:
    """Return why the caller may not decide about ``review``, to be said before they try; ``None`` where they may."""
    try:
        deciding_actor(principal, review)
    except DomainError as error:
        return error
    return None


def place_of(review: Review) -> str:
    """Return the path of the scope in which a review is decided: for a promotion where the copy would go."""
    if review.kind == ReviewKind.PROMOTION:
        asked = Promotion.objects.filter(account_id=review.account_id, review_id=review.pk)
        return asked.values_list("target__path", flat=True).get()
    return (review.fact or review.event).scope.path


def counts_by_place(reviews: QuerySet[Review]) -> dict[str, int]:
    """Return how many of the reviews are decided in each scope, by its path (:func:`place_of`); one query."""
    placed = reviews.annotate(place=Coalesce("promotion__target__path", "fact__scope__path", "event__scope__path"))
    return dict(placed.order_by().values_list("place").annotate(Count("pk")).filter(place__isnull=False))


def asked_by(review: Review, actor: Actor) -> bool:
    """Tell whether this person asked for the review, by themselves or through a key that they made."""
    asked = review.requested_by
    if actor.membership_id is not None and asked.get("membership_id") == str(actor.membership_id):
        return True
    keys = ApiKey.objects.filter(account_id=review.account_id, maker_id=actor.membership_id)
    return "key_id" in asked and keys.filter(pk=asked["key_id"]).exists()
