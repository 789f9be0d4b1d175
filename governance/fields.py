"""What requests of every endpoint have in common: the accepted names of a field, and its strict types.

Older clients call the same thing by other names. :data:`ALIASES` is the one table of those names; the documentation is
generated from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from facts.errors import DomainError
from facts.tenancy import normalise_path


@dataclass(frozen=True, slots=True)
class Alias:
    """One accepted name: what it means, and what is special about it."""

    name: str
    means: str
    note: str = ""


ALIASES: tuple[Alias, ...] = (
    Alias("scope", "scope", "the scope and its ancestors"),
    Alias("scope_path", "scope"),
    Alias("project_id", "scope", "`p` means exactly the scope `/p`"),
    Alias("subject_id", "subject"),
    Alias("peer_key", "reader"),
    Alias("reader", "reader"),
    Alias("thread", "thread"),
    Alias("thread_id", "thread"),
    Alias("session_id", "thread"),
    Alias("org_id", "", "recorded, never tenancy"),
    Alias("organizationId", "", "recorded, never tenancy"),
    Alias("account_key", "", "recorded, never tenancy"),
)
#: Names that a sender may state and that give no authority.
RECORDED_NAMES = tuple(alias.name for alias in ALIASES if not alias.means)

#: Longest identifier (subject, thread, reader) in characters.
IDENTIFIER_LENGTH = 200
SCOPE_LENGTH = 512

_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?([Zz]|[+-]\d\d(:?\d\d)?)?")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)([Zz]|[+-]\d\d(:?\d\d)?)?")


@dataclass(frozen=True, slots=True)
class CallScope:
    """The scope that a call names. ``exact``: only it, without its ancestors (a call by ``project_id``)."""

    path: str
    exact: bool


def named(data: Mapping[str, Any], meaning: str) -> str | None:
    """Return what the request says for ``meaning`` under any of its names, ``None`` when it says nothing.

    Raises ``DomainError`` (``ambiguous_field``) when two names of one thing carry different values.
    """
    names = [alias.name for alias in ALIASES if alias.means == meaning]
    said = {name: str(data[name]) for name in names if data.get(name) not in (None, "")}
    if len(set(said.values())) > 1:
        name = list(said)[-1]
        raise DomainError(f"{' and '.join(said)} name different things.", code="ambiguous_field", field=name)
    return next(iter(said.values()), None)


def call_scope(data: Mapping[str, Any], *, required: bool = True) -> CallScope | None:
    """Return the scope that a request names by ``project_id``, ``scope`` or ``scope_path``.

    Raises ``DomainError``: ``missing_scope`` when it is required and absent, ``ambiguous_field`` when the names
    disagree, ``invalid_scope`` for a malformed path.
    """
    said = {name: str(data[name]) for name in ("project_id", "scope", "scope_path") if data.get(name) not in (None, "")}
    if not said:
        if required:
            raise DomainError("Name a scope (or a project_id).", code="missing_scope", field="scope")
        return None
    paths = {name: normalise_path(value) for name, value in said.items()}
    if len(set(paths.values())) > 1:
        raise DomainError(f"{' and '.join(said)} name different things.", code="ambiguous_field", field=list(said)[-1])
    return CallScope(path=next(iter(paths.values())), exact="project_id" in said)


def project_id_of(path: str) -> str:
    """Return the ``project_id`` by which a scope is named; the inverse of :func:`call_scope`."""
    return path.removeprefix("/") or path


def recorded_claims(data: Mapping[str, Any]) -> dict[str, str]:
    """Return what the sender states about its tenancy, to be kept with an event and never used as authority."""
    return {name: str(data[name])[:IDENTIFIER_LENGTH] for name in RECORDED_NAMES if data.get(name) not in (None, "")}


def parse_instant(text: str, *, field: str) -> datetime:
    """Return an ISO 8601 instant as aware UTC. A bare date means the last microsecond of that day, in UTC unless an
    offset follows it.

    Raises ``DomainError``: ``naive_datetime`` without an offset, ``invalid_datetime`` for what is no date.
    """
    try:
        return _parse(text)
    except NaiveDatetime as error:
        raise DomainError(str(error), code="naive_datetime", field=field) from None
    except (ValueError, OverflowError):
        raise DomainError("This is no ISO 8601 date and time.", code="invalid_datetime", field=field) from None


class NaiveDatetime(ValueError):
    """A time of day was given without its offset from UTC."""


def _parse(text: str) -> datetime:
    day = _DAY.fullmatch(text)
    if day:
        midnight = datetime.fromisoformat(f"{day[1]}T00:00{(day[2] or 'Z').upper()}")
        return datetime.combine(midnight.date(), time.max, tzinfo=midnight.tzinfo).astimezone(UTC)
    if not _INSTANT.fullmatch(text):
        raise ValueError(text)
    moment = datetime.fromisoformat(text.upper().replace(",", "."))
    if moment.tzinfo is None:
        raise NaiveDatetime("State the offset from UTC, such as Z or +02:00.")
    return moment.astimezone(UTC)


@extend_schema_field(OpenApiTypes.DATETIME)
class InstantField(serializers.Field):
    """A moment: ISO 8601 with an offset, or a bare date: the end of that day, in UTC unless an offset follows it."""

    default_error_messages = {
        "invalid_datetime": "This is no ISO 8601 date and time.",
        "naive_datetime": "State the offset from UTC, such as Z or +02:00.",
    }

    def to_internal_value(self, data: Any) -> datetime:
        """Return the aware UTC instant, or fail with one of the two codes."""
        if not isinstance(data, str):
            self.fail("invalid_datetime")
        try:
            return _parse(data.strip())
        except NaiveDatetime:
            self.fail("naive_datetime")
        except (ValueError, OverflowError):
            self.fail("invalid_datetime")

    def to_representation(self, value: datetime) -> str:
        """Return the instant as text."""
        return value.isoformat()


def optional_text(max_length: int, help_text: str = "") -> serializers.CharField:
    """Return a text field that may be absent, null or blank: all three say nothing."""
    return serializers.CharField(
        required=False, allow_null=True, allow_blank=True, max_length=max_length, help_text=help_text
    )


class ScopeFields(serializers.Serializer):
    """The names of the scope; adds ``call_scope`` (:class:`CallScope` or ``None``) to the validated data."""

    #: Subclasses that can do without a scope say so.
    scope_required = True

    project_id = optional_text(SCOPE_LENGTH, "`p` means exactly the scope `/p`.")
    scope = optional_text(SCOPE_LENGTH, "Path of the scope; its ancestors are read too.")
    scope_path = optional_text(SCOPE_LENGTH, "Same as `scope`.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Resolve the names to one scope."""
        attrs = super().validate(attrs)
        attrs["call_scope"] = call_scope(attrs, required=self.scope_required)
        return attrs


class ReaderFields(serializers.Serializer):
    """The subject of a call and as whom it reads; adds ``subject_key`` and ``reader_key`` (texts or ``None``)."""

    subject_id = optional_text(IDENTIFIER_LENGTH, "Key of the subject that the call is about.")
    peer_key = optional_text(IDENTIFIER_LENGTH, "Key of the peer to read as; needs `read_for_others`.")
    reader = optional_text(IDENTIFIER_LENGTH, "Same as `peer_key`.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Resolve the names."""
        attrs = super().validate(attrs)
        attrs["subject_key"] = named(attrs, "subject")
        attrs["reader_key"] = named(attrs, "reader")
        return attrs
