"""Whom and what facts are about, over HTTP, as far as the caller may see those facts."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.errors import NotFound
from facts.models import Subject
from facts.tenancy import account_transaction, present
from facts.vocabulary import SubjectKind
from governance.access import Right, all_readable_scopes, readable_scopes, require_right, resolve_reader
from governance.fields import IDENTIFIER_LENGTH, ReaderFields, ScopeFields, optional_text
from governance.http import principal_of, query_of, subject_named
from retrieval import inventory
from retrieval.inventory import KnownSubject

PAGE, MOST = 100, 500


class SubjectsQuery(ScopeFields, ReaderFields):
    """Of which scope; of all that may be read without one."""

    scope_required = False

    after = optional_text(IDENTIFIER_LENGTH, "`next_after` of the page before.")
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MOST, default=PAGE)


class SubjectQuery(ReaderFields):
    """As whom to look."""


class SubjectShown(serializers.Serializer):
    """A subject, and what of it the reader may see."""

    id = serializers.UUIDField()
    subject_id = serializers.CharField(help_text="Its key.")
    kind = serializers.ChoiceField(choices=SubjectKind.choices)
    name = serializers.CharField()
    facts = serializers.IntegerField(help_text="Current facts about it that the reader may see.")
    recalls = serializers.IntegerField(allow_null=True, help_text="`null`: not counted by subject.")
    last_seen = serializers.DateTimeField(help_text="When the newest of them was last stated.")


class SubjectsShown(serializers.Serializer):
    """One page of subjects."""

    subjects = SubjectShown(many=True)
    next_after = serializers.CharField(allow_null=True)


class SubjectsView(APIView):
    """All of them."""

    @extend_schema(
        operation_id="subjects_list",
        summary="List subjects",
        description="Those about whom the reader may see something that holds, in the order of their keys.",
        tags=["subjects"],
        parameters=[SubjectsQuery],
        responses=SubjectsShown,
    )
    def get(self, request: Request) -> Response:
        """Return one page."""
        principal = principal_of(request)
        values = query_of(request, SubjectsQuery)
        with account_transaction(principal.account_id):
            require_right(principal, Right.READ)
            named, limit = values["call_scope"], values["limit"]
            scopes = (
                readable_scopes(principal, named.path, exact=named.exact) if named else all_readable_scopes(principal)
            )
            subject = subject_named(principal, values["subject_key"])
            reader = resolve_reader(principal, peer_key=values["reader_key"] or "", subject=subject)
            found = inventory.subjects(principal, reader, scopes, after=values.get("after") or "", limit=limit + 1)
        more = found[limit - 1].key if len(found) > limit else None
        return Response({"subjects": [_shown(one) for one in found[:limit]], "next_after": more})


class SubjectView(APIView):
    """One of them."""

    @extend_schema(
        operation_id="subjects_get",
        summary="Show a subject",
        description="By its id; of one that was merged, what it is now.",
        tags=["subjects"],
        parameters=[SubjectQuery],
        responses=SubjectShown,
    )
    def get(self, request: Request, subject_id: uuid.UUID) -> Response:
        """Return it."""
        principal = principal_of(request)
        values = query_of(request, SubjectQuery)
        with account_transaction(principal.account_id):
            require_right(principal, Right.READ)
            subject = Subject.objects.filter(account_id=principal.account_id, pk=subject_id).first()
            subject = present(subject) if subject is not None else None
            reader = resolve_reader(principal, peer_key=values["reader_key"] or "", subject=subject)
            found = inventory.subjects(
                principal, reader, all_readable_scopes(principal), only=subject.pk if subject else subject_id, limit=1
            )
            if not found:
                raise NotFound("There is no such subject.", code="subject_not_found")
        return Response(_shown(found[0]))


def _shown(one: KnownSubject) -> dict[str, Any]:
    return {
        "id": one.id,
        "subject_id": one.key,
        "kind": one.kind,
        "name": one.name,
        "facts": one.facts,
        "recalls": None,
        "last_seen": one.last_seen,
    }
