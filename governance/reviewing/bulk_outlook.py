"""What deciding many reviews alike would do: which would change, which would not, and why.

It looks and changes nothing. A fixed number of queries for any number of reviews; each decision checks again for
itself when it is taken, so that what changes between looking and deciding is refused then.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from django.db.models import Q

from facts.models import FactRevision
from governance.access import Principal
from governance.models import ApiKey, Consent, ConsentStatus, Promotion, Review, ReviewKind, ReviewStatus
from governance.reviewing.many import Outlook
from governance.reviewing.review_bulk import BulkVerb
from governance.reviewing.reviewed import says_the_same
from governance.reviewing.second_look import is_second_look
from governance.sharing.promotions import needs_consent

#: Sentences by code: why a review would not change.
WHY_NOT = {
    "review_decided": "It is decided already.",
    "decided_elsewhere": "Conflicts are decided on their own page.",
    "own_request": "You asked for it or put it in yourself.",
    "review_claimed": "It is in somebody else’s hands.",
    "stale_version": "It has changed since you chose it.",
    "subject_missing": "Somebody has to say who is meant.",
    "consent_missing": "Its subject has not agreed.",
}
#: What each verb does to a review that changes.
EFFECTS = {
    BulkVerb.APPROVE: {
        "": "both gates pass, and it is placed",
        "second_look": "it stays as it is",
        ReviewKind.CONTEST: "the objection is refused",
        ReviewKind.REVALIDATION: "it holds, and is served again",
        ReviewKind.PROMOTION: "a copy is placed higher up",
        ReviewKind.DIRECTIVE: "it is served as a quotation",
    },
    BulkVerb.REJECT: {
        "": "it was never true and is not brought back",
        ReviewKind.PROMOTION: "the fact stays where it is",
        ReviewKind.UNRESOLVED_SUBJECT: "nothing is remembered of it",
    },
    BulkVerb.DEFER: {"": "it leaves the list until then"},
    BulkVerb.CLAIM: {"": "it is yours to decide"},
}


def look_ahead(
    principal: Principal, reviews: Sequence[Review], *, verb: str, versions: Mapping[uuid.UUID, int | None]
) -> list[Outlook]:
    """Return what ``verb`` would do to each of these reviews, which are the caller's to decide, in their order.

    ``versions``: the version of its fact that the person saw, by the id of the review. Reviews come with their facts,
    scopes and subjects loaded; five queries.
    """
    changed = _changed(principal, reviews, versions)
    own = _own(principal, reviews)
    unagreed = _unagreed(principal, reviews) if verb == BulkVerb.APPROVE else set()
    result = []
    for review in reviews:
        code = _obstacle(review, principal, verb=verb)
        if not code and review.pk in own:
            code = "own_request"
        if not code and verb != BulkVerb.CLAIM and review.pk in changed:
            code = "stale_version"
        if not code and review.pk in unagreed:
            code = "consent_missing"
        if code:
            result.append(Outlook(review, code=code, why_not=WHY_NOT[code]))
        else:
            result.append(Outlook(review, effect=_effect(review, verb)))
    return result


def _obstacle(review: Review, principal: Principal, *, verb: str) -> str:
    if review.status != ReviewStatus.PENDING:
        return "review_decided"
    if verb != BulkVerb.CLAIM and review.kind in {ReviewKind.CONFLICT, ReviewKind.POSSIBLE_CONFLICT}:
        return "decided_elsewhere"
    if review.assignee_id not in {None, principal.membership_id}:
        return "review_claimed"
    if verb == BulkVerb.APPROVE and review.kind == ReviewKind.UNRESOLVED_SUBJECT:
        return "subject_missing"
    return ""


def _effect(review: Review, verb: str) -> str:
    effects = EFFECTS[BulkVerb(verb)]
    kind = "second_look" if is_second_look(review) else review.kind
    return effects.get(kind, effects[""])


def _changed(
    principal: Principal, reviews: Sequence[Review], versions: Mapping[uuid.UUID, int | None]
) -> set[uuid.UUID]:
    """Return the reviews whose fact says, or may be seen as, something else than what was seen."""
    seen = {
        review.pk: versions.get(review.pk) or review.fact_version
        for review in reviews
        if review.fact is not None and review.kind != ReviewKind.PROMOTION
    }
    wanted = Q(pk__in=[])
    for review in reviews:
        if review.pk in seen and seen[review.pk] != review.fact.version:
            wanted |= Q(fact_id=review.fact_id, version=seen[review.pk])
    found = {
        (revision.fact_id, revision.version): revision
        for revision in FactRevision.objects.filter(wanted, account_id=principal.account_id)
    }
    changed = set()
    for review in reviews:
        if review.pk not in seen or seen[review.pk] == review.fact.version:
            continue
        revision = found.get((review.fact_id, seen[review.pk]))
        if revision is None or not says_the_same(review.fact, revision):
            changed.add(review.pk)
    return changed


def _own(principal: Principal, reviews: Sequence[Review]) -> set[uuid.UUID]:
    """Return the reviews that the person asked for, or whose fact they put in; by themselves or through a key."""
    me = str(principal.membership_id)
    facts = [review.fact_id for review in reviews if review.fact_id]
    mine = set(
        FactRevision.objects.filter(
            account_id=principal.account_id, fact_id__in=facts, version=1, actor__membership_id=me
        ).values_list("fact_id", flat=True)
    )
    keys = ApiKey.objects.filter(account_id=principal.account_id, maker_id=principal.membership_id)
    key_ids = {str(pk) for pk in keys.values_list("pk", flat=True)}
    return {
        review.pk
        for review in reviews
        if review.fact_id in mine
        or review.requested_by.get("membership_id") == me
        or review.requested_by.get("key_id") in key_ids
    }


def _unagreed(principal: Principal, reviews: Sequence[Review]) -> set[uuid.UUID]:
    """Return the reviews of promotions to which the subject of the fact would have to agree, and has not."""
    ids = [review.pk for review in reviews if review.kind == ReviewKind.PROMOTION]
    asked = Promotion.objects.filter(account_id=principal.account_id, review_id__in=ids)
    promotions = list(asked.select_related("fact__subject", "fact__scope", "target"))
    granted = set(
        Consent.objects.filter(
            account_id=principal.account_id,
            fact_id__in=[promotion.fact_id for promotion in promotions],
            status=ConsentStatus.GRANTED,
        ).values_list("fact_id", "target_id")
    )
    return {
        promotion.review_id
        for promotion in promotions
        if needs_consent(promotion.fact, promotion.target) and (promotion.fact_id, promotion.target_id) not in granted
    }
