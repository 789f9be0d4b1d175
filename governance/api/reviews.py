"""The review queue over HTTP: what waits, approve, reject."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.clock import now
from facts.errors import NotFound, Refused
from facts.models import Fact
from facts.tenancy import account_transaction
from governance.access import Delegation, Principal
from governance.fields import optional_text, project_id_of
from governance.http import body_of, principal_of, query_of
from governance.idempotency import Answer, answer_once
from governance.models import Review, ReviewKind, ReviewStatus
from governance.pagination import PageFields, page, paging
from governance.reviewing import reviews
from governance.reviewing.review_queue import may_read_words, reviews_for

TAG = "reviews"


class ReviewQuery(PageFields):
    """Which reviews are listed."""

    status = serializers.ChoiceField(choices=ReviewStatus.choices, required=False, default=ReviewStatus.PENDING)
    kind = serializers.ChoiceField(choices=ReviewKind.choices, required=False)


class ReviewDecision(serializers.Serializer):
    """Why, and about which version of the fact."""

    rationale = optional_text(2000, "Kept with the decision.")
    version = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="The version of the fact that was looked at; by default the one that was asked about. When the fact "
        "is another one by now, the answer is 409 `stale_version`.",
    )


class ReviewShown(serializers.Serializer):
    """Something that waits, or waited, for a person."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=ReviewKind.choices)
    status = serializers.ChoiceField(choices=ReviewStatus.choices)
    scope = serializers.CharField()
    project_id = serializers.CharField()
    subject_id = serializers.CharField()
    fact_id = serializers.UUIDField(allow_null=True)
    fact_version = serializers.IntegerField(allow_null=True)
    event_id = serializers.UUIDField(allow_null=True)
    conflict_id = serializers.UUIDField(allow_null=True)
    statement = serializers.CharField(allow_null=True)
    level = serializers.CharField(allow_null=True)
    sensitivity = serializers.CharField(allow_null=True)
    reasons = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField(allow_null=True)
    age_seconds = serializers.IntegerField()
    decided_at = serializers.DateTimeField(allow_null=True)


class Reviews(serializers.Serializer):
    """One page of the queue."""

    reviews = ReviewShown(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ReviewDecided(serializers.Serializer):
    """What a decision did."""

    review_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=ReviewStatus.choices)
    fact_id = serializers.UUIDField(allow_null=True)
    fact_status = serializers.CharField(allow_null=True)
    decided_at = serializers.DateTimeField()


class ReviewsView(APIView):
    """The queue of those who decide."""

    @extend_schema(
        operation_id="reviews_list",
        summary="List reviews",
        description="Pending ones unless `status` says otherwise, oldest first, in the scopes where the caller "
        "decides. For people, and for keys with the delegation `resolve`.",
        tags=[TAG],
        parameters=[ReviewQuery],
        responses=Reviews,
    )
    def get(self, request: Request) -> Response:
        """Return one page of the queue."""
        principal = _decider(request)
        query = query_of(request, ReviewQuery)
        with account_transaction(principal.account_id):
            wanted = reviews_for(principal).filter(status=query["status"])
            if "kind" in query:
                wanted = wanted.filter(kind=query["kind"])
            found, next_cursor = page(wanted, listing="reviews", oldest_first=True, **paging(query))
            body = {"reviews": [_shown(principal, review) for review in found], "next_cursor": next_cursor}
        return Response(body)


class ApproveView(APIView):
    """Accepting what waits."""

    @extend_schema(
        operation_id="reviews_approve",
        summary="Approve a review",
        description="Both gates pass, and the fact is planned again and placed.",
        tags=[TAG],
        request=ReviewDecision,
        responses=ReviewDecided,
    )
    def post(self, request: Request, review_id: uuid.UUID) -> Response:
        """Approve."""
        return _decide(request, review_id, reviews.approve)


class RejectView(APIView):
    """Refusing what waits."""

    @extend_schema(
        operation_id="reviews_reject",
        summary="Reject a review",
        description="The fact never becomes current; what was said up to now does not bring it back.",
        tags=[TAG],
        request=ReviewDecision,
        responses=ReviewDecided,
    )
    def post(self, request: Request, review_id: uuid.UUID) -> Response:
        """Reject."""
        return _decide(request, review_id, reviews.reject)


def _decider(request: Request) -> Principal:
    """Return the caller if it can decide anything at all."""
    principal = principal_of(request)
    if not principal.is_person and Delegation.RESOLVE not in principal.delegated:
        raise Refused("A person has to decide this.", code="human_required")
    return principal


def _decide(request: Request, review_id: uuid.UUID, verb: Callable[..., Review]) -> Response:
    principal = _decider(request)
    body = body_of(request, ReviewDecision)
    rationale, seen = body.get("rationale") or "", body.get("version")

    def work() -> Answer:
        if not reviews_for(principal).filter(pk=review_id).exists():
            raise NotFound("There is no such review.", code="review_not_found")
        review = verb(principal, review_id, rationale=rationale, expected_version=seen)
        fact = Fact.objects.filter(account_id=principal.account_id, pk=review.fact_id).first()
        return 200, {
            "review_id": review.id,
            "status": review.status,
            "fact_id": review.fact_id,
            "fact_status": fact.status if fact else None,
            "decided_at": review.decided_at,
        }

    return answer_once(request, work)


def _shown(principal: Principal, review: Review) -> dict[str, Any]:
    fact, about = review.fact, review.fact or review.event
    return {
        "id": review.id,
        "kind": review.kind,
        "status": review.status,
        "scope": about.scope.path,
        "project_id": project_id_of(about.scope.path),
        "subject_id": about.subject.key,
        "fact_id": review.fact_id,
        "fact_version": review.fact_version,
        "event_id": review.event_id,
        "conflict_id": review.conflict_set_id,
        "statement": fact.statement if fact and may_read_words(principal, review, fact) else None,
        "level": fact.level if fact else None,
        "sensitivity": fact.sensitivity if fact else None,
        "reasons": review.reasons,
        "created_at": review.created_at,
        "due_at": review.due_at,
        "age_seconds": int((now() - review.created_at).total_seconds()),
        "decided_at": review.decided_at,
    }
