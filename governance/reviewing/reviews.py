"""Deciding what waits for a person: approve, reject, end, edit, merge, name whom it is about, or put it off.

Each verb locks the subject and the review, checks again that what was looked at is still there, and leaves a record
from which ``governance.reviewing.review_undo`` takes it back. People never change the words of a fact: an edit is a new
one, which goes through the gates like any other.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from facts import lifecycle, suppressions
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound
from facts.ids import new_id
from facts.models import Fact, FactRevision
from facts.models.conflicts import SuppressionCause
from facts.returning import bring_back
from facts.status_graph import ENDED
from facts.tenancy import account_transaction, get_subject
from facts.vocabulary import Status
from governance.access import Principal
from governance.gating.gates import GateOutcome
from governance.models import Gate, PromotionStatus, Review, ReviewKind, ReviewStatus, ReviewVerb
from governance.placement import place_waiting, record_gates, revalidation_of
from governance.reviewing import review_rewording
from governance.reviewing.review_opening import Opened, close, keep, open_review
from governance.reviewing.second_look import is_second_look
from governance.sharing import promotion_records, promotions

#: Kinds about a fact that no gate has passed yet.
_ASKS_THE_GATES = frozenset({ReviewKind.NEW_FACT, ReviewKind.DIRECTIVE})
_UNPLACED = frozenset({Status.CANDIDATE, Status.PROVISIONAL, Status.HELD})
#: Statuses in which a fact still waits for what its review asks.
_WAITS_IN = {
    ReviewKind.NEW_FACT: _UNPLACED,
    ReviewKind.DIRECTIVE: _UNPLACED,
    ReviewKind.CONTEST: frozenset({Status.DISPUTED}),
    ReviewKind.REVALIDATION: frozenset({Status.NEEDS_REVALIDATION}),
}


def approve(
    principal: Principal, review_id: uuid.UUID, *, rationale: str = "", expected_version: int | None = None
) -> Review:
    """Say yes: a waiting fact passes both gates by this person, is planned again and placed; a contested one returns;
    one that had to be confirmed is current again; a second look changes nothing.

    ``expected_version`` is the version of the fact that the person saw; without it, the one that was asked about.
    A promotion is decided by ``governance.sharing.promotions``, with its own refusals. Raises ``NotFound``
    (``review_not_found``), ``Conflicting`` (``review_decided``, ``stale_version``,
    ``consent_missing``, ``decided_elsewhere``), ``Refused`` (``human_required``, ``forbidden_scope``, ``own_request``)
    and ``DomainError`` (``subject_missing`` where :func:`name_subject` is wanted).
    """
    with account_transaction(principal.account_id):
        if _asks_for_promotion(principal, review_id):
            return promotions.approve_review(
                principal, review_id, rationale=rationale, expected_version=expected_version
            )
        opened = open_review(principal, review_id, rationale=rationale, expected_version=expected_version)
        _accept(opened)
        return close(opened, verb=ReviewVerb.APPROVE, status=ReviewStatus.APPROVED)


def reject(
    principal: Principal, review_id: uuid.UUID, *, rationale: str = "", expected_version: int | None = None
) -> Review:
    """Say no: the fact was never true, and what was said up to now does not bring it back.

    What was said of somebody whom nobody could name is not remembered. Raises as :func:`approve`.
    """
    with account_transaction(principal.account_id):
        if _asks_for_promotion(principal, review_id):
            return promotions.reject_review(
                principal, review_id, rationale=rationale, expected_version=expected_version
            )
        opened = open_review(principal, review_id, rationale=rationale, expected_version=expected_version)
        if opened.fact is not None:
            _refuse(opened)
        return close(opened, verb=ReviewVerb.REJECT, status=ReviewStatus.REJECTED)


def end(
    principal: Principal, review_id: uuid.UUID, *, rationale: str = "", expected_version: int | None = None
) -> Review:
    """Say of a fact that had to be confirmed that it was true until now.

    Raises as :func:`approve`, and ``DomainError`` (``verb_unfit``) for other kinds of reviews.
    """
    with account_transaction(principal.account_id):
        opened = open_review(principal, review_id, rationale=rationale, expected_version=expected_version)
        fact = opened.fact
        if opened.review.kind != ReviewKind.REVALIDATION or fact is None:
            raise _unfit("Only what had to be confirmed can have ended.")
        _check_waits(opened)
        over = fact.valid_to if fact.valid_to is not None and fact.valid_to <= opened.at else opened.at
        lifecycle.transition(
            fact.id,
            account_id=fact.account_id,
            to=Status.EXPIRED,
            action="review.ended",
            changes={"valid_to": max(over, fact.valid_from or over)},
            **opened.by,
        )
        _withdraw_others(opened)
        return close(opened, verb=ReviewVerb.END, status=ReviewStatus.REJECTED)


def edit(
    principal: Principal,
    review_id: uuid.UUID,
    *,
    statement: str,
    value: Mapping[str, Any] | None = None,
    rationale: str = "",
    expected_version: int | None = None,
) -> Review:
    """Say it better: what waited makes room for a new fact in the person's words, which goes through the gates.

    ``value`` replaces the value of the claim; ``None`` leaves it. Whoever edits does not decide about the new fact, if
    a person has to. Raises as :func:`approve`, and ``DomainError``: ``verb_unfit``, ``statement_missing``,
    ``edit_changes_nothing``; ``Conflicting`` (``suppressed``) for what may not be said again.
    """
    with account_transaction(principal.account_id):
        opened = open_review(principal, review_id, rationale=rationale, expected_version=expected_version)
        if opened.fact is None or is_second_look(opened.review):
            raise _unfit("Only a fact that waits for a person can be said in other words.")
        _check_waits(opened)
        review_rewording.reword(opened, opened.fact, statement=statement, value=value)
        _withdraw_others(opened)
        return close(opened, verb=ReviewVerb.EDIT, status=ReviewStatus.APPROVED)


def merge(
    principal: Principal,
    review_id: uuid.UUID,
    *,
    into: uuid.UUID,
    rationale: str = "",
    expected_version: int | None = None,
) -> Review:
    """Say that a waiting fact and ``into``, of the same subject and scope, say the same: that one gets its evidence.

    Raises as :func:`approve`, and ``DomainError`` (``verb_unfit``), ``NotFound`` (``fact_not_found``) and
    ``Conflicting`` (``merge_target_unfit``).
    """
    with account_transaction(principal.account_id):
        opened = open_review(principal, review_id, rationale=rationale, expected_version=expected_version)
        if opened.fact is None or is_second_look(opened.review) or opened.fact.directive:
            raise _unfit("Only a fact that waits for a person can be merged.")
        _check_waits(opened)
        review_rewording.join(opened, opened.fact, into=into)
        _withdraw_others(opened)
        return close(opened, verb=ReviewVerb.MERGE, status=ReviewStatus.APPROVED)


def name_subject(principal: Principal, review_id: uuid.UUID, *, subject_key: str, rationale: str = "") -> Review:
    """Say who is meant by a statement: it becomes a fact about that subject, through planning and gates.

    Raises as :func:`approve`, ``DomainError`` (``verb_unfit``), ``NotFound`` (``subject_not_found``) and
    ``Conflicting`` (``suppressed``).
    """
    with account_transaction(principal.account_id):
        subject = get_subject(principal.account_id, key=subject_key.strip())
        opened = open_review(principal, review_id, rationale=rationale, another_subject=subject.id if subject else None)
        if opened.review.kind != ReviewKind.UNRESOLVED_SUBJECT or opened.review.event is None:
            raise _unfit("Nobody has to be named here.")
        if subject is None:
            raise NotFound("No subject goes by that key.", code="subject_not_found", field="subject")
        review_rewording.attribute(opened, opened.review.event, subject=subject)
        return close(opened, verb=ReviewVerb.NAME_SUBJECT, status=ReviewStatus.APPROVED)


def defer(
    principal: Principal,
    review_id: uuid.UUID,
    *,
    until: datetime,
    rationale: str = "",
    expected_version: int | None = None,
) -> Review:
    """Decide later: the review waits as before, is in no queue until ``until`` and is not due before.

    Raises as :func:`approve`, and ``DomainError`` (``invalid_date``) for a time that is over.
    """
    with account_transaction(principal.account_id):
        opened = open_review(principal, review_id, rationale=rationale, expected_version=expected_version)
        if until <= opened.at:
            raise DomainError("A date in the future is needed.", code="invalid_date", field="until")
        review = opened.review
        opened.detail = {
            name: moment.isoformat() if moment else None
            for name, moment in (("due_at", review.due_at), ("deferred_until", review.deferred_until))
        }
        review.deferred_until, review.due_at = until, max(until, review.due_at or until)
        review.save(update_fields=["deferred_until", "due_at"])
        keep(opened, verb=ReviewVerb.DEFER)
        return review


def withdraw_for(fact_ids: list[uuid.UUID], *, account_id: uuid.UUID, actor: Actor) -> int:
    """Close the pending reviews of facts that are gone, so that nobody is asked about them; returns how many."""
    promotion_records.close_open(
        fact_ids, account_id=account_id, status=PromotionStatus.CANCELLED, actor=actor, group=new_id()
    )
    return Review.objects.filter(account_id=account_id, fact_id__in=fact_ids, status=ReviewStatus.PENDING).update(
        status=ReviewStatus.WITHDRAWN, decided_by=actor.as_json(), decided_at=now()
    )


def resume_for(fact: Fact) -> None:
    """Ask again about a fact that has come back to wait for a person, where its review was withdrawn meanwhile."""
    kind = {
        Status.PROVISIONAL: ReviewKind.NEW_FACT,
        Status.HELD: ReviewKind.DIRECTIVE if fact.directive else ReviewKind.NEW_FACT,
        Status.DISPUTED: ReviewKind.CONTEST,
        Status.NEEDS_REVALIDATION: ReviewKind.REVALIDATION,
    }.get(Status(fact.status))
    last = Review.objects.filter(account_id=fact.account_id, fact=fact, kind=kind).order_by("-id").first()
    if last is not None and last.status == ReviewStatus.WITHDRAWN:
        last.status, last.decided_by, last.decided_at = ReviewStatus.PENDING, None, None
        last.escalated_at = None
        last.save(update_fields=["status", "decided_by", "decided_at", "escalated_at"])


def _accept(opened: Opened) -> None:
    review, fact = opened.review, opened.fact
    if fact is None:
        raise DomainError("Say who is meant.", code="subject_missing", field="subject")
    if is_second_look(review):
        return
    _check_waits(opened)
    match review.kind:
        case ReviewKind.CONTEST:
            _refuse_contest(opened)
        case ReviewKind.REVALIDATION:
            lifecycle.transition(
                fact.id,
                account_id=fact.account_id,
                to=Status.ACTIVE,
                action="review.confirmed",
                changes={**revalidation_of(fact), "last_reinforced_at": opened.at},
                **opened.by,
            )
        case _:
            outcomes = dict.fromkeys(Gate.values, (GateOutcome.PASS, ("approved",)))
            record_gates(fact, outcomes=outcomes, cell={"review": str(review.id)}, actor=opened.actor)
            place_waiting(fact, action="review.approved", **opened.by)


def _check_waits(opened: Opened) -> None:
    """Raise ``Conflicting`` (``stale_version``) where the fact became something else, although that was seen."""
    if opened.fact.status not in _WAITS_IN[opened.review.kind]:
        raise Conflicting("The fact does not wait for this any more.", code="stale_version", field="version")


def _refuse(opened: Opened) -> None:
    """Reject the fact; one that has ended meanwhile, and was seen so, stays ended, and nobody is asked any more."""
    fact = opened.fact
    if fact.status in ENDED:
        return
    if opened.review.kind in _ASKS_THE_GATES:
        outcomes = {Gate.A: (GateOutcome.REJECT, ("rejected",)), Gate.B: (GateOutcome.WAIT, ("rejected",))}
        record_gates(fact, outcomes=outcomes, cell={"review": str(opened.review.id)}, actor=opened.actor)
    fact = lifecycle.transition(
        fact.id, account_id=fact.account_id, to=Status.REJECTED, action="review.rejected", **opened.by
    )
    suppressions.suppress(fact, cause=SuppressionCause.REJECTED, actor=opened.actor, evidence_until=now())
    _withdraw_others(opened)


def _refuse_contest(opened: Opened) -> None:
    """Give a contested fact back the status and interval that it had before."""
    fact = opened.fact
    before = FactRevision.objects.filter(
        account_id=fact.account_id, fact=fact, version__lt=opened.review.fact_version
    ).order_by("-version")
    bring_back(fact, to_version=before.values_list("version", flat=True)[0], action="contest.refused", **opened.by)


def _withdraw_others(opened: Opened) -> None:
    """Close what else is asked about the fact, and note it for an undo."""
    fact = opened.fact
    others = Review.objects.filter(account_id=fact.account_id, fact=fact, status=ReviewStatus.PENDING).exclude(
        pk=opened.review.pk
    )
    asked = others.exclude(kind=ReviewKind.PROMOTION).values_list("id", flat=True)
    opened.detail["withdrawn"] = sorted(str(pk) for pk in asked)
    promotion_records.close_open(
        [fact.id],
        account_id=fact.account_id,
        status=PromotionStatus.CANCELLED,
        actor=opened.actor,
        group=opened.group,
    )
    others.filter(pk__in=opened.detail["withdrawn"]).update(
        status=ReviewStatus.WITHDRAWN, decided_by=opened.actor.as_json(), decided_at=now()
    )


def _asks_for_promotion(principal: Principal, review_id: uuid.UUID) -> bool:
    asked = Review.objects.filter(account_id=principal.account_id, pk=review_id)
    return asked.filter(kind=ReviewKind.PROMOTION).exists()


def _unfit(message: str) -> DomainError:
    return DomainError(message, code="verb_unfit", field="verb")
