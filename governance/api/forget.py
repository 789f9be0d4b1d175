"""Forgetting over HTTP: hide a fact or all about a subject and lift that again, or erase it for good."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.erasure import ErasureMode
from facts.errors import DomainError, NotFound, Refused
from facts.tenancy import get_subject
from governance import erasing, forgetting
from governance.access import Delegation, Principal
from governance.fields import IDENTIFIER_LENGTH, ScopeFields, optional_text
from governance.http import body_of, principal_of
from governance.idempotency import Answer, answer_once
from governance.models import ForgetMode, ForgetReceipt

TAG = "forget"


class ErasureAsked(ScopeFields):
    """What is to be erased: one fact, or a subject, within the scope that is named, if any."""

    scope_required = False

    fact_id = serializers.UUIDField(required=False, allow_null=True)
    subject_id = optional_text(IDENTIFIER_LENGTH, "Key of the subject.")
    erasure = serializers.ChoiceField(
        choices=[mode.value for mode in ErasureMode],
        required=False,
        default=ErasureMode.PROPORTIONATE.value,
        help_text="Of a subject: whether facts about others that nobody else told are withdrawn, or erased as well.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for exactly one target."""
        attrs = super().validate(attrs)
        if bool(attrs.get("fact_id")) == bool(attrs.get("subject_id")):
            raise DomainError("Name either a fact_id or a subject_id.", code="invalid_forget_scope", field="fact_id")
        return attrs


class ForgetAsked(ErasureAsked):
    """What is to be forgotten, and how. Of a deletion the reason is not kept: it could name what goes."""

    mode = serializers.ChoiceField(choices=ForgetMode.choices, required=False, default=ForgetMode.DISABLE)
    reason = optional_text(500)


class ErasureSearch(serializers.Serializer):
    """The search for the erased words in all tables; ``left``: rows, by table, in which others said them too."""

    tables = serializers.IntegerField()
    words = serializers.IntegerField()
    left = serializers.DictField(child=serializers.IntegerField())


class Erased(serializers.Serializer):
    """What each store lost, and what was found afterwards."""

    erasure = serializers.ChoiceField(choices=[mode.value for mode in ErasureMode])
    facts_withdrawn = serializers.IntegerField()
    facts_released = serializers.IntegerField()
    events_shortened = serializers.IntegerField()
    stores = serializers.DictField(child=serializers.IntegerField())
    search = ErasureSearch()
    statement_hashes = serializers.ListField(child=serializers.CharField())


class ErasurePreview(serializers.Serializer):
    """What an erasure would do now; ``stores``: rows that would lose something, beside those that only repeat words."""

    facts_deleted = serializers.IntegerField()
    facts_withdrawn = serializers.IntegerField()
    facts_released = serializers.IntegerField()
    events_erased = serializers.IntegerField()
    events_shortened = serializers.IntegerField()
    stores = serializers.DictField(child=serializers.IntegerField())


class Forgotten(serializers.Serializer):
    """The receipt. ``scope`` tells whether it was about a fact or a subject; ``erased`` is null unless it deleted."""

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
    erased = Erased(allow_null=True)


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
        "extracted again, and can be lifted. `delete` removes the content from every store for good, and keeps it "
        "from being extracted again; tombstones, counts and keyed hashes stay.",
        tags=[TAG],
        request=ForgetAsked,
        responses=Forgotten,
    )
    def post(self, request: Request) -> Response:
        """Forget and return the receipt."""
        principal = _asker(request)
        values = body_of(request, ForgetAsked)
        return answer_once(request, lambda: _forget(principal, values))


class PreviewView(APIView):
    """What an erasure would take."""

    @extend_schema(
        operation_id="forget_preview",
        summary="Preview an erasure",
        description="Counts what `POST /v1/forget` with mode `delete` would remove now. Changes nothing.",
        tags=[TAG],
        request=ErasureAsked,
        responses=ErasurePreview,
    )
    def post(self, request: Request) -> Response:
        """Return the counts."""
        principal = _asker(request)
        values = body_of(request, ErasureAsked)
        return Response(asdict(erasing.preview(principal, **_target(principal, values))))


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


def _target(principal: Principal, values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that name what is to be erased."""
    return {**_named(principal, values), "mode": ErasureMode(values["erasure"])}


def _named(principal: Principal, values: dict[str, Any]) -> dict[str, Any]:
    key = values.get("subject_id")
    subject = get_subject(principal.account_id, key=key, itself=True) if key else None
    if values.get("subject_id") and subject is None:
        raise NotFound("There is no such subject.", code="subject_not_found", field="subject_id")
    scope = values["call_scope"]
    return {
        "fact_id": values.get("fact_id"),
        "subject_id": subject.id if subject else None,
        "within": scope.path if scope else None,
    }


def _forget(principal: Principal, values: dict[str, Any]) -> Answer:
    if values["mode"] == ForgetMode.DELETE:
        return 200, receipt_shown(erasing.erase(principal, **_target(principal, values)))
    return 200, receipt_shown(
        forgetting.disable(principal, **_named(principal, values), reason=values.get("reason") or "")
    )


def receipt_shown(receipt: ForgetReceipt) -> dict[str, Any]:
    """Return a receipt as the API answers with it."""
    counters = receipt.counters
    stores = counters.get("stores", {})
    details = list(Erased().fields)
    return {
        "status": "forgotten",
        "mode": receipt.mode,
        "scope": receipt.target,
        "forget_id": receipt.id,
        "facts_disabled": counters.get("facts_disabled", 0),
        "reviews_withdrawn": counters["reviews_withdrawn"],
        "facts_deleted": counters.get("facts_deleted", 0),
        "conflict_sets_deleted": stores.get("conflict_sets", 0),
        "events_deleted": counters.get("events_erased", 0),
        "traces_deleted": stores.get("trace_queries", 0),
        "erased": {name: counters[name] for name in details} if stores else None,
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
