"""Deciding many reviews alike: what the pages for it need to know about reviews."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.http import QueryDict

from governance.access import Principal
from governance.models import Review, ReviewDecision
from governance.reviewing import review_bulk, review_undo
from governance.reviewing.bulk_outlook import look_ahead
from governance.reviewing.many import Item, Result
from governance.reviewing.review_bulk import BulkVerb
from memory_site.admin_pages.deciding.many_pages import Many, Verb
from memory_site.admin_pages.deciding.typed_fields import day, reason

if TYPE_CHECKING:
    from memory_site.admin_pages.review_pages import ReviewAdmin

VERBS = {
    BulkVerb.APPROVE: Verb(title="Approve", button="Approve them", done="approved"),
    BulkVerb.REJECT: Verb(title="Reject", button="Reject them", done="rejected", needs_reason=True),
    BulkVerb.DEFER: Verb(title="Put off", button="Put them off", done="put off", needs_day=True),
    BulkVerb.CLAIM: Verb(title="Take", button="Take them", done="taken", is_undone=False),
}


def many_reviews(page: ReviewAdmin) -> Many:
    """Return how reviews are decided about alike."""
    return Many(
        name="reviews",
        noun="review",
        prefix="review",
        verbs=VERBS,
        rows=page.visible,
        order=("-risk", "due_at", "id"),
        look_ahead=look_ahead,
        decide=_decide,
        decisions=ReviewDecision,
        about="review_id",
        take_back=review_undo.undo,
        value=_value,
        shown=lambda review: (page.said(review), page.kind_words(review)),
    )


def _value(review: Review) -> str:
    return f"{review.pk}:{review.fact.version}" if review.fact else str(review.pk)


def _decide(principal: Principal, items: Sequence[Item], form: QueryDict) -> Sequence[Result]:
    verb = form.get("verb", "")
    until = day(form) if verb == BulkVerb.DEFER else None
    rationale = reason(form, needed=verb == BulkVerb.REJECT)
    return review_bulk.decide_all(principal, items, verb=verb, rationale=rationale, until=until)
