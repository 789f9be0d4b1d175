"""The OpenAPI description: what generates it, what every operation gets, and the views that serve it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory_site.api.renderers import PROBLEM_JSON

PREFIX = "/v1/"
PROBLEM = "Problem"

_TEXT = {"type": "string"}
_NULLABLE_TEXT = {"type": ["string", "null"]}

PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "errors", "request_id", "error"],
    "properties": {
        "type": {"type": "string", "description": "`urn:memory:error:` and the code."},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "code", "message"],
                "properties": {"field": _NULLABLE_TEXT, "code": _TEXT, "message": _TEXT},
            },
        },
        "request_id": _TEXT,
        "error": {
            "type": "object",
            "required": ["type", "message", "field"],
            "properties": {
                "type": {"type": "string", "description": "The code."},
                "message": _TEXT,
                "field": _NULLABLE_TEXT,
            },
        },
    },
}


class KeyScheme(OpenApiAuthenticationExtension):
    """Describes a key in the ``Authorization`` header."""

    target_class = "memory_site.api.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the scheme."""
        return {"type": "http", "scheme": "bearer", "description": "An API key."}


class SessionScheme(OpenApiAuthenticationExtension):
    """Describes the session of a signed-in person."""

    target_class = "memory_site.api.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the scheme."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "A signed-in person; calls that change something also send `X-CSRFToken`.",
        }


def only_once(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Keep one of the two prefixes under which every endpoint is mounted."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith(PREFIX)]


def add_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Describe the error answer once, and give it to every operation."""
    result.setdefault("components", {}).setdefault("schemas", {})[PROBLEM] = PROBLEM_SCHEMA
    content = {PROBLEM_JSON: {"schema": {"$ref": f"#/components/schemas/{PROBLEM}"}}}
    for path in result["paths"].values():
        for operation in path.values():
            operation["responses"]["default"] = {
                "description": "An error; `error.type` is one of the documented codes.",
                "content": content,
            }
    return result


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """Return the OpenAPI document; the endpoints of a process do not change."""
    return SchemaGenerator().get_schema(request=None, public=True)


def as_yaml() -> str:
    """Return the document as the file that is kept with the documentation."""
    return OpenApiYamlRenderer().render(document(), renderer_context={}).decode()


class SchemaView(APIView):
    """Serves the OpenAPI document to anybody."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """Return the document as JSON."""
        return Response(document())


class DocsView(SpectacularSwaggerSplitView):
    """Shows the document as a page; scripts and styles are files, as the content security policy wants them."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()
    url_name = "schema"
    template_name = "api/docs.html"
