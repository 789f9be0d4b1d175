"""Who was told something about the signed-in person. For people only; keys get 403."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.tenancy import account_transaction
from governance.http import principal_of, query_of
from governance.pagination import cursor_for, place_of
from governance.sharing.consents import require_person
from retrieval import served
from retrieval.models import TraceKind
from retrieval.served import ServedRead

_LISTING = "self.served"


class ServedQuery(serializers.Serializer):
    """Where to look on, and of which fact."""

    cursor = serializers.CharField(
        required=False, max_length=200, help_text="`next_cursor` of the page before; opaque."
    )
    fact_id = serializers.UUIDField(required=False, help_text="Only reads that told this fact about the caller.")


class ServedReadShape(serializers.Serializer):
    """One read. What was asked is not told."""

    trace_id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=TraceKind.choices)
    at = serializers.DateTimeField()
    by = serializers.CharField(help_text="The application or person that asked.")
    reader = serializers.CharField(help_text="For whom it was read; empty for nobody in particular.")
    is_reader = serializers.BooleanField(help_text="Whether it was read for the caller.")
    scope = serializers.CharField(help_text="Where; empty where the caller may not know it.")
    purpose = serializers.CharField()
    fact_ids = serializers.ListField(child=serializers.UUIDField())
    passage_ids = serializers.ListField(child=serializers.UUIDField())


class ServedReads(serializers.Serializer):
    """One page. It may hold little or nothing although there is a next one: so many reads were looked through."""

    reads = ServedReadShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class SelfServedView(APIView):
    """Reads that told something of the caller."""

    @extend_schema(
        operation_id="self_served_list",
        summary="List who was told about me",
        description="The reads that served facts on the signed-in person or words of theirs, newest first, as far "
        "back as traces are kept. A page looks through a bounded number of reads, and may be empty although there is "
        "a next one. Keys get 403 `human_required`.",
        tags=["self"],
        parameters=[ServedQuery],
        responses=ServedReads,
    )
    def get(self, request: Request) -> Response:
        """Return one page."""
        principal = principal_of(request)
        require_person(principal)
        query = query_of(request, ServedQuery)
        before = place_of(query["cursor"], listing=_LISTING) if query.get("cursor") else None
        with account_transaction(principal.account_id):
            found = served.reads_of(principal, before=before, fact_id=query.get("fact_id"))
        next_cursor = cursor_for(found.before, listing=_LISTING) if found.before else None
        return Response({"reads": [read_shown(read) for read in found.reads], "next_cursor": next_cursor})


def read_shown(read: ServedRead) -> dict[str, Any]:
    """Return a read as the API tells it to somebody about whom it told something."""
    return {
        "trace_id": read.trace_id,
        "kind": read.kind,
        "at": read.at,
        "by": read.by,
        "reader": read.reader,
        "is_reader": read.is_reader,
        "scope": read.scope,
        "purpose": read.purpose,
        "fact_ids": list(read.facts),
        "passage_ids": list(read.passages),
    }
