"""What requests about conflict sets carry, and how a set is shown."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from datetime import MAXYEAR, datetime
from enum import StrEnum
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from facts.canonical import has_control_characters
from facts.errors import DomainError
from facts.models import ConflictSet
from facts.vocabulary import ConflictKind, ConflictStatus
from governance.fields import InstantField, ReaderFields, ScopeFields, optional_text, project_id_of
from governance.pagination import PageFields
from governance.visible_conflicts import Side

RATIONALE_LENGTH = 2000


class Verb(StrEnum):
    """How a set is resolved."""

    KEEP_ONE = "keep_one"
    NEVER_TRUE = "never_true"
    REJECT_ALL = "reject_all"
    KEEP_BY_QUALIFIER = "keep_by_qualifier"
    KEEP_AS_EVENTS = "keep_as_events"
    KEEP_BY_INTERVAL = "keep_by_interval"


class OneConflictQuery(ScopeFields, ReaderFields):
    """Where a set is, and as whom it is read."""

    scope_required = False


class ConflictQuery(OneConflictQuery, PageFields):
    """Which sets are listed."""

    status = serializers.ChoiceField(choices=ConflictStatus.choices, required=False, default=ConflictStatus.OPEN)


class _Decision(ScopeFields):
    """What every decision may carry."""

    scope_required = False

    rationale = optional_text(RATIONALE_LENGTH, "Why; kept with the decision.")
    version = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, help_text="Decide only if the set still has this version."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Make what is absent and what is blank the same."""
        attrs = super().validate(attrs)
        return {**attrs, "rationale": attrs.get("rationale") or "", "version": attrs.get("version")}


@extend_schema_field(OpenApiTypes.OBJECT)
class QualifiersField(serializers.Field):
    """For each fact id an object with the conditions that set the fact apart."""

    def to_internal_value(self, data: Any) -> dict[uuid.UUID, dict[str, Any]]:
        """Return the same by parsed ids."""
        parsed = _by_fact(data)
        if not all(isinstance(value, dict) for value in parsed.values()):
            raise serializers.ValidationError("Each fact needs an object.", code="invalid")
        if not _is_plain(parsed):
            raise serializers.ValidationError("Conditions are printable text and finite numbers.", code="invalid")
        return parsed


def _is_plain(value: Any) -> bool:
    """Tell whether every text and number in a JSON value, names included, is one that can be stored and shown."""
    match value:
        case str():
            return not has_control_characters(value)
        case float():
            return math.isfinite(value)
        case dict():
            return all(_is_plain(part) for pair in value.items() for part in pair)
        case list():
            return all(_is_plain(part) for part in value)
        case _:
            return True


@extend_schema_field(OpenApiTypes.OBJECT)
class IntervalsField(serializers.Field):
    """For each fact id an object with `valid_from` and `valid_to`, half-open; null or absent is open.

    An end in the last year that there is also means open: so some write it who have no null.
    """

    def to_internal_value(self, data: Any) -> dict[uuid.UUID, tuple[datetime | None, datetime | None]]:
        """Return (start, end) by parsed ids."""
        return {key: self._interval(value) for key, value in _by_fact(data).items()}

    def _interval(self, value: Any) -> tuple[datetime | None, datetime | None]:
        if not isinstance(value, dict) or set(value) - {"valid_from", "valid_to"}:
            raise serializers.ValidationError("An interval has `valid_from` and `valid_to`.", code="invalid")
        moment = InstantField()
        start, end = value.get("valid_from"), value.get("valid_to")
        begins = None if start is None else moment.to_internal_value(start)
        ends = None if end is None else moment.to_internal_value(end)
        return begins, None if ends is not None and ends.year == MAXYEAR else ends


def _by_fact(data: Any) -> dict[uuid.UUID, Any]:
    try:
        return {uuid.UUID(key): value for key, value in data.items()}
    except (AttributeError, ValueError):
        raise serializers.ValidationError("An object with fact ids as keys is needed.", code="invalid") from None


class Resolve(_Decision):
    """A resolution: the verb and what it needs."""

    verb = serializers.ChoiceField(
        choices=[verb.value for verb in Verb],
        required=False,
        default=Verb.KEEP_ONE.value,
        help_text="`keep_one`: the others were true until it began. `never_true`: the others never were. "
        "`reject_all`: none ever was. `keep_by_qualifier`, `keep_as_events`, `keep_by_interval`: all hold, each under "
        "its condition, as occurrences, or in its time.",
    )
    keep_fact_id = serializers.UUIDField(required=False, allow_null=True, help_text="For `keep_one` and `never_true`.")
    qualifiers = QualifiersField(required=False, help_text="For `keep_by_qualifier`: fact id → conditions.")
    intervals = IntervalsField(required=False, help_text="For `keep_by_interval`: fact id → `{valid_from, valid_to}`.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for what the verb needs."""
        attrs = super().validate(attrs)
        needed = {
            Verb.KEEP_ONE: "keep_fact_id",
            Verb.NEVER_TRUE: "keep_fact_id",
            Verb.KEEP_BY_QUALIFIER: "qualifiers",
            Verb.KEEP_BY_INTERVAL: "intervals",
        }.get(Verb(attrs["verb"]))
        if needed is not None and attrs.get(needed) is None:
            raise DomainError(f"The verb {attrs['verb']} needs {needed}.", field=needed)
        return attrs


class Dismiss(_Decision):
    """A dismissal."""

    distinction = optional_text(500, "What separates the members.")


class Defer(_Decision):
    """A deferral."""

    until = InstantField(help_text="When it returns to the queue.")


class Reopen(_Decision):
    """An undo."""


class ConflictMember(serializers.Serializer):
    """One side of a set; its words only where the caller may read them."""

    fact_id = serializers.UUIDField()
    status = serializers.CharField()
    statement = serializers.CharField(allow_null=True)
    predicate = serializers.CharField(allow_null=True)
    value = serializers.JSONField(allow_null=True)
    qualifiers = serializers.JSONField(allow_null=True)
    confidence = serializers.FloatField()
    origin_trust = serializers.CharField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    withheld = serializers.BooleanField()


class Conflict(serializers.Serializer):
    """A conflict set."""

    id = serializers.UUIDField()
    project_id = serializers.CharField()
    scope = serializers.CharField()
    subject_id = serializers.CharField()
    fact_ids = serializers.ListField(child=serializers.UUIDField())
    kind = serializers.ChoiceField(choices=ConflictKind.choices)
    status = serializers.ChoiceField(choices=ConflictStatus.choices)
    reason = serializers.CharField()
    created_at = serializers.DateTimeField()
    resolved_at = serializers.DateTimeField(allow_null=True)
    due_at = serializers.DateTimeField(allow_null=True)
    deferred_until = serializers.DateTimeField(allow_null=True)
    resolution = serializers.CharField(allow_null=True)
    version = serializers.IntegerField()
    members = ConflictMember(many=True)
    hidden_members = serializers.IntegerField(help_text="Sides that the caller may not see; 0 but for curators.")


class Conflicts(serializers.Serializer):
    """One page of conflict sets, and the figures of the open ones that the caller may be shown."""

    conflicts = Conflict(many=True)
    open_count = serializers.IntegerField()
    oldest_open_seconds = serializers.IntegerField(allow_null=True)
    next_cursor = serializers.CharField(allow_null=True)


class _FactNow(serializers.Serializer):
    """Where a fact stands after a decision."""

    fact_id = serializers.UUIDField()
    status = serializers.CharField()


class Resolved(serializers.Serializer):
    """What a decision did."""

    conflict_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=ConflictStatus.choices)
    verb = serializers.CharField()
    decision_id = serializers.UUIDField()
    version = serializers.IntegerField()
    kept_fact_id = serializers.UUIDField(allow_null=True)
    superseded_fact_ids = serializers.ListField(child=serializers.UUIDField())
    facts = _FactNow(many=True)
    resolved_at = serializers.DateTimeField(allow_null=True)
    deferred_until = serializers.DateTimeField(allow_null=True)


def conflict(found: ConflictSet, sides: Sequence[Side], hidden: int) -> dict[str, Any]:
    """Return a set as shown."""
    return {
        "id": found.id,
        "project_id": project_id_of(found.scope.path),
        "scope": found.scope.path,
        "subject_id": found.subject.key,
        "fact_ids": [side.fact.id for side in sides],
        "kind": found.kind,
        "status": found.status,
        "reason": found.reason,
        "created_at": found.opened_at,
        "resolved_at": found.closed_at,
        "due_at": found.due_at,
        "deferred_until": found.deferred_until,
        "resolution": found.resolution or None,
        "version": found.version,
        "members": [_member(side) for side in sides],
        "hidden_members": hidden,
    }


def _member(side: Side) -> Mapping[str, Any]:
    fact = side.fact
    words: dict[str, Any] = dict.fromkeys(("statement", "predicate", "value", "qualifiers"))
    if side.worded:
        words = {
            "statement": fact.statement,
            "predicate": fact.predicate or None,
            "value": fact.value,
            "qualifiers": fact.qualifiers,
        }
    return {
        "fact_id": fact.id,
        "status": fact.status,
        **words,
        "confidence": fact.confidence,
        "origin_trust": fact.origin_trust,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "withheld": side.withheld,
    }
