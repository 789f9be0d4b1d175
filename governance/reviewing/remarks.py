"""What those who decide write to each other about a review or a conflict set."""

from __future__ import annotations

import uuid

from facts import audit
from facts.errors import DomainError, NotFound
from facts.ids import new_id
from facts.models import ConflictSet
from facts.tenancy import account_transaction
from governance.access import Delegation, Principal, require_authority
from governance.models import Remark
from governance.reviewing import review_opening
from governance.reviewing.review_authority import place_of

#: Characters of one remark; remarks shown with what they are about, the newest.
MAX_LENGTH, SHOWN = 2_000, 50


def about_review(principal: Principal, review_id: uuid.UUID, *, text: str) -> Remark:
    """Write something beside a review, for whoever decides there; whoever asked for it may write, too.

    Raises ``NotFound`` (``review_not_found``), ``Refused`` (``human_required``, ``forbidden_scope``) and
    ``DomainError`` (``remark_missing``, ``remark_too_long``).
    """
    with account_transaction(principal.account_id):
        review = review_opening.get(principal, review_id)
        if review.fact is None and review.event is None:
            raise NotFound("There is no such review.", code="review_not_found")
        return _write(principal, path=place_of(review), text=text, review=review)


def about_conflict(principal: Principal, conflict_id: uuid.UUID, *, text: str) -> Remark:
    """Write something beside a conflict set, for whoever decides there. Raises ``NotFound`` (``conflict_not_found``)
    and what :func:`about_review` raises."""
    with account_transaction(principal.account_id):
        conflict = (
            ConflictSet.objects.filter(account_id=principal.account_id, pk=conflict_id).select_related("scope").first()
        )
        if conflict is None:
            raise NotFound("There is no such conflict set.", code="conflict_not_found")
        return _write(principal, path=conflict.scope.path, text=text, conflict_set=conflict)


def _write(principal: Principal, *, path: str, text: str, **about: object) -> Remark:
    actor = require_authority(principal, Delegation.RESOLVE, path=path)
    text = text.strip()
    if not text:
        raise DomainError("There is nothing written here.", code="remark_missing", field="remark")
    if len(text) > MAX_LENGTH:
        raise DomainError(f"At most {MAX_LENGTH} characters.", code="remark_too_long", field="remark")
    remark = Remark.objects.create(account_id=principal.account_id, text=text, actor=actor.as_json(), **about)
    audit.record(
        principal.account_id,
        action="remark.made",
        object_type="review" if remark.review_id else "conflict_set",
        object_id=remark.review_id or remark.conflict_set_id,
        actor=actor,
        group=new_id(),
        metadata={"remark": str(remark.id), "characters": len(text)},
    )
    return remark
