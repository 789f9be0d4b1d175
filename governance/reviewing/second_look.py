"""Facts that the gates placed by themselves and that a person looks at all the same: a share that the account sets.

Which ones does not depend on chance: the same statement is always in the sample or never.
"""

from __future__ import annotations

from datetime import timedelta

from facts.actors import Actor
from facts.clock import now
from facts.models import Fact
from facts.vocabulary import Status
from governance.models import Review, ReviewKind

#: The reason by which such a review is told from others of its kind. Its fact is current while it waits.
SECOND_LOOK = "second_look"
#: Days until a second look is due: it holds nothing up.
DUE = timedelta(days=30)


def is_second_look(review: Review) -> bool:
    """Tell whether the review is about a fact that was placed already."""
    return review.kind == ReviewKind.NEW_FACT and SECOND_LOOK in review.reasons


def is_sampled(statement_hash: str, *, percent: int) -> bool:
    """Tell whether a statement is in the sample. The hash is an HMAC, so its beginning is evenly spread. Pure."""
    return int(statement_hash[-8:], 16) * 100 < percent * 2**32


def ask_for(fact: Fact, *, actor: Actor) -> None:
    """Ask for a second look at a fact that the gates have just made current, if it is in the account's sample."""
    percent = fact.account.second_look_percent
    if fact.status != Status.ACTIVE or not is_sampled(fact.statement_hash, percent=percent):
        return
    Review.objects.create(
        account_id=fact.account_id,
        kind=ReviewKind.NEW_FACT,
        fact=fact,
        fact_version=fact.version,
        reasons=[SECOND_LOOK],
        requested_by=actor.as_json(),
        due_at=now() + DUE,
    )
