"""Requests to let a fact be known higher up, over HTTP. For signed-in people only."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.errors import NotFound
from facts.tenancy import account_transaction
from facts.vocabulary import Sensitivity, Status
from governance.access import Principal, has_role
from governance.fields import SCOPE_LENGTH, optional_text, project_id_of
from governance.http import body_of, principal_of, query_of
from governance.idempotency import Answer, answer_once
from governance.models import Consent, ConsentStatus, Promotion, PromotionStatus, Role
from governance.pagination import PageFields, page, paging
from governance.sharing import consent_records, promotion_undo, promotions
from governance.sharing.consents import require_person

TAG = "promotions"

#: What is repeated to nobody.
_WORDLESS = frozenset({Status.DISABLED, Status.REDACTED, Status.RETRACTED, Status.DELETED})


class PromotionQuery(PageFields):
    """Which promotions are listed; all that the caller may see unless ``status`` is given."""

    status = serializers.ChoiceField(choices=PromotionStatus.choices, required=False)


class PromotionRequest(serializers.Serializer):
    """What should be known where, and why."""

    fact_id = serializers.UUIDField()
    target = serializers.CharField(max_length=SCOPE_LENGTH, help_text="Path of a scope above the fact's; `/` for all.")
    reason = serializers.CharField(max_length=500)


class PromotionDecision(serializers.Serializer):
    """Why."""

    rationale = optional_text(2000, "Kept with the decision.")


class PromotionShown(serializers.Serializer):
    """A request, and how far it has come."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=PromotionStatus.choices)
    fact_id = serializers.UUIDField()
    fact_version = serializers.IntegerField()
    statement = serializers.CharField(allow_null=True, help_text="For the target's curators and the subject.")
    subject_id = serializers.CharField()
    scope = serializers.CharField(help_text="Where the fact is.")
    target = serializers.CharField()
    target_project_id = serializers.CharField()
    reason = serializers.CharField()
    consent = serializers.ChoiceField(
        choices=ConsentStatus.choices, allow_null=True, help_text="`null` where none is needed."
    )
    consent_channel = serializers.CharField(help_text="`auto` where the account consents for everybody.")
    consent_unreached_at = serializers.DateTimeField(
        allow_null=True,
        help_text="Since when no way is left to bring the question to the subject: it waits until they sign in.",
    )
    review_id = serializers.UUIDField()
    copy_id = serializers.UUIDField(allow_null=True)
    requested_by = serializers.CharField()
    requested_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)


class Promotions(serializers.Serializer):
    """One page of promotions."""

    promotions = PromotionShown(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class PromotionsView(APIView):
    """The requests that concern the caller, and new ones."""

    @extend_schema(
        operation_id="promotions_list",
        summary="List promotions",
        description="Newest first: those to scopes where the caller is a curator, their own, and those about them.",
        tags=[TAG],
        parameters=[PromotionQuery],
        responses=Promotions,
    )
    def get(self, request: Request) -> Response:
        """Return one page."""
        principal = _person(request)
        query = query_of(request, PromotionQuery)
        with account_transaction(principal.account_id):
            wanted = promotions.visible_promotions(principal)
            if "status" in query:
                wanted = wanted.filter(status=query["status"])
            found, next_cursor = page(wanted, listing="promotions", **paging(query))
            body = {"promotions": [_shown(principal, each) for each in found], "next_cursor": next_cursor}
        return Response(body)

    @extend_schema(
        operation_id="promotions_create",
        summary="Request a promotion",
        description="For curators of the target. A personal fact about a person needs that person's consent, which is "
        "asked for; another curator of the target decides. The fact stays as it is.",
        tags=[TAG],
        request=PromotionRequest,
        responses={201: PromotionShown},
    )
    def post(self, request: Request) -> Response:
        """Ask."""
        principal = _person(request)
        asked = body_of(request, PromotionRequest)

        def work() -> Answer:
            made = promotions.request_promotion(principal, **asked)
            return 201, _found(principal, made.id)

        return answer_once(request, work)


class PromotionView(APIView):
    """One request."""

    @extend_schema(operation_id="promotions_get", summary="Show a promotion", tags=[TAG], responses=PromotionShown)
    def get(self, request: Request, promotion_id: uuid.UUID) -> Response:
        """Return it."""
        principal = _person(request)
        with account_transaction(principal.account_id):
            body = _found(principal, promotion_id)
        return Response(body)


class ApprovePromotionView(APIView):
    """Letting it be known there."""

    @extend_schema(
        operation_id="promotions_approve",
        summary="Approve a promotion",
        description="By a curator of the target other than the one who asked. Counts as both gate decisions and places "
        "a copy with the same evidence at the target. 409 `consent_missing` until the subject has agreed.",
        tags=[TAG],
        request=PromotionDecision,
        responses=PromotionShown,
    )
    def post(self, request: Request, promotion_id: uuid.UUID) -> Response:
        """Approve."""
        principal = _person(request)
        rationale = body_of(request, PromotionDecision).get("rationale") or ""

        def work() -> Answer:
            promotions.approve(principal, promotion_id, rationale=rationale)
            return 200, _found(principal, promotion_id)

        return answer_once(request, work)


class RejectPromotionView(APIView):
    """Not letting it be known there."""

    @extend_schema(
        operation_id="promotions_reject",
        summary="Reject a promotion",
        description="By a curator of the target other than the one who asked. The fact stays as it is.",
        tags=[TAG],
        request=PromotionDecision,
        responses=PromotionShown,
    )
    def post(self, request: Request, promotion_id: uuid.UUID) -> Response:
        """Reject."""
        principal = _person(request)
        rationale = body_of(request, PromotionDecision).get("rationale") or ""

        def work() -> Answer:
            promotions.reject(principal, promotion_id, rationale=rationale)
            return 200, _found(principal, promotion_id)

        return answer_once(request, work)


class CancelPromotionView(APIView):
    """Taking a request back."""

    @extend_schema(
        operation_id="promotions_cancel",
        summary="Cancel a promotion",
        description="By the person who asked, before it is decided.",
        tags=[TAG],
        request=None,
        responses=PromotionShown,
    )
    def post(self, request: Request, promotion_id: uuid.UUID) -> Response:
        """Cancel."""
        principal = _person(request)

        def work() -> Answer:
            promotions.cancel(principal, promotion_id)
            return 200, _found(principal, promotion_id)

        return answer_once(request, work)


class UndoPromotionView(APIView):
    """Taking an approval back."""

    @extend_schema(
        operation_id="promotions_undo",
        summary="Undo the approval of a promotion",
        description="By a curator of the target other than the one who asked, while nothing has built on it: the copy "
        "leaves every reader, what it superseded is what it was, and the request waits again.",
        tags=[TAG],
        request=PromotionDecision,
        responses=PromotionShown,
    )
    def post(self, request: Request, promotion_id: uuid.UUID) -> Response:
        """Undo."""
        principal = _person(request)
        rationale = body_of(request, PromotionDecision).get("rationale") or ""

        def work() -> Answer:
            promotion_undo.undo(principal, promotion_id, rationale=rationale)
            return 200, _found(principal, promotion_id)

        return answer_once(request, work)


def _person(request: Request) -> Principal:
    principal = principal_of(request)
    require_person(principal)
    return principal


def _found(principal: Principal, promotion_id: uuid.UUID) -> dict[str, Any]:
    promotion = promotions.visible_promotions(principal).filter(pk=promotion_id).first()
    if promotion is None:
        raise NotFound("There is no such promotion.", code="promotion_not_found")
    return _shown(principal, promotion)


def _shown(principal: Principal, promotion: Promotion) -> dict[str, Any]:
    fact = promotion.fact
    consent: Consent | None = consent_records.consent_of(fact, target_id=promotion.target_id)
    return {
        "id": promotion.id,
        "status": promotion.status,
        "fact_id": fact.id,
        "fact_version": promotion.fact_version,
        "statement": fact.statement if _may_read(principal, promotion) else None,
        "subject_id": fact.subject.key,
        "scope": fact.scope.path,
        "target": promotion.target.path,
        "target_project_id": project_id_of(promotion.target.path),
        "reason": promotion.reason,
        "consent": consent.status if consent else None,
        "consent_channel": consent.channel if consent else "",
        "consent_unreached_at": consent.unreached_at if consent and consent.status == ConsentStatus.PENDING else None,
        "review_id": promotion.review_id,
        "copy_id": promotion.copy_id,
        "requested_by": promotion.requested_by.get("name", ""),
        "requested_at": promotion.requested_at,
        "due_at": promotion.review.due_at,
        "closed_at": promotion.closed_at,
    }


def _may_read(principal: Principal, promotion: Promotion) -> bool:
    """The subject reads what is asked about it, and whoever decides what they decide about, while it is asked."""
    fact = promotion.fact
    if fact.status in _WORDLESS or fact.sensitivity == Sensitivity.RESTRICTED:
        return False
    if fact.subject_id == principal.subject_id:
        return True
    decides = has_role(principal, promotion.target.path, Role.CURATOR)
    return decides and promotion.status in {PromotionStatus.REQUESTED, PromotionStatus.APPROVED}
