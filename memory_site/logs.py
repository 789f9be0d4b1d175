"""Logging: one JSON object a line on standard error, without content.

An exception is logged as its class and where it was raised. Its message is left out: the messages of database
drivers and model providers quote the values they were given.
"""

from __future__ import annotations

import json
import logging
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

#: The id of the request that this thread serves; empty outside of one.
request_id: ContextVar[str] = ContextVar("request_id", default="")

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "request", "status_code"}


class JsonFormatter(logging.Formatter):
    """Renders a record as one line of JSON: time, level, logger, message, request id, extra fields, error."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id.get():
            line["request_id"] = request_id.get()
        line.update({name: value for name, value in vars(record).items() if name not in _STANDARD})
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])
            line["raised_at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(line, default=str, ensure_ascii=False)


class AddressFilter(logging.Filter):
    """Keeps addresses, which may hold names, out of what Django says of requests.

    Its messages end with the path; the pattern that the path matched is put in its place.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record; drop what only repeats a 503 of our own making."""
        if getattr(record, "status_code", None) == HTTPStatus.SERVICE_UNAVAILABLE and not record.exc_info:
            return False
        request = getattr(record, "request", None)
        if request is not None and isinstance(record.args, tuple) and record.args:
            match = getattr(request, "resolver_match", None)
            record.args = (*record.args[:-1], match.route if match else "no such address")
        return True


def configuration(level: str) -> dict[str, Any]:
    """Return the `dictConfig` for Django, the worker and gunicorn; `level` is the least that is written."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "memory_site.logs.JsonFormatter"}},
        "filters": {"addresses": {"()": "memory_site.logs.AddressFilter"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["addresses"]}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Otherwise both bring handlers of their own, or write a line for every task.
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "level": level, "propagate": True},
            "django-q": {"handlers": [], "level": "WARNING", "propagate": True},
            # At their more talkative levels they write whole requests.
            "anthropic": {"handlers": [], "level": "WARNING", "propagate": True},
            "openai": {"handlers": [], "level": "WARNING", "propagate": True},
            "httpx2": {"handlers": [], "level": "WARNING", "propagate": True},
            "httpcore2": {"handlers": [], "level": "WARNING", "propagate": True},
            "gunicorn.error": {"handlers": [], "level": "WARNING", "propagate": True},
            # It warns of every HEAD request: Django leaves dropping the body to the server.
            "gunicorn.http.wsgi": {"handlers": [], "level": "ERROR", "propagate": True},
            "gunicorn.access": {"handlers": [], "level": "WARNING", "propagate": True},
        },
    }
