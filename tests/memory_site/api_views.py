"""Endpoints that exist for tests of the plumbing: they echo, or raise what they are asked for."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import OperationalError
from django.http import Http404
from django.urls import include, path
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.errors import DomainError
from governance.fields import InstantField, ReaderFields, ScopeFields
from governance.http import body_of, principal_of
from governance.idempotency import answer_once

RAISED = {
    "domain": DomainError("The budget is spent.", code="stale_version", field="version", status=409),
    "fieldless": DomainError("Not that way.", code="conflict_already_resolved", status=409),
    "django_invalid": DjangoValidationError({"name": ["Too long."]}),
    "django_denied": PermissionDenied("secret reason"),
    "denied": exceptions.PermissionDenied("secret reason"),
    "missing": Http404("secret"),
    "suspicious": SuspiciousOperation("secret"),
    "store": OperationalError("connection to 10.0.0.1 refused"),
    "unknown": RuntimeError("secret content"),
}

done: list[str] = []


class Item(serializers.Serializer):
    at = InstantField()


class Body(ScopeFields, ReaderFields):
    at = InstantField(required=False)
    items = Item(many=True, required=False)


class Echo(APIView):
    def get(self, request: Request) -> Response:
        return Response({"account": principal_of(request).account_id, "person": principal_of(request).is_person})

    def post(self, request: Request) -> Response:
        return Response({"said": request.data})


class Validate(APIView):
    def post(self, request: Request) -> Response:
        values = body_of(request, Body)
        scope = values["call_scope"]
        return Response(
            {
                "scope": [scope.path, scope.exact],
                "subject": values["subject_key"],
                "reader": values["reader_key"],
                "at": values.get("at"),
            }
        )


class Raise(APIView):
    def post(self, request: Request) -> Response:
        raise RAISED[request.data["what"]]


class Once(APIView):
    def post(self, request: Request) -> Response:
        return answer_once(request, lambda: self._work(request.data), hide=("secret",))

    def _work(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        done.append(body["name"])
        if body["name"] == "bad":
            raise DomainError("No.", field="name")
        return 201, {"count": len(done), "secret": "shown once"}


urlpatterns = [
    path("v1/echo", Echo.as_view()),
    path("v1/validate", Validate.as_view()),
    path("v1/raise", Raise.as_view()),
    path("v1/once", Once.as_view()),
    path("api/v1/once", Once.as_view()),
    path("", include("memory_site.urls")),
]
