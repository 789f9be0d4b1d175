"""A caller of the HTTP API: a real request through every middleware, made from outside of any account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.http import HttpResponse
from django.test import Client

from facts.models import Account, Membership
from tests.factories import api_key, entered


@dataclass
class Caller:
    """Calls with a key (or whatever ``headers`` say) and gives back Django's responses."""

    headers: dict[str, str] = field(default_factory=dict)
    client: Client = field(default_factory=lambda: Client(enforce_csrf_checks=True))

    def get(self, path: str, **parameters: Any) -> HttpResponse:
        """GET with query parameters."""
        with entered(None):
            return self.client.get(path, parameters, headers=self.headers)

    def post(self, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None) -> HttpResponse:
        """POST a JSON body; bytes are sent as they are."""
        content = body if isinstance(body, bytes) else orjson.dumps({} if body is None else body, default=str)
        with entered(None):
            return self.client.post(
                path, content, content_type="application/json", headers={**self.headers, **(headers or {})}
            )

    def delete(self, path: str) -> HttpResponse:
        """DELETE."""
        with entered(None):
            return self.client.delete(path, headers=self.headers)


def caller_with_key(account: Account, **key: Any) -> Caller:
    """Return a caller with a new key of the account; arguments as for ``factories.api_key``."""
    _, raw = api_key(account, **key)
    return Caller(headers={"Authorization": f"Bearer {raw}"})


def problem(response: HttpResponse) -> tuple[int, str, str | None]:
    """Return (status, code, field) of an error answer, having checked that its parts agree with each other."""
    assert response.headers["Content-Type"] == "application/problem+json", response.content
    body = response.json()
    assert set(body) == {"type", "title", "status", "detail", "errors", "request_id", "error"}
    assert body["status"] == response.status_code
    assert body["type"] == "urn:memory:error:" + body["error"]["type"]
    assert body["detail"] == body["error"]["message"]
    assert body["request_id"] == response.headers["X-Request-ID"]
    return response.status_code, body["error"]["type"], body["error"]["field"]


def signed_in(membership: Membership) -> Caller:
    """Return a caller with the session of this person, whose calls carry the CSRF token."""
    caller = Caller()
    with entered(None):
        caller.client.force_login(membership.user)
    token = "a" * 32
    caller.client.cookies["csrftoken"] = token
    caller.headers = {"X-CSRFToken": token}
    return caller
