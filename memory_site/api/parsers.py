"""How bodies come in: one JSON object, no larger than ``DATA_UPLOAD_MAX_MEMORY_SIZE`` and not nested beyond reason.

Of a key that occurs twice in an object the last value counts. A lone surrogate passes (clients cut emoji in half):
capture replaces it with a note, text fields of other calls refuse it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

import orjson
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

#: Deeper nesting than any payload needs; keeps every recursive walk over stored values safe.
MAX_DEPTH = 64


class JsonParser(BaseParser):
    """Parses ``application/json``."""

    media_type = "application/json"

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the object; raises ``ParseError`` for anything else, and Django's error for too large a body."""
        # `body`, not the stream: reading it enforces the size limit and keeps it for the idempotency digest.
        body = (parser_context or {})["request"].body
        value = _load(body)
        if not isinstance(value, dict):
            raise ParseError("The body has to be a JSON object.")
        if body.count(b"{") + body.count(b"[") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
            raise ParseError(f"The body is nested deeper than {MAX_DEPTH} levels.")
        return value


def _load(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        # Accepts lone surrogates, which the fast parser does not.
        return json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ParseError("The body is not valid JSON.") from None


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and the infinities, which JSON does not have."""
    raise ValueError(constant)


def _is_deeper(value: Any, limit: int) -> bool:
    """Tell whether containers are nested deeper than ``limit``, level by level."""
    level: list[Any] = [value]
    for _ in range(limit):
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
