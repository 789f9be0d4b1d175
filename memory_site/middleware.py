"""Middleware of the web surface: the request id, a line per request, and the content security policy."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from facts.ids import new_id
from memory_site.logs import request_id

logger = logging.getLogger("memory_site.requests")

Handler = Callable[[HttpRequest], HttpResponse]

REQUEST_ID_HEADER = "X-Request-ID"
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


class RequestIdMiddleware:
    """Names each request, in the log and in the answer; the caller's own name is kept if it is harmless."""

    def __init__(self, get_response: Handler) -> None:
        """Wrap the next handler."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle one request; its id is `request.id` on the way."""
        given = request.headers.get(REQUEST_ID_HEADER, "")
        request.id = given if _ACCEPTED_ID.fullmatch(given) else new_id().hex
        token = request_id.set(request.id)
        started = time.perf_counter()
        try:
            response = self.get_response(request)
            self._log(request, response, seconds=time.perf_counter() - started)
        finally:
            request_id.reset(token)
        response[REQUEST_ID_HEADER] = request.id
        return response

    def _log(self, request: HttpRequest, response: HttpResponse, *, seconds: float) -> None:
        """Write one line; the pattern of the address, not the address, which may hold names."""
        match = request.resolver_match
        logger.info(
            "request",
            extra={
                "method": request.method,
                "route": match.route if match else None,
                "answer": response.status_code,
                "milliseconds": round(seconds * 1000, 1),
            },
        )


class ContentSecurityPolicyMiddleware:
    """Forbids pages to load or run anything but files of this site; so no inline scripts or styles."""

    def __init__(self, get_response: Handler) -> None:
        """Wrap the next handler."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the policy unless the view set a stricter one."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        return response
