"""Reading what was typed and pressed on the pages of reviews, and handing it to the services."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.http import QueryDict

from facts.errors import DomainError
from facts.models import Fact
from governance.access import Principal
from governance.models import Review
from governance.reviewing import remarks, review_claims, reviews
from memory_site.admin_pages.deciding.typed_fields import day, membership_id, number, reason
from memory_site.admin_pages.governed import typed

#: What each decision did, for the message after it and in the history.
VERBS = {
    "approve": "Approved.",
    "reject": "Rejected: what was said up to now does not bring it back.",
    "end": "It was true until then.",
    "edit": "Said in other words: a new fact went through the gates.",
    "merge": "Merged: the other fact has its evidence.",
    "name_subject": "It is known now who was meant.",
    "defer": "Put off.",
}
#: What the decisions about a promotion did.
PROMOTION_VERBS = {"approve": "Approved: a copy was placed.", "reject": "Rejected: the fact stays where it is."}
#: What decides nothing.
ASIDES = {
    "claim": "It is yours to decide.",
    "release": "Anybody may decide it again.",
    "assign": "It is in other hands now.",
    "remark": "Written. Everybody who decides here sees it.",
}
#: What was about to be decided, for who finds that something changed meanwhile.
MEANT = {
    "approve": "Approve",
    "reject": "Reject",
    "end": "It has ended",
    "edit": "Say it in other words",
    "merge": "Merge it into another fact",
    "name_subject": "Say who is meant",
    "defer": "Put it off",
}


def decide(principal: Principal, review: Review, form: QueryDict) -> None:
    """Carry out what the pressed button says; one that names somebody holds their key. Raises ``DomainError``."""
    verb, _, key = typed(form, "verb").partition(":")
    common: dict[str, Any] = {"rationale": reason(form, needed=verb == "reject")}
    seen = {**common, "expected_version": version(form)}
    match verb:
        case "approve":
            reviews.approve(principal, review.pk, **seen)
        case "reject":
            reviews.reject(principal, review.pk, **seen)
        case "end":
            reviews.end(principal, review.pk, **seen)
        case "edit":
            value = _edited_value(review.fact, form)
            reviews.edit(principal, review.pk, statement=form.get("statement", ""), value=value, **seen)
        case "merge":
            reviews.merge(principal, review.pk, into=_id(form, "into"), **seen)
        case "name_subject":
            reviews.name_subject(principal, review.pk, subject_key=key or typed(form, "subject"), **common)
        case "defer":
            reviews.defer(principal, review.pk, until=day(form), **seen)
        case "claim":
            review_claims.claim(principal, review.pk)
        case "release":
            review_claims.assign(principal, review.pk, to=None)
        case "assign":
            review_claims.assign(principal, review.pk, to=membership_id(form))
        case "remark":
            remarks.about_review(principal, review.pk, text=typed(form, "remark"))
        case _:
            raise DomainError("Choose one of the decisions.", code="unknown_decision", field="verb")


def editable_parts(fact: Fact) -> list[tuple[str, str]]:
    """Return the parts of a claim's value that can be typed: texts and numbers, as texts."""
    if not isinstance(fact.value, dict):
        return []
    return [(key, str(part)) for key, part in fact.value.items() if _is_typed(part)]


def _is_typed(part: object) -> bool:
    return isinstance(part, str | int | float) and not isinstance(part, bool)


def _edited_value(fact: Fact | None, form: QueryDict) -> dict[str, Any] | None:
    """Return the value with what was typed; ``None`` where nothing of it was changed. A number stays a number."""
    if fact is None or not isinstance(fact.value, dict):
        return None
    value = dict(fact.value)
    for key, shown in editable_parts(fact):
        text = typed(form, f"value:{key}")
        if f"value:{key}" not in form or text == shown:
            continue
        value[key] = text if isinstance(fact.value[key], str) else _as_number(text)
    return None if value == fact.value else value


def _as_number(text: str) -> int | float:
    try:
        number = json.loads(text)
    except ValueError:
        number = None
    if not isinstance(number, int | float) or isinstance(number, bool) or number != number:
        raise DomainError("A number is wanted here.", code="invalid_payload", field="value")
    return number


def _id(form: QueryDict, name: str) -> uuid.UUID:
    try:
        return uuid.UUID(typed(form, name))
    except ValueError:
        raise DomainError("Choose one of these.", code="invalid_payload", field=name) from None


def version(form: QueryDict) -> int | None:
    """Return the version of the fact that the form was made from; ``None`` where it does not say."""
    return number(typed(form, "version"))
