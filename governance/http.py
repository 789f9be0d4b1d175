"""What API modules of every app share: who is asking, reading input, and shaping answers.

Authentication, errors and rendering are configured by the project; apps only raise ``DomainError`` or DRF's exceptions.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from facts.models import Subject
from facts.tenancy import get_subject
from governance.access import Principal

_thread = threading.local()


def principal_of(request: Request) -> Principal:
    """Return the authenticated caller; raises ``NotAuthenticated`` (401) when there is none."""
    if not isinstance(request.auth, Principal):
        raise NotAuthenticated
    return request.auth


def validated(serializer: type[serializers.Serializer], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``data`` as the serializer understands it; raises DRF's ``ValidationError`` (422).

    Each thread makes a serializer once: making its fields takes longer than reading a body with them.
    """
    made = _thread.__dict__.setdefault("made", {})
    if serializer not in made:
        made[serializer] = serializer()
    return made[serializer].run_validation(data)


def query_of(request: Request, serializer: type[serializers.Serializer]) -> dict[str, Any]:
    """Return the query parameters as the serializer understands them; of a repeated one the last counts."""
    return validated(serializer, request.query_params.dict())


def body_of(request: Request, serializer: type[serializers.Serializer]) -> dict[str, Any]:
    """Return the body, a JSON object, as the serializer understands it."""
    return validated(serializer, request.data)


def subject_named(principal: Principal, key: str | None) -> Subject | None:
    """Return the subject that a call names, or ``None`` when it names none or nothing is stored about it."""
    return get_subject(principal.account_id, key=key) if key else None


def plain(body: Any) -> Any:
    """Return an answer as it will be read: ids and instants as text, nothing but JSON's own types."""
    return orjson.loads(orjson.dumps(body))
