"""The shapes of reading one fact: as it is or was, its history, and its explanation."""

from __future__ import annotations

from rest_framework import serializers

from governance.fields import InstantField, ReaderFields
from retrieval.api.shapes import StoredFactShape


class FactQuery(ReaderFields):
    """As whom a fact is read, and of which time."""

    as_of = InstantField(required=False, help_text="Only if it held then.")
    known_at = InstantField(required=False, help_text="As it was believed then.")


class FactReaderQuery(ReaderFields):
    """As whom a fact is read."""


class RevisionShape(serializers.Serializer):
    """One revision. Who, why and the decision's id are for the fact's subject and curators."""

    version = serializers.IntegerField()
    status = serializers.CharField()
    action = serializers.CharField()
    scope = serializers.CharField()
    level = serializers.CharField()
    sensitivity = serializers.CharField()
    memory_form = serializers.CharField()
    value = serializers.DictField(allow_null=True)
    qualifiers = serializers.DictField()
    confidence = serializers.FloatField()
    volatility = serializers.CharField()
    corroboration = serializers.IntegerField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    last_reinforced_at = serializers.DateTimeField(allow_null=True)
    recorded_from = serializers.DateTimeField()
    recorded_to = serializers.DateTimeField(allow_null=True)
    actor = serializers.DictField(allow_null=True)
    reason = serializers.CharField(allow_null=True)
    decision_id = serializers.UUIDField(allow_null=True)


class FactHistoryShape(serializers.Serializer):
    """A fact and its revisions, oldest first."""

    fact_id = serializers.UUIDField()
    statement = serializers.CharField()
    revisions = RevisionShape(many=True)


class SightShape(serializers.Serializer):
    """One kind of reader."""

    reader = serializers.CharField()
    sees = serializers.BooleanField()
    why = serializers.CharField()


class QuoteShape(serializers.Serializer):
    """One source. Without its words where the caller may not read the event."""

    event_id = serializers.UUIDField(allow_null=True)
    quote = serializers.CharField(allow_null=True)
    occurred_at = serializers.DateTimeField(allow_null=True)
    human = serializers.BooleanField()
    withdrawn = serializers.BooleanField()


class EdgeShape(serializers.Serializer):
    """A relation; without its other end where the caller may not see it."""

    kind = serializers.CharField()
    direction = serializers.ChoiceField(choices=["outgoing", "incoming"])
    fact_id = serializers.UUIDField(allow_null=True)
    statement = serializers.CharField(allow_null=True)
    since = serializers.DateTimeField()


class SuppressionShape(serializers.Serializer):
    """What keeps it from being remembered again."""

    id = serializers.UUIDField()
    cause = serializers.CharField()
    evidence_until = serializers.DateTimeField(allow_null=True, help_text="Null: blocked for good.")
    created_at = serializers.DateTimeField()
    lifted_at = serializers.DateTimeField(allow_null=True)


class FactExplanationShape(serializers.Serializer):
    """Everything about a fact that the caller may know."""

    fact = StoredFactShape()
    status = serializers.CharField(help_text="To whom its status lets it be served.")
    audience = serializers.CharField()
    readers = SightShape(many=True)
    evidence = QuoteShape(many=True)
    relations = EdgeShape(many=True)
    suppressions = SuppressionShape(many=True, help_text="For its subject and curators.")
