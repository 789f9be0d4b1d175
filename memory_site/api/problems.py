"""How errors look: ``application/problem+json``, which also carries the object ``error {type, message, field}``.

Nothing that was stored or raised below gets into an answer: unknown errors are logged by class and place and answered
with their code alone.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.serializers import as_serializer_error

from facts.errors import DomainError
from memory_site.api.codes import CODES
from memory_site.api.renderers import PROBLEM_JSON
from memory_site.logs import request_id

logger = logging.getLogger(__name__)

TYPE_PREFIX = "urn:memory:error:"
CHALLENGE = 'Bearer realm="memory"'
#: Seconds after which a store that restarts is usually back.
UNAVAILABLE_RETRY = 2


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of one field; nested fields are joined by dots, list positions included."""

    field: str | None
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """What is answered in place of a result."""

    code: str
    status: int
    detail: str
    errors: tuple[FieldError, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """Return the body of the answer."""
        known = CODES.get(self.code)
        first = self.errors[0].field if self.errors else None
        return {
            "type": TYPE_PREFIX + self.code,
            "title": known.title if known else self.detail,
            "status": self.status,
            "detail": self.detail,
            "errors": [{"field": error.field, "code": error.code, "message": error.message} for error in self.errors],
            "request_id": request_id.get(),
            "error": {"type": self.code, "message": self.detail, "field": first},
        }


def handle(error: Exception, context: Mapping[str, Any]) -> Response:
    """Answer an exception of a view (DRF's ``EXCEPTION_HANDLER``)."""
    problem = problem_of(error)
    return Response(problem.body(), problem.status, headers=dict(problem.headers), content_type=PROBLEM_JSON)


def problem_of(error: Exception) -> Problem:
    """Return the problem that an exception is for the caller; logs what is our own fault."""
    if isinstance(error, DjangoValidationError):
        error = exceptions.ValidationError(as_serializer_error(error))
    match error:
        case DomainError():
            faults = (FieldError(error.field, error.code, error.message),) if error.field else ()
            return Problem(error.code, error.status, error.message, faults)
        case exceptions.ValidationError():
            return _of_fields(tuple(_flatten(error.get_full_details())))
        case exceptions.ParseError():
            return Problem("invalid_payload", 422, str(error.detail))
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return _known("unauthorized", headers={"WWW-Authenticate": CHALLENGE})
        case exceptions.Throttled():
            wait = math.ceil(error.wait or 1)
            return _known("rate_limited", headers={"Retry-After": str(wait)})
        case exceptions.PermissionDenied():
            code = error.get_codes()
            return _known(code if code in CODES else "forbidden")
        case PermissionDenied():
            return _known("forbidden")
        case Http404() | exceptions.NotFound():
            return _known("not_found")
        case exceptions.MethodNotAllowed():
            return _known("method_not_allowed")
        case exceptions.UnsupportedMediaType():
            return _known("unsupported_media_type")
        case RequestDataTooBig():
            return _known("payload_too_large")
        case SuspiciousOperation() | UnreadablePostError():
            return _known("bad_request")
        case OperationalError() | InterfaceError():
            logger.error("store_unavailable", exc_info=error)
            return _known("unavailable", headers={"Retry-After": str(UNAVAILABLE_RETRY)})
        case _:
            logger.error("unexpected_error", exc_info=error)
            return _known("internal_error")


def _known(code: str, *, headers: Mapping[str, str] | None = None) -> Problem:
    """Return a problem that has nothing to say beyond its code."""
    return Problem(code, CODES[code].status, CODES[code].title, headers=headers or {})


def _of_fields(faults: tuple[FieldError, ...]) -> Problem:
    """Return the problem of a request with faulty fields. A fault with a code of its own gives it to the whole."""
    own = next((fault for fault in faults if fault.code in CODES), None)
    first = own or faults[0]
    ordered = (first, *(fault for fault in faults if fault is not first))
    place = f"{first.field}: " if first.field else ""
    return Problem(first.code if own else "invalid_payload", 422, place + first.message, ordered)


def _flatten(details: Any, path: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """Walk DRF's nested error details; lists of faults end a path, keyed parts extend it."""
    if isinstance(details, Mapping) and set(details) == {"message", "code"} and isinstance(details["code"], str):
        yield FieldError(".".join(path) or None, details["code"], str(details["message"]))
    elif isinstance(details, Mapping):
        for name, inner in details.items():
            deeper = path if name == "non_field_errors" else (*path, str(name))
            yield from _flatten(inner, deeper)
    else:
        for position, inner in enumerate(details):
            is_fault = isinstance(inner, Mapping) and set(inner) == {"message", "code"}
            yield from _flatten(inner, path if is_fault else (*path, str(position)))
