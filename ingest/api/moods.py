"""Moods over HTTP, for signed-in people: one's own, and for those who decide in the whole account everybody's."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.errors import Refused
from facts.tenancy import account_transaction
from governance.access import Principal
from governance.fields import optional_text
from governance.http import body_of, principal_of, query_of
from governance.pagination import PageFields, page, paging
from ingest.models import MoodEntry, MoodSource
from ingest.moods import entering

TAG = "moods"


class MoodQuery(PageFields):
    """Whose moods are listed."""

    person = serializers.CharField(
        required=False, max_length=200, help_text="Key of a person; by default the caller. Others: for those granted."
    )


class MoodGiven(serializers.Serializer):
    """How somebody felt."""

    score = serializers.IntegerField(min_value=1, max_value=5, help_text="1 is very bad, 5 very good.")
    day = serializers.DateField(required=False, help_text="Today in the account's time zone by default.")
    note = optional_text(500, "For oneself and those granted.")


class MoodDay(serializers.Serializer):
    """Which day's entry."""

    day = serializers.DateField()


class MoodRemoved(serializers.Serializer):
    """That an entry is gone."""

    day = serializers.DateField()
    removed = serializers.BooleanField()


class MoodShown(serializers.Serializer):
    """How somebody felt on a day."""

    person = serializers.CharField()
    day = serializers.DateField()
    score = serializers.IntegerField()
    source = serializers.ChoiceField(choices=MoodSource.choices)
    note = serializers.CharField()
    scorer = serializers.CharField(help_text="Who scored it, where nobody entered it.")
    updated_at = serializers.DateTimeField()


class Moods(serializers.Serializer):
    """One page of entries."""

    moods = MoodShown(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class MoodsView(APIView):
    """How people felt."""

    @extend_schema(
        operation_id="moods_list",
        summary="List moods",
        description="One's own, in the order in which they were first written, the newest first. Whoever is curator of "
        "the whole account may name somebody else.",
        tags=[TAG],
        parameters=[MoodQuery],
        responses=Moods,
    )
    def get(self, request: Request) -> Response:
        """Return one page."""
        principal = _person(request)
        query = query_of(request, MoodQuery)
        with account_transaction(principal.account_id):
            wanted = entering.visible(principal)
            if "person" in query:
                wanted = wanted.filter(subject__key=query["person"])
            else:
                wanted = wanted.filter(subject_id=principal.subject_id)
            found, next_cursor = page(wanted, listing="moods", **paging(query))
            body = {"moods": [_shown(entry) for entry in found], "next_cursor": next_cursor}
        return Response(body)

    @extend_schema(
        operation_id="moods_enter",
        summary="Enter one's mood",
        description="In place of what was there for the day; nothing is detected over it. For people.",
        tags=[TAG],
        request=MoodGiven,
        responses=MoodShown,
    )
    def post(self, request: Request) -> Response:
        """Write an entry of the caller's own."""
        principal = _person(request)
        body = body_of(request, MoodGiven)
        with account_transaction(principal.account_id):
            entry = entering.enter(principal, score=body["score"], day=body.get("day"), note=body.get("note") or "")
            shown = _shown(entry)
        return Response(shown)


class MoodRemoveView(APIView):
    """Taking an entry away."""

    @extend_schema(
        operation_id="moods_remove",
        summary="Remove an entry of one's mood",
        description="Entered or detected. What was said that day may be detected again while the day is still scored; "
        "an entry of one's own keeps that from happening.",
        tags=[TAG],
        request=MoodDay,
        responses=MoodRemoved,
    )
    def post(self, request: Request) -> Response:
        """Remove an entry of the caller's own."""
        principal = _person(request)
        day = body_of(request, MoodDay)["day"]
        with account_transaction(principal.account_id):
            entering.remove(principal, day=day)
        return Response({"day": day, "removed": True})


def _person(request: Request) -> Principal:
    principal = principal_of(request)
    if not principal.is_person:
        raise Refused("Moods are for people.", code="human_required")
    return principal


def _shown(entry: MoodEntry) -> dict[str, Any]:
    return {
        "person": entry.subject.key,
        "day": entry.day,
        "score": entry.score,
        "source": entry.source,
        "note": entry.note,
        "scorer": entry.scorer,
        "updated_at": entry.updated_at,
    }
