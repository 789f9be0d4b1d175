"""The shapes of replaying a trace and of asking why a fact was not served."""

from __future__ import annotations

from rest_framework import serializers

from retrieval.api.shapes import DecisionShape
from retrieval.traces.replay import ReplayMode


class ReplayCall(serializers.Serializer):
    """Which store is asked."""

    mode = serializers.ChoiceField(
        choices=[mode.value for mode in ReplayMode],
        default=ReplayMode.NOW.value,
        help_text="`then`: what was known at the time of the trace, by its profile; `now`: today's.",
    )


class ReplayedSideShape(serializers.Serializer):
    """One of the two answers."""

    trace_id = serializers.UUIDField()
    profile = serializers.CharField()
    ranker = serializers.CharField()
    status = serializers.CharField()
    empty_reason = serializers.CharField(allow_null=True)
    as_of = serializers.DateTimeField(allow_null=True)
    known_at = serializers.DateTimeField(allow_null=True)
    served = serializers.IntegerField(help_text="Facts and passages, also those that are not shown now.")


class ReplayedItemShape(serializers.Serializer):
    """One fact or passage of either answer."""

    fact_id = serializers.UUIDField(allow_null=True)
    episode_id = serializers.UUIDField(allow_null=True)
    text = serializers.CharField()
    change = serializers.ChoiceField(choices=["same", "moved", "added", "missing"])
    rank_before = serializers.IntegerField(allow_null=True)
    rank_after = serializers.IntegerField(allow_null=True)
    reason_before = serializers.CharField(allow_null=True, help_text="Reason code, or what kept it out.")
    reason_after = serializers.CharField(allow_null=True)


class ReplayShape(serializers.Serializer):
    """A trace and its replay, compared."""

    mode = serializers.ChoiceField(choices=[mode.value for mode in ReplayMode])
    original = ReplayedSideShape()
    replayed = ReplayedSideShape()
    items = ReplayedItemShape(many=True)
    hidden = serializers.IntegerField(help_text="Served by one of them; gone since, or not for the caller.")
    notes = serializers.ListField(child=serializers.CharField(), help_text="What else makes the answers differ.")


class ObstacleShape(serializers.Serializer):
    """One thing that kept the fact out."""

    code = serializers.CharField()
    meaning = serializers.CharField()
    detail = serializers.DictField()


class WhyShape(serializers.Serializer):
    """What became of a fact in a read."""

    trace_id = serializers.UUIDField()
    fact_id = serializers.UUIDField()
    served = serializers.BooleanField()
    decision = DecisionShape(allow_null=True, help_text="Null for a fact that was not considered.")
    obstacles = ObstacleShape(many=True, help_text="In the order of the pipeline; the first one decided.")
