"""The shapes of searches: requests are read by them, answers only described."""

from __future__ import annotations

import math
from typing import Any

from rest_framework import serializers

from facts.models import IndexedUnit
from governance.fields import InstantField, ReaderFields, ScopeFields, optional_text
from retrieval.api.profile_views import StableProfileShape
from retrieval.api.shapes import QueryField, SubjectAlias
from retrieval.context.packet import EmptyReason
from retrieval.outcomes import OutcomeStatus, ReasonClass
from retrieval.search.request import DEFAULT_LIMIT, MAX_LIMIT


class SourceFiltersFields(serializers.Serializer):
    """What is asked of the origin of results. An unknown filter is refused: it would be taken to hold."""

    provider = optional_text(64, "Provider whose model read the fact.")
    model = optional_text(128, "Model that read the fact.")
    prompt_version = optional_text(64, "Version of its prompt.")
    minimum_corroboration = serializers.IntegerField(
        required=False, min_value=0, max_value=1_000_000, default=0, help_text="Distinct human-authored sources."
    )
    event_id = serializers.UUIDField(
        required=False, allow_null=True, help_text="Only what this event says or is in evidence of."
    )

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the filters; raises for names that are none."""
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            raise serializers.ValidationError(dict.fromkeys(unknown, "There is no such filter."))
        return super().to_internal_value(data)


class SearchCall(ScopeFields, ReaderFields):
    """A search."""

    subject_alias = SubjectAlias(required=False, help_text="Instead of `subject_id`.")
    query = QueryField(required=False, allow_blank=True, default="", help_text='`"phrase"`, `-term` and `or` work.')
    purpose = optional_text(128, "What the answer is for.")
    profile = optional_text(32, "Name of a retrieval profile; `balanced` unless stated.")
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)
    types = serializers.ListField(
        child=serializers.ChoiceField(choices=IndexedUnit.values),
        required=False,
        allow_empty=False,
        max_length=len(IndexedUnit.values),
        help_text="Facts, passages or, unless stated, both.",
    )
    min_score = serializers.FloatField(
        required=False,
        allow_null=True,
        help_text="Least score, in the measure of each strategy, before they merge.",
    )
    source_filters = SourceFiltersFields(required=False, allow_null=True)
    include_cross_links = serializers.BooleanField(required=False, default=False)
    include_identity_profile = serializers.BooleanField(required=False, default=False)
    as_of = InstantField(required=False, allow_null=True, help_text="What was true then.")
    known_at = InstantField(required=False, allow_null=True, help_text="What was believed then.")

    def validate_min_score(self, value: float | None) -> float | None:
        """Refuse what is no number."""
        if value is not None and not math.isfinite(value):
            raise serializers.ValidationError("This is no number.")
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for one name of the subject."""
        attrs = super().validate(attrs)
        if attrs.get("subject_alias") and attrs["subject_key"]:
            raise serializers.ValidationError({"subject_alias": "State the subject or an alias of it, not both."})
        return attrs


class ExtractorShape(serializers.Serializer):
    """Who read a fact out of its source."""

    provider = serializers.CharField()
    model = serializers.CharField()
    prompt_version = serializers.CharField()


class SearchCandidateShape(serializers.Serializer):
    """One result. What only facts or only passages have is null for the others."""

    candidate_type = serializers.ChoiceField(choices=IndexedUnit.values)
    id = serializers.UUIDField()
    text = serializers.CharField(help_text="The statement, or the words of the passage.")
    fusion_score = serializers.FloatField(help_text="0 to 1; says nothing beside another search's.")
    strategies = serializers.ListField(child=serializers.CharField(), help_text="Those that found it.")
    strategy_scores = serializers.DictField(child=serializers.FloatField(), help_text="Each in its own measure.")
    detail = serializers.DictField(help_text="What a strategy says of its find, such as its lane.")
    scope = serializers.CharField()
    scope_id = serializers.UUIDField()
    subject_id = serializers.CharField()
    level = serializers.CharField()
    sensitivity = serializers.CharField()
    origin_trust = serializers.CharField()
    kind = serializers.CharField(help_text="Of the fact, or of the event that the passage is part of.")
    source_event_ids = serializers.ListField(child=serializers.UUIDField())
    valid_from = serializers.DateTimeField(allow_null=True, help_text="Since when it holds, or when it was said.")
    valid_to = serializers.DateTimeField(allow_null=True)
    statement = serializers.CharField(allow_null=True)
    version = serializers.IntegerField(allow_null=True)
    predicate = serializers.CharField(allow_null=True)
    value = serializers.DictField(allow_null=True)
    qualifiers = serializers.DictField(allow_null=True)
    category = serializers.CharField(allow_null=True)
    memory_form = serializers.CharField(allow_null=True)
    status = serializers.CharField(allow_null=True)
    confidence = serializers.FloatField(allow_null=True, help_text="× 0.75 when somebody else said it.")
    evidence_level = serializers.CharField(allow_null=True)
    corroboration = serializers.IntegerField(allow_null=True)
    extractor = ExtractorShape(allow_null=True)
    volatility = serializers.CharField(allow_null=True)
    freshness = serializers.ChoiceField(choices=["current", "unconfirmed", "stale"], allow_null=True)
    last_confirmed = serializers.DateTimeField(allow_null=True)
    possibly_conflicting = serializers.BooleanField(allow_null=True)
    speaker = serializers.CharField(allow_null=True)
    evidential = serializers.BooleanField(allow_null=True, help_text="False for assistant text and recalled memory.")


class OutcomeShape(serializers.Serializer):
    """What became of one component."""

    component = serializers.CharField()
    status = serializers.ChoiceField(choices=[status.value for status in OutcomeStatus])
    reason_class = serializers.ChoiceField(choices=[reason.value for reason in ReasonClass], allow_null=True)
    elapsed_ms = serializers.FloatField()
    budget_remaining_ms = serializers.FloatField()
    version = serializers.CharField(allow_null=True, help_text="Of the analysis or the model behind it.")


class DisagreementShape(serializers.Serializer):
    """What the strategies thought before their lists were merged."""

    strategy_count = serializers.IntegerField(help_text="Lists with results.")
    disjoint = serializers.BooleanField(help_text="Two lists or more, and no two share a result.")
    low_score = serializers.BooleanField(help_text="No score reaches 0.2 in any measure.")
    query_dependent_empty = serializers.BooleanField(help_text="No strategy that reads the words found anything.")


class SearchShape(serializers.Serializer):
    """The answer to a search."""

    candidates = SearchCandidateShape(many=True, help_text="Best first. The order is the answer; do not sort again.")
    profile = serializers.CharField()
    profile_version = serializers.CharField()
    ranker = serializers.CharField()
    contributed_strategies = serializers.ListField(child=serializers.CharField())
    empty_strategies = serializers.ListField(child=serializers.CharField())
    dropped_strategies = serializers.ListField(child=serializers.CharField())
    retrieval_outcomes = OutcomeShape(many=True)
    reader_posture = serializers.ChoiceField(choices=["peer", "public_only"])
    degraded = serializers.BooleanField()
    degraded_components = serializers.ListField(child=serializers.CharField())
    disagreement = DisagreementShape()
    pre_rerank_remaining_ms = serializers.IntegerField()
    reserved_rerank_ms = serializers.IntegerField()
    warnings = serializers.ListField(child=serializers.CharField())
    empty_reason = serializers.ChoiceField(
        choices=[reason.value for reason in EmptyReason], allow_null=True, help_text="Why there are no candidates."
    )
    identity_profile_status = serializers.ChoiceField(choices=["not_requested", "ready", "empty", "unavailable"])
    identity_profile = StableProfileShape(allow_null=True)
    trace_id = serializers.UUIDField(allow_null=True)
