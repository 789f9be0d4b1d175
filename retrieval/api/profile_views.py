"""The endpoint of the stable profile."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from governance.fields import InstantField, ReaderFields, ScopeFields, optional_text
from governance.http import body_of, principal_of
from retrieval.places import Asked
from retrieval.profiles.profile_reading import ProfileRequest, read_profile
from retrieval.stable_profile import CONTRACT, StableProfile


class StableProfileCall(ScopeFields, ReaderFields):
    """Whose profile is asked for: that of the reader of the call."""

    purpose = optional_text(128, "What the profile is for.")
    as_of = InstantField(required=False, allow_null=True, help_text="What was true then.")
    known_at = InstantField(required=False, allow_null=True, help_text="What was believed then.")


class ProfileItemShape(serializers.Serializer):
    """One line of a profile; cite the fact, not the profile."""

    category = serializers.ChoiceField(
        choices=["name", "pronouns", "occupation", "location", "language", "timezone"],
    )
    predicate = serializers.CharField()
    statement = serializers.CharField()
    value = serializers.DictField()
    qualifiers = serializers.DictField()
    fact_id = serializers.UUIDField()
    version = serializers.IntegerField()
    scope = serializers.CharField()
    confidence = serializers.FloatField()
    freshness = serializers.ChoiceField(choices=["current", "unconfirmed"])
    valid_from = serializers.DateTimeField(allow_null=True)
    possibly_conflicting = serializers.BooleanField()
    source_event_ids = serializers.ListField(child=serializers.UUIDField())
    conflict_group = serializers.CharField(
        allow_null=True, help_text="Equal for items that make the same claim with different values."
    )


class ProfileDiagnosticShape(serializers.Serializer):
    """How the profile came about, in numbers."""

    considered = serializers.IntegerField(help_text="Facts about the reader that were looked at.")
    included = serializers.IntegerField()
    excluded = serializers.DictField(child=serializers.IntegerField(), help_text="By class.")
    characters = serializers.IntegerField()
    model_calls = serializers.IntegerField(help_text="Always 0.")


class StableProfileShape(serializers.Serializer):
    """The lasting facts by which a reader is known."""

    contract = serializers.CharField()
    status = serializers.ChoiceField(
        choices=["ready", "empty", "unavailable"],
        help_text="`unavailable`: the call reads as nobody, or as somebody else than it names.",
    )
    subject_id = serializers.CharField(allow_null=True)
    items = ProfileItemShape(many=True)
    projection_digest = serializers.CharField(help_text="Equal exactly for equal items in equal order.")
    diagnostic = ProfileDiagnosticShape()


class StableProfileAnswerShape(StableProfileShape):
    """The profile of the call's reader."""

    reader_posture = serializers.ChoiceField(choices=["peer", "public_only"])
    trace_id = serializers.UUIDField()


class StableProfileView(APIView):
    """The lasting facts by which a reader is known."""

    @extend_schema(
        operation_id="stable_profile_create",
        summary="Get the reader's stable profile",
        description="What the reader said of itself about its name, pronouns, occupation, location, language and time "
        "zone, read from the ledger at every call: at most 16 items, 4 a category, 1,600 characters. Contradictory "
        "claims stand side by side unless an open conflict withholds them.",
        tags=["context"],
        request=StableProfileCall,
        responses=StableProfileAnswerShape,
    )
    def post(self, request: Request) -> Response:
        """Read the profile."""
        values = body_of(request, StableProfileCall)
        asked = ProfileRequest(
            asked=Asked(
                scope_path=values["call_scope"].path,
                exact=values["call_scope"].exact,
                subject_key=values["subject_key"] or "",
                peer_key=values["reader_key"] or "",
            ),
            purpose=values.get("purpose") or "",
            as_of=values.get("as_of"),
            known_at=values.get("known_at"),
        )
        answer = read_profile(principal=principal_of(request), request=asked)
        body = profile_body(answer.profile, subject_key=answer.subject_key)
        return Response({**body, "reader_posture": answer.reader_posture, "trace_id": answer.trace_id})


def profile_body(profile: StableProfile, *, subject_key: str | None) -> dict[str, Any]:
    """Return a profile as answers show it, of this endpoint and of searches."""
    return {
        "contract": CONTRACT,
        "status": profile.status,
        "subject_id": subject_key,
        "items": [
            {
                "category": item.category,
                "predicate": item.predicate,
                "statement": item.statement,
                "value": item.value,
                "qualifiers": item.qualifiers,
                "fact_id": item.fact_id,
                "version": item.version,
                "scope": item.scope,
                "confidence": item.confidence,
                "freshness": item.freshness,
                "valid_from": item.valid_from,
                "possibly_conflicting": item.possibly_conflicting,
                "source_event_ids": item.source_event_ids,
                "conflict_group": item.conflict_group,
            }
            for item in profile.items
        ],
        "projection_digest": profile.digest,
        "diagnostic": {
            "considered": profile.considered,
            "included": len(profile.items),
            "excluded": profile.excluded,
            "characters": profile.characters,
            "model_calls": 0,
        },
    }
