"""How answers leave: as JSON, whatever the caller says it accepts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

PROBLEM_JSON = "application/problem+json"


class JsonRenderer(BaseRenderer):
    """Writes compact JSON; ids, dates and enumerations as text."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """Return the body; empty for an answer without one."""
        if data is None:
            return b""
        try:
            return orjson.dumps(data, default=str, option=orjson.OPT_NON_STR_KEYS)
        except TypeError:  # integers beyond 64 bits
            return json.dumps(data, default=str, separators=(",", ":")).encode()


class AlwaysJson(BaseContentNegotiation):
    """Answers in the view's first format: a caller that asks for another one can still read the error."""

    def select_parser(self, request: Request, parsers: Sequence[BaseParser]) -> BaseParser | None:
        """Return the parser for the body's media type, parameters aside; ``None`` leads to 415."""
        sent = request.content_type.split(";", 1)[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == sent), None)

    def select_renderer(
        self, request: Request, renderers: Sequence[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the first renderer."""
        return renderers[0], renderers[0].media_type
