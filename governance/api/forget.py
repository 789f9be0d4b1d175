"""Forgetting over HTTP: hide a fact or all about a subject, and lift that again."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.errors import DomainError, NotFound, Refused
from governance import forgetting
from governance.access import Delegation, Principal
from governance.fields import IDENTIFIER_LENGTH, ScopeFields, optional_text
from governance.http import body_of, principal_of, subject_named
from governance.idempotency import Answer, answer_once
from governance.models import ForgetMode, ForgetReceipt

TAG = "forget"


class ForgetAsked(ScopeFields):
    """What is to be forgotten: one fact, or all about a subject, within the scope that is named, if any."""

    scope_required = False

    fact_id = serializers.UUIDField(required=False, allow_null=True)
    subject_id = optional_text(IDENTIFIER_LENGTH, "Key of the subject.")
    mode = serializers.ChoiceField(choices=ForgetMode.choices, required=False, default=ForgetMode.DISABLE)
    reason = optional_text(500)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for exactly one target, and for what this system can do."""
        attrs = super().validate(attrs)
        if bool(attrs.get("fact_id")) == bool(attrs.get("subject_id")):
            raise DomainError("Name either a fact_id or a subject_id.", code="invalid_forget_scope", field="fact_id")
        if attrs["mode"] == ForgetMode.DELETE:
            raise DomainError(
                "Erasure is not available yet; mode 'disable' hides reversibly.", code="unsupported_mode", field="mode"
            )
        return attrs


class Forgotten(serializers.Serializer):
    """The receipt. ``scope`` tells whether it was about a fact or a subject."""

    status = serializers.ChoiceField(choices=["forgotten"])
    mode = serializers.ChoiceField(choices=ForgetMode.choices)
    scope = serializers.ChoiceField(choices=["fact", "subject"])
    forget_id = serializers.UUIDField()
    facts_disabled = serializers.IntegerField()
    reviews_withdrawn = serializers.IntegerField()
    facts_deleted = serializers.IntegerField()
    conflict_sets_deleted = serializers.IntegerField()
    events_deleted = serializers.IntegerField()
    traces_deleted = serializers.IntegerField()


class LiftAsked(serializers.Serializer):
    """Why."""

    reason = optional_text(500)


class Lifted(serializers.Serializer):
    """What came back; ``in_conflict`` names facts whose claim another current fact makes by now: people decide."""

    status = serializers.ChoiceField(choices=["lifted"])
    forget_id = serializers.UUIDField()
    facts_enabled = serializers.IntegerField()
    in_conflict = serializers.ListField(child=serializers.UUIDField())
    lifted_at = serializers.DateTimeField()


class ForgetView(APIView):
    """Hiding what is known."""

    @extend_schema(
        operation_id="forget_create",
        summary="Forget a fact or a subject",
        description="`disable` hides facts and the passages they cite from every reader, keeps them from being "
        "extracted again, and can be lifted.",
        tags=[TAG],
        request=ForgetAsked,
        responses=Forgotten,
    )
    def post(self, request: Request) -> Response:
        """Forget and return the receipt."""
        principal = _asker(request)
        values = body_of(request, ForgetAsked)
        return answer_once(request, lambda: _forget(principal, values))


class LiftView(APIView):
    """Undoing a forgetting."""

    @extend_schema(
        operation_id="forget_lift",
        summary="Lift a forgetting",
        tags=[TAG],
        request=LiftAsked,
        responses=Lifted,
    )
    def post(self, request: Request, forget_id: uuid.UUID) -> Response:
        """Bring back what the receipt names."""
        principal = _asker(request)
        reason = body_of(request, LiftAsked).get("reason") or ""
        return answer_once(request, lambda: _lift(principal, forget_id, reason))


def _asker(request: Request) -> Principal:
    """Return the caller if it can forget anything at all; a key that cannot learns nothing about what there is."""
    principal = principal_of(request)
    if not principal.is_person and principal.subject_id is None and Delegation.FORGET not in principal.delegated:
        raise Refused("A person has to decide this.", code="human_required")
    return principal


def _forget(principal: Principal, values: dict[str, Any]) -> Answer:
    subject = subject_named(principal, values.get("subject_id"))
    if values.get("subject_id") and subject is None:
        raise NotFound("There is no such subject.", code="subject_not_found", field="subject_id")
    named = values["call_scope"]
    receipt = forgetting.disable(
        principal,
        fact_id=values.get("fact_id"),
        subject_id=subject.id if subject else None,
        within=named.path if named else None,
        reason=values.get("reason") or "",
    )
    return 200, {
        "status": "forgotten",
        "mode": receipt.mode,
        "scope": receipt.target,
        "forget_id": receipt.id,
        "facts_disabled": receipt.counters["facts_disabled"],
        "reviews_withdrawn": receipt.counters["reviews_withdrawn"],
        "facts_deleted": 0,
        "conflict_sets_deleted": 0,
        "events_deleted": 0,
        "traces_deleted": 0,
    }


def _lift(principal: Principal, forget_id: uuid.UUID, reason: str) -> Answer:
    receipt: ForgetReceipt = forgetting.enable(principal, forget_id, reason=reason)
    return 200, {
        "status": "lifted",
        "forget_id": receipt.id,
        "facts_enabled": receipt.counters["facts_enabled"],
        "in_conflict": receipt.counters["in_conflict"],
        "lifted_at": receipt.lifted_at,
    }
