"""The shapes of observations, the facts of this system under the names of a bot's adapter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from facts.models import Fact
from facts.vocabulary import Category, SourceType
from governance.fields import IDENTIFIER_LENGTH, InstantField, ReaderFields, ScopeFields, optional_text
from governance.pagination import PageFields
from ingest.manual import MAX_STATEMENT
from retrieval.cards.summaries import Summary
from retrieval.observations import ENTITY_KINDS, ENTITY_OF, SOURCE_OF, Sight, Source, sources

ENTITY_TYPES = tuple(ENTITY_KINDS)
SOURCE_TYPES = tuple(sorted(set(SOURCE_OF.values())))


class SightQuery(ScopeFields, ReaderFields):
    """Where to look, all readable scopes when none is named, and as whom."""

    scope_required = False

    organizationId = optional_text(IDENTIFIER_LENGTH, "Never tenancy: the account comes from the credential.")


class ObservationsQuery(SightQuery, PageFields):
    """Which observations to list."""

    entityType = serializers.ChoiceField(choices=ENTITY_TYPES, required=False)
    entityId = optional_text(2_000, "Key, id, platform's id or name; with `entityType`.")
    category = serializers.ChoiceField(choices=Category.choices, required=False)
    sourceType = serializers.ChoiceField(choices=SOURCE_TYPES, required=False)
    since = InstantField(required=False, help_text="Recorded at or after.")
    until = InstantField(required=False, help_text="Recorded at or before.")
    includeSuperseded = serializers.BooleanField(required=False, default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for the type with an id: the same id may be that of a person and of a channel."""
        attrs = super().validate(attrs)
        if attrs.get("entityId") and not attrs.get("entityType"):
            raise serializers.ValidationError({"entityType": "An entityId needs its entityType."})
        return attrs


class SummariesQuery(SightQuery, PageFields):
    """Which summaries to list."""

    entityType = serializers.ChoiceField(choices=ENTITY_TYPES, required=False)
    query = optional_text(2_000, "What somebody is looking for: what is closest to it in meaning comes first.")


class TimelinePageQuery(SightQuery, PageFields):
    """Which page of a timeline."""


class ObservationStated(ScopeFields):
    """An observation stated by hand."""

    scope_required = False

    organizationId = optional_text(IDENTIFIER_LENGTH, "Never tenancy.")
    entityType = serializers.ChoiceField(choices=ENTITY_TYPES)
    entityId = serializers.CharField(max_length=IDENTIFIER_LENGTH, help_text="Key of the subject; made on first use.")
    category = serializers.ChoiceField(choices=Category.choices, required=False, default=Category.GENERAL)
    observation = serializers.CharField(max_length=MAX_STATEMENT)
    confidence = serializers.FloatField(required=False, min_value=0.5, max_value=1.0, default=0.9)
    sourceUrl = optional_text(2_000)
    sourceDate = InstantField(required=False, allow_null=True, help_text="When it held; now when left out.")


class Superseding(serializers.Serializer):
    """What takes its place, and why."""

    supersededBy = serializers.UUIDField(required=False, allow_null=True, help_text="About the same entity.")
    reason = optional_text(500)


class Ending(serializers.Serializer):
    """When it ended, and why."""

    at = InstantField(required=False, allow_null=True, help_text="Now when left out; never in the future.")
    reason = optional_text(500)


class ObservationShape(serializers.Serializer):
    """One observation."""

    id = serializers.UUIDField()
    entityType = serializers.ChoiceField(choices=ENTITY_TYPES)
    entityId = serializers.CharField()
    category = serializers.ChoiceField(choices=Category.choices)
    observation = serializers.CharField()
    confidence = serializers.FloatField()
    sourceType = serializers.ChoiceField(choices=SOURCE_TYPES, allow_null=True)
    sourceMessageIds = serializers.ListField(child=serializers.UUIDField(), help_text="Events that you may see.")
    sourceUrl = serializers.CharField(allow_null=True)
    sourceDate = serializers.DateField(allow_null=True)
    expiresAt = serializers.DateTimeField(allow_null=True)
    supersededBy = serializers.UUIDField(allow_null=True)
    createdAt = serializers.DateTimeField()
    status = serializers.CharField()
    scope = serializers.CharField()


class ObservationPage(serializers.Serializer):
    """A page of observations, newest first."""

    observations = ObservationShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class StatedShape(serializers.Serializer):
    """What became of a stated observation; the gates decide whether it is current at once."""

    result = serializers.ChoiceField(choices=["fact", "duplicate", "rejected"])
    reason = serializers.CharField()
    observation = ObservationShape(allow_null=True)


class SummaryShape(serializers.Serializer):
    """One summary: lines whose observations you may all see."""

    id = serializers.UUIDField()
    entityType = serializers.ChoiceField(choices=ENTITY_TYPES)
    entityId = serializers.CharField()
    summaryType = serializers.CharField()
    summary = serializers.CharField()
    periodStart = serializers.DateField(allow_null=True)
    periodEnd = serializers.DateField(allow_null=True)
    createdAt = serializers.DateTimeField()
    updatedAt = serializers.DateTimeField()
    scope = serializers.CharField()


class SummaryPage(serializers.Serializer):
    """A page of summaries."""

    summaries = SummaryShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class EntityShape(serializers.Serializer):
    """What is known about an entity; the same answer for one that is unknown and for one of which you see nothing."""

    entityType = serializers.ChoiceField(choices=ENTITY_TYPES)
    entityId = serializers.CharField()
    summary = SummaryShape(allow_null=True)
    observations = ObservationShape(many=True)


class EntityTimeline(serializers.Serializer):
    """Everything that was ever held about an entity, newest first."""

    entityType = serializers.ChoiceField(choices=ENTITY_TYPES)
    entityId = serializers.CharField()
    timeline = ObservationShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class StatsShape(serializers.Serializer):
    """Figures about what you may see."""

    totalObservations = serializers.IntegerField()
    observationsByCategory = serializers.DictField(child=serializers.IntegerField())
    observationsByEntityType = serializers.DictField(child=serializers.IntegerField())


class ForgottenShape(serializers.Serializer):
    """The receipt of a deletion, which `POST /v1/forget/{forget_id}/lift` undoes."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=["forgotten"])
    forget_id = serializers.UUIDField()


def observations(sight: Sight, facts: Sequence[Fact]) -> list[dict[str, Any]]:
    """Return facts as observations, with what they rest on as far as the reader may see it."""
    found = sources(sight, facts)
    return [observation(fact, found[fact.pk]) for fact in facts]


def observation(fact: Fact, source: Source) -> dict[str, Any]:
    """Return one fact as an observation."""
    first = source.events[0] if source.events else None
    held = fact.valid_from or fact.recorded_from
    return {
        "id": fact.pk,
        "entityType": ENTITY_OF[fact.subject.kind],
        "entityId": fact.subject.key,
        "category": fact.category,
        "observation": fact.statement,
        "confidence": fact.confidence,
        "sourceType": SOURCE_OF[first.source_type] if first else None,
        "sourceMessageIds": [event.pk for event in source.events],
        "sourceUrl": _url(first.source_type, first.urls) if first else None,
        "sourceDate": held.date(),
        "expiresAt": fact.expires_at,
        "supersededBy": source.superseded_by,
        "createdAt": fact.recorded_from,
        "status": fact.status,
        "scope": fact.scope.path,
    }


def summary(found: Summary) -> dict[str, Any]:
    """Return one summary."""
    return {
        "id": found.id,
        "entityType": ENTITY_OF[found.subject_kind],
        "entityId": found.subject_key,
        "summaryType": found.summary_type,
        "summary": found.summary,
        "periodStart": found.period_start,
        "periodEnd": found.period_end,
        "createdAt": found.created_at,
        "updatedAt": found.updated_at,
        "scope": found.scope,
    }


def _url(source_type: str, urls: Sequence[str]) -> str | None:
    """Return the address that is the source itself, not one that a message happens to name."""
    return urls[0] if urls and source_type in {SourceType.URL_FETCH, SourceType.ADMIN_INPUT} else None
