"""What a person is asked about sharing what is personal, and their answers. For signed-in people only."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.tenancy import account_transaction
from facts.vocabulary import Status
from governance.access import Principal
from governance.fields import project_id_of
from governance.http import principal_of, query_of
from governance.idempotency import Answer, answer_once
from governance.models import Consent, ConsentChannel, ConsentStatus, Promotion
from governance.pagination import PageFields, page, paging
from governance.sharing import consents

TAG = "consents"

#: What is repeated to nobody, not even to its subject.
_WORDLESS = frozenset({Status.DISABLED, Status.REDACTED, Status.RETRACTED, Status.DELETED})


class ConsentQuery(PageFields):
    """Which consents are listed; all of the caller's unless ``status`` is given."""

    status = serializers.ChoiceField(choices=ConsentStatus.choices, required=False)


class ConsentShown(serializers.Serializer):
    """A question to the caller, with the answer if there is one."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=ConsentStatus.choices)
    fact_id = serializers.UUIDField()
    statement = serializers.CharField(allow_null=True, help_text="`null` for what was forgotten or withdrawn.")
    scope = serializers.CharField(help_text="Where the fact would be known.")
    project_id = serializers.CharField()
    reason = serializers.CharField(help_text="Why somebody wants it known there; empty where a gate asks.")
    requested_by = serializers.CharField()
    requested_at = serializers.DateTimeField()
    channel = serializers.CharField(
        help_text=f"How the answer came: {', '.join(f'`{channel}`' for channel in ConsentChannel.values)}; else empty."
    )
    verified = serializers.BooleanField(help_text="Whether it is certain that the caller answered.")
    decided_at = serializers.DateTimeField(allow_null=True)


class Consents(serializers.Serializer):
    """One page of the caller's consents."""

    consents = ConsentShown(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ConsentsView(APIView):
    """What the caller is asked, and what they have answered."""

    @extend_schema(
        operation_id="consents_list",
        summary="List my consents",
        description="Newest first. Only those about the signed-in person; keys get 403 `human_required`.",
        tags=[TAG],
        parameters=[ConsentQuery],
        responses=Consents,
    )
    def get(self, request: Request) -> Response:
        """Return one page."""
        principal = _person(request)
        query = query_of(request, ConsentQuery)
        with account_transaction(principal.account_id):
            wanted = own_consents(principal)
            if "status" in query:
                wanted = wanted.filter(status=query["status"])
            found, next_cursor = page(wanted, listing="consents", **paging(query))
            body = {"consents": consents_shown(found), "next_cursor": next_cursor}
        return Response(body)


class GrantView(APIView):
    """Agreeing."""

    @extend_schema(
        operation_id="consents_grant",
        summary="Grant a consent",
        description="As the subject itself, signed in: nobody consents for others, and a key for nobody.",
        tags=[TAG],
        request=None,
        responses=ConsentShown,
    )
    def post(self, request: Request, consent_id: uuid.UUID) -> Response:
        """Agree."""
        return _answered(request, consent_id, consents.grant)


class DenyView(APIView):
    """Not agreeing."""

    @extend_schema(
        operation_id="consents_deny",
        summary="Deny a consent",
        description="Counts at once. Of what was granted before, it is a withdrawal.",
        tags=[TAG],
        request=None,
        responses=ConsentShown,
    )
    def post(self, request: Request, consent_id: uuid.UUID) -> Response:
        """Refuse."""
        return _answered(request, consent_id, consents.refuse)


class WithdrawView(APIView):
    """No longer agreeing."""

    @extend_schema(
        operation_id="consents_withdraw",
        summary="Withdraw a consent",
        description="At any time, without a reason. Copies that were placed leave every reader at once, also history; "
        "what was seen by others where it was captured is for the subject alone. Of what was never granted, it is a "
        "denial.",
        tags=[TAG],
        request=None,
        responses=ConsentShown,
    )
    def post(self, request: Request, consent_id: uuid.UUID) -> Response:
        """Withdraw."""
        return _answered(request, consent_id, consents.refuse)


def _person(request: Request) -> Principal:
    principal = principal_of(request)
    consents.require_person(principal)
    return principal


def _answered(request: Request, consent_id: uuid.UUID, verb: Callable[..., Consent]) -> Response:
    principal = _person(request)

    def work() -> Answer:
        verb(principal, consent_id)
        return 200, consents_shown([own_consents(principal).get(pk=consent_id)])[0]

    return answer_once(request, work)


def own_consents(principal: Principal) -> QuerySet[Consent]:
    """Return what the caller is asked and has answered, with what it is about."""
    return Consent.objects.filter(account_id=principal.account_id, subject_id=principal.subject_id).select_related(
        "fact", "target"
    )


def consents_shown(found: Sequence[Consent]) -> list[dict[str, Any]]:
    """Return consents as the API tells them to whom they are asked of."""
    promotions = Promotion.objects.filter(fact_id__in=[consent.fact_id for consent in found]).order_by("id")
    asked = {(promotion.fact_id, promotion.target_id): promotion for promotion in promotions}
    return [_shown(consent, asked.get((consent.fact_id, consent.target_id))) for consent in found]


def _shown(consent: Consent, promotion: Promotion | None) -> dict[str, Any]:
    """``promotion``: the last one that asked for this."""
    return {
        "id": consent.id,
        "status": consent.status,
        "fact_id": consent.fact_id,
        "statement": None if consent.fact.status in _WORDLESS else consent.fact.statement,
        "scope": consent.target.path,
        "project_id": project_id_of(consent.target.path),
        "reason": promotion.reason if promotion else "",
        "requested_by": (promotion or consent).requested_by.get("name", ""),
        "requested_at": consent.requested_at,
        "channel": consent.channel,
        "verified": consent.verified,
        "decided_at": consent.decided_at,
    }
