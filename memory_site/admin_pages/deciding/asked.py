"""What a page asks for, in one sentence, and what each answer does."""

from __future__ import annotations

from collections.abc import Mapping

from facts.models import ConflictSet
from facts.tenancy import ROOT
from facts.vocabulary import ConflictKind
from governance.models import Promotion, Review, ReviewKind
from governance.reviewing.second_look import is_second_look

#: The question of each kind of review.
_REVIEWS = {
    ReviewKind.NEW_FACT: "Should this be remembered, and be seen by those whom it says?",
    ReviewKind.DIRECTIVE: "Somebody wrote an order to whoever reads this. May it be served, as a quotation?",
    ReviewKind.CONTEST: "Its subject says that this is wrong. Does the fact stand all the same?",
    ReviewKind.REVALIDATION: "Does this still hold?",
    ReviewKind.UNRESOLVED_SUBJECT: "About whom is this?",
    ReviewKind.CONFLICT: "These facts cannot all hold; they are decided on the page of the conflict.",
    ReviewKind.POSSIBLE_CONFLICT: "These facts may contradict each other; that is decided on the page of the conflict.",
}
_CONFLICTS = {
    ConflictKind.CONTRADICTION: "These cannot all hold. Which one does?",
    ConflictKind.QUARANTINE: "A less trusted source contradicts a more trusted one. Which one holds?",
    ConflictKind.POSSIBLE: "Do these contradict each other, and if so, which one holds?",
}
#: What the button for yes is called where "Approve" would leave open what is approved.
_YES = {
    ReviewKind.CONTEST: "The fact stands",
    ReviewKind.REVALIDATION: "It still holds",
    ReviewKind.DIRECTIVE: "Serve it",
}
_NO = {ReviewKind.CONTEST: "It is wrong", ReviewKind.REVALIDATION: "It was never true"}
#: What approving and rejecting do, by kind of review.
_APPROVED = {
    ReviewKind.CONTEST: "The objection is refused, and the fact is as it was before.",
    ReviewKind.REVALIDATION: "It still holds, and is served again.",
    ReviewKind.PROMOTION: "A copy is placed where it was asked for.",
    ReviewKind.DIRECTIVE: "It is served as a quotation of who wrote it.",
}
_REJECTED = {
    ReviewKind.PROMOTION: "Nothing changes.",
    ReviewKind.UNRESOLVED_SUBJECT: "Nothing is remembered of it.",
    ReviewKind.DIRECTIVE: "Its words stay withheld.",
}


def of_review(review: Review, promotion: Promotion | None) -> str:
    """Return the question that a review asks."""
    if promotion is not None:
        path = promotion.target.path
        where = "in the whole account" if path == ROOT else f"in {path}"
        return f"May this be known to everybody who reads {where}?"
    if is_second_look(review):
        return "The gates placed this by themselves. Was that right?"
    return _REVIEWS.get(ReviewKind(review.kind), "Decide about this.")


def labels(review: Review) -> Mapping[str, str]:
    """Return what the buttons for yes and no are called: so that each answers the question."""
    if is_second_look(review):
        return {"approve": "It was right", "reject": "Reject"}
    kind = ReviewKind(review.kind)
    return {"approve": _YES.get(kind, "Approve"), "reject": _NO.get(kind, "Reject")}


def of_conflict(conflict: ConflictSet) -> str:
    """Return the question that a conflict set asks."""
    return _CONFLICTS[ConflictKind(conflict.kind)]


def consequences(review: Review) -> Mapping[str, str]:
    """Return what approving and rejecting do, each in a sentence."""
    approved = "It stays as it is." if is_second_look(review) else "Both gates pass, and it is placed."
    rejected = "It was never true, and what was said up to now does not bring it back."
    return {
        "approve": _APPROVED.get(ReviewKind(review.kind), approved),
        "reject": _REJECTED.get(ReviewKind(review.kind), rejected),
    }
