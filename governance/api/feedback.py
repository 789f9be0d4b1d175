"""Feedback over HTTP: useful, irrelevant, or incorrect, which contests a fact."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.audience import Reader
from facts.errors import DomainError, NotFound
from facts.models import Fact
from facts.vocabulary import Status
from governance import feedback
from governance.access import (
    Principal,
    Right,
    all_readable_scopes,
    readable_scopes,
    require_right,
    resolve_reader,
)
from governance.fields import CallScope, ReaderFields, ScopeFields, optional_text
from governance.http import body_of, principal_of, subject_named
from governance.idempotency import Answer, answer_once
from governance.models import Rating
from governance.trace_access import require_trace


class FeedbackGiven(ScopeFields, ReaderFields):
    """A rating of one trace or one fact."""

    scope_required = False

    trace_id = serializers.UUIDField(required=False, allow_null=True)
    fact_id = serializers.UUIDField(required=False, allow_null=True)
    rating = serializers.ChoiceField(choices=Rating.choices)
    comment = optional_text(2000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for exactly one thing to rate."""
        attrs = super().validate(attrs)
        if (attrs.get("trace_id") is None) == (attrs.get("fact_id") is None):
            raise DomainError("Name either a trace_id or a fact_id.", field="trace_id")
        return attrs


class FeedbackRecorded(serializers.Serializer):
    """What was recorded. ``effect``: ``disputed``, when the rating contested the fact, else ``none``."""

    status = serializers.ChoiceField(choices=["recorded"])
    feedback_id = serializers.UUIDField()
    fact_status = serializers.CharField(allow_null=True)
    effect = serializers.ChoiceField(choices=["disputed", "none"])


class FeedbackView(APIView):
    """What readers say about what they were served."""

    @extend_schema(
        operation_id="feedback_create",
        summary="Rate a trace or a fact",
        description="`incorrect` on a current fact disputes it: it is served to nobody until a curator decided. On a "
        "fact in any other status nothing changes; `effect` says which.",
        tags=["feedback"],
        request=FeedbackGiven,
        responses={201: FeedbackRecorded},
    )
    def post(self, request: Request) -> Response:
        """Record a rating."""
        principal = principal_of(request)
        values = body_of(request, FeedbackGiven)
        require_right(principal, Right.READ)
        return answer_once(request, lambda: _rate(principal, values))


def _rate(principal: Principal, values: dict[str, Any]) -> Answer:
    fact_id, trace_id = values.get("fact_id"), values.get("trace_id")
    reader = resolve_reader(principal, peer_key=values["reader_key"] or "")
    before = None
    if trace_id is not None:
        require_trace(principal, trace_id)
    else:
        fact = _fact_in_reach(principal, fact_id, values["call_scope"])
        before = fact.status
        reader = _reader_of(principal, fact, values)
    recorded = feedback.rate(
        account_id=principal.account_id,
        reader=reader,
        actor=principal.actor,
        rating=values["rating"],
        fact_id=fact_id,
        trace_id=trace_id,
        comment=values.get("comment") or "",
    )
    after = Fact.objects.values_list("status", flat=True).get(pk=fact_id) if fact_id else None
    contested = after == Status.DISPUTED and before != Status.DISPUTED
    return 201, {
        "status": "recorded",
        "feedback_id": recorded.id,
        "fact_status": after,
        "effect": "disputed" if contested else "none",
    }


def _fact_in_reach(principal: Principal, fact_id: uuid.UUID, named: CallScope | None) -> Fact:
    """Return the fact where the caller may read its scope, and the call names no other one."""
    if named is None:
        scopes = all_readable_scopes(principal)
    else:
        scopes = readable_scopes(principal, named.path, exact=named.exact)
    found = Fact.objects.filter(account_id=principal.account_id, scope__in=scopes, pk=fact_id).select_related("subject")
    fact = found.first()
    if fact is None:
        raise NotFound("There is no such fact.", code="fact_not_found", field="fact_id")
    return fact


def _reader_of(principal: Principal, fact: Fact, values: dict[str, Any]) -> Reader:
    """Return as whom the fact was read: a key that reads as the subject of its calls read it as the fact's subject."""
    subject = subject_named(principal, values["subject_key"]) if values["subject_key"] else fact.subject
    return resolve_reader(principal, peer_key=values["reader_key"] or "", subject=subject)
