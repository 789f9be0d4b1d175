"""Deciding many reviews at once: each in its own transaction, each with its own answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from facts.errors import DomainError
from governance.access import Principal
from governance.reviewing import many, review_claims, reviews
from governance.reviewing.many import Item, Result


class BulkVerb(StrEnum):
    """What can be done to many reviews alike."""

    APPROVE = "approve"
    REJECT = "reject"
    DEFER = "defer"
    CLAIM = "claim"


def decide_all(
    principal: Principal, items: Sequence[Item], *, verb: str, rationale: str = "", until: datetime | None = None
) -> list[Result]:
    """Do the same to each review, in the given order; the version of an item is the one of its fact that was seen.

    ``until`` is what ``defer`` needs. Called as ``many.each``; raises ``DomainError`` (``unknown_decision``,
    ``batch_too_large``, ``invalid_date``) before anything is done.
    """
    if verb not in list(BulkVerb):
        raise DomainError("Choose one of the decisions.", code="unknown_decision", field="verb")
    if verb == BulkVerb.DEFER and until is None:
        raise DomainError("A date in the future is needed.", code="invalid_date", field="until")

    def decide(item: Item) -> str:
        common: dict[str, Any] = {"rationale": rationale, "expected_version": item.version}
        match verb:
            case BulkVerb.APPROVE:
                return reviews.approve(principal, item.id, **common).status
            case BulkVerb.REJECT:
                return reviews.reject(principal, item.id, **common).status
            case BulkVerb.DEFER:
                return reviews.defer(principal, item.id, until=until, **common).status
            case _:
                return review_claims.claim(principal, item.id).status

    return many.each(principal, items, decide)
