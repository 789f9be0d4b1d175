"""Errors that services raise and that every surface renders in the same way.

A code is part of the API contract: stable, lower case, never reused for another meaning.
"""

from __future__ import annotations


class DomainError(Exception):
    """A rule of the system was not met.

    ``code`` is the stable machine-readable type, ``field`` the request field at fault (``None`` when no single
    field is), ``status`` the HTTP status a web surface answers with. The message never repeats stored content.
    """

    status = 422
    code = "invalid_payload"

    def __init__(
        self, message: str, *, code: str | None = None, field: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        if code is not None:
            self.code = code
        if status is not None:
            self.status = status


class NotFound(DomainError):
    """Nothing with that name is visible to the asker; also the answer for another account's anything."""

    status = 404
    code = "not_found"


class Refused(DomainError):
    """The asker is known but may not do this."""

    status = 403
    code = "forbidden"


class Conflicting(DomainError):
    """What was decided about is no longer what is there."""

    status = 409
    code = "conflict"
