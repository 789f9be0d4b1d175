"""Letting a fact be known in a scope above its own: asked for by one curator there, decided by another.

What is personal needs its subject's yes first. The fact stays as it is; the target gets a copy with the same evidence,
which goes when the subject says no, or when the fact itself goes.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db.models import Q, QuerySet

from facts.actors import Actor
from facts.audience import visible_to
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.ids import new_id
from facts.models import Fact, Scope
from facts.models.evidence import Withheld
from facts.status_graph import FINAL
from facts.tenancy import account_transaction, ancestor_paths, normalise_path
from facts.vocabulary import Sensitivity, Status
from governance import placement
from governance.access import (
    Principal,
    all_readable_scopes,
    curated_scopes,
    has_role,
    is_read_by_curators,
    resolve_reader,
)
from governance.gating import gates
from governance.models import Promotion, PromotionStatus, Review, ReviewKind, ReviewStatus, Role
from governance.provenance import put_in_by
from governance.reviewing.reviewed import is_unchanged
from governance.sharing import consent_records, promotion_records
from governance.sharing.consent_rule import consent_needed
from governance.sharing.consents import require_person

#: Statuses of a copy beside which another one would be too many.
_STILL_THERE = frozenset(
    {Status.CANDIDATE, Status.HELD, Status.ACTIVE, Status.NEEDS_REVALIDATION, Status.DISPUTED, Status.DISABLED}
)


def visible_promotions(principal: Principal) -> QuerySet[Promotion]:
    """Return the requests that a person may see: to scopes where they decide, their own, and those about them."""
    targets = [scope.id for scope in curated_scopes(principal, all_readable_scopes(principal))]
    return Promotion.objects.filter(
        Q(target_id__in=targets)
        | Q(requested_by__membership_id=str(principal.membership_id))
        | Q(fact__subject_id=principal.subject_id),
        account_id=principal.account_id,
    ).select_related("fact__subject", "fact__scope", "target", "review")


def request_promotion(principal: Principal, *, fact_id: uuid.UUID, target: str, reason: str) -> Promotion:
    """Ask for a fact to be known at ``target``, a scope above its own; asks its subject where that is needed.

    Raises ``Refused`` (``human_required``, ``forbidden_scope``), ``NotFound`` (``fact_not_found``), ``DomainError``
    (``reason_missing``, ``not_above``, ``not_promotable``) and ``Conflicting`` (``promotion_pending``,
    ``already_promoted``, ``consent_refused``).
    """
    require_person(principal)
    if not reason.strip():
        raise DomainError("Say why others should know it.", code="reason_missing", field="reason")
    path = normalise_path(target)
    with account_transaction(principal.account_id):
        fact = _fact_seen(principal, fact_id)
        if path not in ancestor_paths(fact.scope.path):
            raise DomainError("Knowledge moves up: name a scope above the fact's.", code="not_above", field="target")
        _require_curator(principal, path)
        scope = Scope.objects.get(account_id=principal.account_id, path=path)
        consent_records.lock_places(fact, scope.id)
        fact.refresh_from_db()
        _check_promotable(fact)
        _check_not_there(fact, scope)
        group = new_id()
        if needs_consent(fact, scope):
            consent = consent_records.ask(fact, target_id=scope.id, actor=principal.actor, group=group)
            if consent.status in consent_records.REFUSED:
                raise Conflicting("Its subject has said no.", code="consent_refused")
        return _open(fact, scope, reason=reason.strip()[:500], actor=principal.actor, group=group)


def cancel(principal: Principal, promotion_id: uuid.UUID) -> Promotion:
    """Take a request back; only who made it can. Raises as :func:`approve`, and ``Refused`` (``not_requester``)."""
    with account_transaction(principal.account_id):
        promotion = _seen(principal, promotion_id)
        if not _asked_by(promotion, principal):
            raise Refused("Somebody else asked for this.", code="not_requester")
        promotion = _locked(promotion)
        return promotion_records.close(
            promotion,
            PromotionStatus.CANCELLED,
            review_status=ReviewStatus.WITHDRAWN,
            actor=principal.actor,
            group=new_id(),
        )


def approve(principal: Principal, promotion_id: uuid.UUID, *, rationale: str = "") -> Promotion:
    """Say yes as a second curator of the target: both gates pass, and a copy is placed there.

    Raises ``Refused`` (``human_required``, ``forbidden_scope``, ``own_request``), ``NotFound``
    (``promotion_not_found``) and ``Conflicting`` (``promotion_decided``, ``stale_version``, ``consent_missing``,
    ``already_known``, ``already_promoted``, ``suppressed``).
    """
    with account_transaction(principal.account_id):
        promotion, actor = _decided_by(principal, promotion_id)
        fact = promotion.fact
        if not is_unchanged(fact, since=promotion.fact_version):
            raise Conflicting("What you were asked about has changed.", code="stale_version", field="version")
        _check_promotable(fact)
        _check_not_copied(fact, promotion.target)
        if needs_consent(fact, promotion.target) and not consent_records.has_agreed(
            fact, target_id=promotion.target_id
        ):
            raise Conflicting("Its subject has not agreed to this yet.", code="consent_missing")
        group = new_id()
        cell = {"promotion": str(promotion.id), "review": str(promotion.review_id)}
        copy = placement.place_copy(
            fact, target=promotion.target, cell=cell, actor=actor, reason=rationale, group=group
        )
        return promotion_records.close(
            promotion,
            PromotionStatus.APPROVED,
            review_status=ReviewStatus.APPROVED,
            actor=actor,
            group=group,
            rationale=rationale,
            copy=copy,
        )


def reject(principal: Principal, promotion_id: uuid.UUID, *, rationale: str = "") -> Promotion:
    """Say no as a second curator of the target; the fact stays what it is. Raises as :func:`approve`."""
    with account_transaction(principal.account_id):
        promotion, actor = _decided_by(principal, promotion_id)
        return promotion_records.close(
            promotion,
            PromotionStatus.REJECTED,
            review_status=ReviewStatus.REJECTED,
            actor=actor,
            group=new_id(),
            rationale=rationale,
        )


def approve_review(
    principal: Principal, review_id: uuid.UUID, *, rationale: str = "", expected_version: int | None = None
) -> Review:
    """Approve the promotion that a review of the queue asks about; as :func:`approve`."""
    promotion_id = _reviewed(principal, review_id, expected_version)
    return approve(principal, promotion_id, rationale=rationale).review


def reject_review(
    principal: Principal, review_id: uuid.UUID, *, rationale: str = "", expected_version: int | None = None
) -> Review:
    """Reject the promotion that a review of the queue asks about; as :func:`reject`."""
    promotion_id = _reviewed(principal, review_id, expected_version)
    return reject(principal, promotion_id, rationale=rationale).review


def _reviewed(principal: Principal, review_id: uuid.UUID, expected_version: int | None) -> uuid.UUID:
    """Return the promotion behind a review; ``expected_version``: that of the fact, as it was shown."""
    with account_transaction(principal.account_id):
        promotion = Promotion.objects.filter(account_id=principal.account_id, review_id=review_id).first()
        if promotion is None:
            raise NotFound("There is no such review.", code="review_not_found")
        if expected_version is not None and promotion.fact_version != expected_version:
            raise Conflicting("What you reviewed has changed.", code="stale_version", field="version")
        return promotion.id


def _fact_seen(principal: Principal, fact_id: uuid.UUID) -> Fact:
    """Return a fact that the person may read: as its curator, its subject, or by the audience rule."""
    fact = (
        Fact.objects.filter(account_id=principal.account_id, pk=fact_id)
        .exclude(status__in=[*FINAL, Status.DISABLED])
        .select_related("scope", "subject")
        .first()
    )
    if fact is None or not _sees(principal, fact):
        raise NotFound("There is no such fact.", code="fact_not_found", field="fact_id")
    return fact


def _sees(principal: Principal, fact: Fact) -> bool:
    if fact.subject_id == principal.subject_id:
        return True
    if is_read_by_curators(fact) and has_role(principal, fact.scope.path, Role.CURATOR):
        return True
    readable = Fact.objects.filter(visible_to(resolve_reader(principal)), pk=fact.pk, status=Status.ACTIVE)
    return has_role(principal, fact.scope.path, Role.READER) and readable.exists()


def _require_curator(principal: Principal, path: str) -> None:
    if not has_role(principal, path, Role.CURATOR):
        raise Refused("Only curators of that scope may do this.", code="forbidden_scope", field="target")


def _check_promotable(fact: Fact) -> None:
    over = fact.valid_to is not None and fact.valid_to <= now()
    expired = fact.expires_at is not None and fact.expires_at <= now()
    if fact.status != Status.ACTIVE or fact.withheld != Withheld.NOTHING or over or expired:
        raise DomainError("Only what is known and undisputed moves up.", code="not_promotable", field="fact_id")
    if fact.sensitivity == Sensitivity.RESTRICTED:
        raise DomainError("What is restricted moves nowhere.", code="not_promotable", field="fact_id")
    if promotion_records.is_copy(fact):
        raise DomainError("It is a copy; promote what it was made of.", code="not_promotable", field="fact_id")


def _check_not_there(fact: Fact, scope: Scope) -> None:
    waiting = Promotion.objects.filter(account_id=fact.account_id, fact=fact, status=PromotionStatus.REQUESTED)
    if waiting.exists():
        raise Conflicting("Somebody has asked for this fact already.", code="promotion_pending", field="fact_id")
    _check_not_copied(fact, scope)


def _check_not_copied(fact: Fact, scope: Scope) -> None:
    copies = promotion_records.copies_of(fact.account_id, [fact.id])
    if any(copy.scope_id == scope.id and copy.status in _STILL_THERE for copy in copies):
        raise Conflicting("The fact is known there already.", code="already_promoted", field="target")


def needs_consent(fact: Fact, scope: Scope) -> bool:
    """Tell whether the fact's subject has to agree to its being known in a scope above."""
    return consent_needed(subject_kind=fact.subject.kind, sensitivity=fact.sensitivity, level=placement.level_at(scope))


def _open(fact: Fact, scope: Scope, *, reason: str, actor: Actor, group: uuid.UUID) -> Promotion:
    review = Review.objects.create(
        account_id=fact.account_id,
        kind=ReviewKind.PROMOTION,
        fact=fact,
        fact_version=fact.version,
        reasons=["promotion_requested"],
        requested_by=actor.as_json(),
        due_at=now() + timedelta(days=gates.REVIEW_DUE_DAYS),
    )
    promotion = Promotion.objects.create(
        account_id=fact.account_id,
        fact=fact,
        fact_version=fact.version,
        target=scope,
        reason=reason,
        review=review,
        requested_by=actor.as_json(),
    )
    promotion_records.record(promotion, action="promotion.requested", actor=actor, group=group)
    return promotion


def _seen(principal: Principal, promotion_id: uuid.UUID) -> Promotion:
    require_person(principal)
    promotion = visible_promotions(principal).filter(pk=promotion_id).first()
    if promotion is None:
        raise NotFound("There is no such promotion.", code="promotion_not_found")
    return promotion


def _decided_by(principal: Principal, promotion_id: uuid.UUID) -> tuple[Promotion, Actor]:
    """Check who decides, lock everything that the decision touches, and return the request as it is then."""
    promotion, actor = decided_by(principal, promotion_id)
    return _locked(promotion), actor


def decided_by(principal: Principal, promotion_id: uuid.UUID) -> tuple[Promotion, Actor]:
    """Return a request that this person may decide, or have decided, about; raises as :func:`approve`."""
    promotion = _seen(principal, promotion_id)
    _require_curator(principal, promotion.target.path)
    if _asked_by(promotion, principal) or put_in_by(principal.account_id, [promotion.fact_id], principal.actor):
        raise Refused("Nobody decides about what they asked for or put in themselves.", code="own_request")
    return promotion, principal.actor


def _locked(promotion: Promotion) -> Promotion:
    consent_records.lock_places(promotion.fact, promotion.target_id)
    promotion = (
        Promotion.objects.select_for_update(of=("self",))
        .select_related("fact__subject", "fact__scope", "fact__account", "target")
        .get(account_id=promotion.account_id, pk=promotion.pk)
    )
    if promotion.status != PromotionStatus.REQUESTED:
        raise Conflicting(f"The promotion is {promotion.status} already.", code="promotion_decided")
    return promotion


def _asked_by(promotion: Promotion, principal: Principal) -> bool:
    return promotion.requested_by.get("membership_id") == str(principal.membership_id)
