"""Deciding many reviews at once: each in its own transaction, each with its own answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from facts.errors import DomainError
from facts.tenancy import account_transaction
from governance.access import Principal
from governance.models import Review
from governance.reviewing import review_claims, reviews

#: Reviews in one go.
MAX_ITEMS = 500


class BulkVerb(StrEnum):
    """What can be done to many reviews alike."""

    APPROVE = "approve"
    REJECT = "reject"
    DEFER = "defer"
    CLAIM = "claim"


@dataclass(frozen=True, slots=True)
class Item:
    """A review, and the version of its fact that the person saw (``None``: the one that was asked about)."""

    review_id: uuid.UUID
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one item: its status now, or the code and message of why nothing was done."""

    review_id: uuid.UUID
    status: str = ""
    code: str = ""
    message: str = ""

    @property
    def done(self) -> bool:
        """Whether the verb was carried out."""
        return not self.code


def decide_all(
    principal: Principal, items: Sequence[Item], *, verb: str, rationale: str = "", until: datetime | None = None
) -> list[Result]:
    """Do the same to each review, in the given order; what fails leaves the others as they are.

    ``until`` is what ``defer`` needs. Called outside of any transaction: each item commits by itself. Raises
    ``DomainError`` (``unknown_decision``, ``batch_too_large``, ``invalid_date``) before anything is done.
    """
    if verb not in list(BulkVerb):
        raise DomainError("Choose one of the decisions.", code="unknown_decision", field="verb")
    if len(items) > MAX_ITEMS:
        raise DomainError(f"At most {MAX_ITEMS} at once.", code="batch_too_large", field="reviews")
    if verb == BulkVerb.DEFER and until is None:
        raise DomainError("A date in the future is needed.", code="invalid_date", field="until")
    return [_decide(principal, item, _call(verb, rationale, until)) for item in dict.fromkeys(items)]


def _call(verb: str, rationale: str, until: datetime | None) -> Callable[[Principal, Item], Review]:
    def decide(principal: Principal, item: Item) -> Review:
        common: dict[str, Any] = {"rationale": rationale, "expected_version": item.version}
        match verb:
            case BulkVerb.APPROVE:
                return reviews.approve(principal, item.review_id, **common)
            case BulkVerb.REJECT:
                return reviews.reject(principal, item.review_id, **common)
            case BulkVerb.DEFER:
                return reviews.defer(principal, item.review_id, until=until, **common)
            case _:
                return review_claims.claim(principal, item.review_id)

    return decide


def _decide(principal: Principal, item: Item, decide: Callable[[Principal, Item], Review]) -> Result:
    try:
        with account_transaction(principal.account_id, durable=True):
            review = decide(principal, item)
    except DomainError as error:
        return Result(item.review_id, code=error.code, message=error.message)
    return Result(item.review_id, status=review.status)
