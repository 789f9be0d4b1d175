"""The shapes of requests and answers of reading: requests are read by them, answers only described."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from facts.vocabulary import Status
from governance.fields import IDENTIFIER_LENGTH, InstantField, ReaderFields, ScopeFields, named, optional_text
from governance.pagination import PageFields
from retrieval.context.assembly import MAX_QUERY
from retrieval.models import CardKind

#: Tokens that a context call may fill unless it says otherwise, and the most it may ask for.
DEFAULT_BUDGET = 900
MAX_BUDGET = 1_000_000


class BudgetField(serializers.IntegerField):
    """A positive whole number; anything else is ``budget_exceeded``."""

    default_error_messages = {"budget_exceeded": f"A budget is a whole number from 1 to {MAX_BUDGET:,}."}

    def to_internal_value(self, data: Any) -> int:
        """Return the number; unlike its base, neither text nor a fraction is one."""
        if isinstance(data, bool) or not isinstance(data, int) or not 1 <= data <= MAX_BUDGET:
            self.fail("budget_exceeded")
        return data


class QueryField(serializers.CharField):
    """The question; blank asks for standing context."""

    default_error_messages = {"query_too_long": f"A query has at most {MAX_QUERY:,} characters."}

    def to_internal_value(self, data: Any) -> str:
        """Return the text; a longer one than is read is refused, not cut."""
        text = super().to_internal_value(data)
        if len(text) > MAX_QUERY:
            self.fail("query_too_long")
        return text


class SubjectAlias(serializers.Serializer):
    """A platform's name for the subject."""

    kind = serializers.CharField(max_length=64)
    value = serializers.CharField(max_length=256)


class ContextCall(ScopeFields, ReaderFields):
    """A context call."""

    subject_alias = SubjectAlias(required=False, help_text="Instead of `subject_id`.")
    query = QueryField(required=False, allow_blank=True, default="", help_text="Blank: standing context.")
    purpose = optional_text(128, "What the answer is for.")
    budget_tokens = BudgetField(required=False, help_text=f"Default {DEFAULT_BUDGET}.")
    budget_chars = BudgetField(required=False, help_text="Instead of `budget_tokens`.")
    as_of = InstantField(required=False, allow_null=True, help_text="What was true then.")
    known_at = InstantField(required=False, allow_null=True, help_text="What was believed then.")
    thread = optional_text(IDENTIFIER_LENGTH, "The session; with a blank query its summary is served first.")
    thread_id = optional_text(IDENTIFIER_LENGTH, "Same as `thread`.")
    session_id = optional_text(IDENTIFIER_LENGTH, "Same as `thread`.")
    render = serializers.ChoiceField(
        choices=["json", "text", "compact"],
        default="json",
        help_text="`text` adds a block ready for a prompt; `compact` a short one: the reader's profile as "
        "`User profile:`, then up to five facts as `Relevant observations:`.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for one budget and one name of the subject."""
        attrs = super().validate(attrs)
        attrs["thread_key"] = named(attrs, "thread")
        if "budget_tokens" in attrs and "budget_chars" in attrs:
            raise serializers.ValidationError({"budget_chars": "State one budget, in tokens or in characters."})
        if attrs.get("subject_alias") and attrs["subject_key"]:
            raise serializers.ValidationError({"subject_alias": "State the subject or an alias of it, not both."})
        return attrs


class ServedFactShape(serializers.Serializer):
    """One served fact."""

    id = serializers.UUIDField()
    version = serializers.IntegerField(help_text="The revision that is served.")
    statement = serializers.CharField()
    predicate = serializers.CharField(help_text="`statement` for a fact without a claim.")
    value = serializers.DictField()
    qualifiers = serializers.DictField(help_text="Conditions under which the value holds.")
    subject_id = serializers.CharField()
    scope = serializers.CharField()
    category = serializers.CharField()
    fact_kind = serializers.CharField()
    memory_form = serializers.CharField(help_text="`state`: one current value; `event`: occurrences accumulate.")
    status = serializers.CharField()
    sensitivity = serializers.CharField()
    confidence = serializers.FloatField(help_text="× 0.75 when somebody else said it.")
    evidence_level = serializers.CharField()
    origin_trust = serializers.CharField()
    volatility = serializers.CharField()
    freshness = serializers.ChoiceField(choices=["current", "unconfirmed", "stale"])
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    last_confirmed = serializers.DateTimeField()
    possibly_conflicting = serializers.BooleanField()
    source_event_ids = serializers.ListField(child=serializers.UUIDField())
    score = serializers.FloatField(allow_null=True, help_text="0 to 1; null for what no score chose.")


class ServedPassageShape(serializers.Serializer):
    """One served passage, word for word."""

    episode_id = serializers.UUIDField()
    event_id = serializers.UUIDField()
    kind = serializers.CharField()
    speaker = serializers.CharField()
    excerpt = serializers.CharField()
    occurred_at = serializers.DateTimeField()
    origin_trust = serializers.CharField()
    evidential = serializers.BooleanField(help_text="False for assistant text and recalled memory.")
    score = serializers.FloatField(allow_null=True)


class ServedLineShape(serializers.Serializer):
    """One line of a card."""

    text = serializers.CharField()
    fact_ids = serializers.ListField(child=serializers.UUIDField(), help_text="The facts that the line rests on.")
    edited = serializers.BooleanField(help_text="Whether a person wrote it.")
    section = serializers.CharField(help_text="The heading under which it stands in a profile; empty elsewhere.")


class ServedCardShape(serializers.Serializer):
    """What is served of a card: lines whose facts the reader may all see now."""

    kind = serializers.ChoiceField(choices=CardKind.choices)
    title = serializers.CharField()
    scope = serializers.CharField()
    lines = ServedLineShape(many=True)
    builder = serializers.CharField(help_text="What wrote it, and its version.")
    built_at = serializers.DateTimeField()


class PacketShape(serializers.Serializer):
    """What is served, and what has to be said about it."""

    cards = ServedCardShape(many=True, help_text="Summaries, when nothing was asked; with `compact` the profile.")
    facts = ServedFactShape(many=True)
    episodes = ServedPassageShape(many=True)
    warnings = serializers.ListField(child=serializers.CharField())
    status = serializers.ChoiceField(choices=["ok", "degraded", "failed"])
    empty_reason = serializers.ChoiceField(
        choices=["no_memory", "no_relevant_memory", "withheld", "over_budget", "retrieval_failed"], allow_null=True
    )


class ContextShape(serializers.Serializer):
    """The answer to a context call."""

    packet = PacketShape()
    token_count = serializers.IntegerField(help_text="Estimate for what is served.")
    trace_id = serializers.UUIDField()
    profile = serializers.CharField()
    ranker = serializers.CharField()
    reader_posture = serializers.ChoiceField(choices=["peer", "public_only"])
    strategies = serializers.DictField(child=serializers.CharField())
    projection_cache_hit = serializers.BooleanField(help_text="Whether a stored card was served.")
    fast_fallback = serializers.BooleanField(help_text="Whether facts were served live for want of a card.")
    text = serializers.CharField(required=False, help_text="With `render` only.")


class DecisionShape(serializers.Serializer):
    """What happened to one thing considered, and why."""

    fact_id = serializers.UUIDField(allow_null=True)
    episode_id = serializers.UUIDField(allow_null=True)
    action = serializers.ChoiceField(choices=["included", "excluded", "blocked"])
    reason_code = serializers.CharField()
    meaning = serializers.CharField()
    revision = serializers.IntegerField(allow_null=True)
    rank = serializers.IntegerField(allow_null=True)
    scores = serializers.DictField(child=serializers.FloatField(allow_null=True))
    fusion_score = serializers.FloatField(allow_null=True)
    token_cost = serializers.IntegerField(allow_null=True)


class TraceShape(serializers.Serializer):
    """A read, as listings show it."""

    id = serializers.UUIDField()
    kind = serializers.CharField()
    project_id = serializers.CharField()
    scope = serializers.CharField()
    subject_id = serializers.CharField()
    query = serializers.CharField()
    purpose = serializers.CharField()
    status = serializers.CharField()
    empty_reason = serializers.CharField(allow_null=True)
    token_count = serializers.IntegerField()
    fact_count = serializers.IntegerField()
    passage_count = serializers.IntegerField()
    considered = serializers.IntegerField()
    withheld = serializers.IntegerField()
    duration_ms = serializers.FloatField()
    created_at = serializers.DateTimeField()


class BudgetShape(serializers.Serializer):
    """What a call allowed to be served."""

    limit = serializers.IntegerField()
    unit = serializers.ChoiceField(choices=["tokens", "chars"])


class InspectionShape(TraceShape):
    """Everything a trace tells. The packet is rendered again from the revisions that were served."""

    trace_id = serializers.UUIDField()
    packet = PacketShape()
    no_longer_shown = serializers.IntegerField(help_text="Served then; forgotten since, or not for the caller now.")
    decisions = DecisionShape(many=True)
    budget = BudgetShape()
    question_time = serializers.DateTimeField()
    as_of = serializers.DateTimeField(allow_null=True)
    known_at = serializers.DateTimeField(allow_null=True)
    profile = serializers.CharField()
    ranker = serializers.CharField()
    embedder = serializers.CharField(allow_null=True)
    strategies = serializers.DictField(child=serializers.CharField())
    reader_posture = serializers.CharField()
    credential = serializers.CharField()
    stage_timings = serializers.DictField(child=serializers.FloatField(), help_text="Milliseconds.")
    warnings = serializers.ListField(child=serializers.CharField())


class TraceShapes(serializers.Serializer):
    """A page of traces, newest first."""

    traces = TraceShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class StoredFactShape(serializers.Serializer):
    """A stored fact, whatever its status."""

    id = serializers.UUIDField()
    version = serializers.IntegerField()
    statement = serializers.CharField()
    predicate = serializers.CharField()
    value = serializers.DictField()
    qualifiers = serializers.DictField()
    project_id = serializers.CharField()
    scope = serializers.CharField()
    subject_id = serializers.CharField()
    subject_type = serializers.CharField()
    status = serializers.CharField()
    withheld = serializers.CharField(allow_null=True)
    possibly_conflicting = serializers.BooleanField()
    level = serializers.CharField()
    sensitivity = serializers.CharField()
    category = serializers.CharField()
    fact_kind = serializers.CharField()
    memory_form = serializers.CharField()
    confidence = serializers.FloatField()
    evidence_level = serializers.CharField()
    origin_trust = serializers.CharField()
    volatility = serializers.CharField()
    corroboration = serializers.IntegerField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    recorded_from = serializers.DateTimeField()
    recorded_to = serializers.DateTimeField(allow_null=True)
    last_reinforced_at = serializers.DateTimeField(allow_null=True)
    source_event_ids = serializers.ListField(child=serializers.UUIDField())


class StoredFactShapes(serializers.Serializer):
    """A page of facts, newest first."""

    facts = StoredFactShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class EventShape(serializers.Serializer):
    """One thing that was said."""

    id = serializers.UUIDField()
    revision = serializers.IntegerField()
    project_id = serializers.CharField()
    scope = serializers.CharField()
    subject_id = serializers.CharField()
    subject_type = serializers.CharField()
    speaker = serializers.CharField(allow_null=True)
    kind = serializers.CharField()
    source_type = serializers.CharField()
    text = serializers.CharField()
    payload = serializers.DictField()
    occurred_at = serializers.DateTimeField()
    recorded_at = serializers.DateTimeField()
    processed_at = serializers.DateTimeField(allow_null=True)
    hash = serializers.CharField()
    origin_trust = serializers.CharField()
    sensitivity = serializers.CharField()
    thread_id = serializers.CharField(allow_null=True)
    agent_id = serializers.CharField(allow_null=True)
    run_id = serializers.CharField(allow_null=True)


class EventShapes(serializers.Serializer):
    """A page of a timeline, newest first."""

    events = EventShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class FactsQuery(ScopeFields, ReaderFields, PageFields):
    """Which facts to list."""

    status = serializers.ChoiceField(choices=Status.choices, required=False)
    as_of = InstantField(required=False, help_text="What held then.")
    known_at = InstantField(required=False, help_text="What was believed then.")


class TimelineQuery(ScopeFields, ReaderFields, PageFields):
    """Whose events to list."""

    as_of = InstantField(required=False, help_text="What was said by then.")
    known_at = InstantField(required=False, help_text="What was recorded by then.")


class TracesQuery(ScopeFields, ReaderFields, PageFields):
    """Which traces to list."""

    scope_required = False


class OverviewQuery(ScopeFields, ReaderFields):
    """Which figures to show."""

    scope_required = False

    days = serializers.IntegerField(required=False, min_value=1, max_value=366, default=30)


class DayCountShape(serializers.Serializer):
    """A number for a day."""

    date = serializers.DateField()
    count = serializers.IntegerField()


class GroupShape(serializers.Serializer):
    """The figures of a part of the calls."""

    calls = serializers.IntegerField()
    injection_rate = serializers.FloatField(allow_null=True)
    served = serializers.IntegerField()
    withheld = serializers.IntegerField()
    tokens = serializers.IntegerField()


class ScopeGroupShape(GroupShape):
    """The figures of one scope."""

    scope = serializers.CharField()


class PurposeGroupShape(GroupShape):
    """The figures of one purpose."""

    purpose = serializers.CharField()


class DayGroupShape(GroupShape):
    """The figures of one day."""

    date = serializers.DateField()


class ConflictFiguresShape(serializers.Serializer):
    """Conflict sets of the window."""

    opened = serializers.IntegerField()
    closed = serializers.IntegerField()


class ReviewFiguresShape(serializers.Serializer):
    """Reviews: those that wait now for the caller, and those of the window."""

    waiting = serializers.IntegerField(allow_null=True, help_text="Null for keys without delegated decisions.")
    oldest_seconds = serializers.FloatField(allow_null=True)
    overdue = serializers.IntegerField(allow_null=True)
    opened = serializers.IntegerField()
    decided = serializers.IntegerField()
    decided_p50_seconds = serializers.FloatField(allow_null=True, help_text="Half of those decided waited no longer.")
    decided_p95_seconds = serializers.FloatField(allow_null=True)


class RatingFiguresShape(serializers.Serializer):
    """What readers said of what they were served."""

    by_rating = serializers.DictField(child=serializers.IntegerField())
    wasted_share = serializers.FloatField(allow_null=True, help_text="Share of ratings: irrelevant or incorrect.")


class ExtractionFiguresShape(serializers.Serializer):
    """What reading messages for facts came to."""

    events = serializers.IntegerField(help_text="Events whose reading ended.")
    rejected_by_reason = serializers.DictField(child=serializers.IntegerField())

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add the field whose name is a word of the language."""
        share = serializers.FloatField(allow_null=True, help_text="Share of the events of which a fact came.")
        return {**super().get_fields(), "yield": share}


class CostFiguresShape(serializers.Serializer):
    """What models cost the account."""

    usd = serializers.FloatField(allow_null=True)
    usd_by_role = serializers.DictField(child=serializers.FloatField())
    calls = serializers.IntegerField()
    unpriced_calls = serializers.IntegerField(help_text="Calls without a known price; they are not in `usd`.")


class OverviewShape(serializers.Serializer):
    """Figures about reading. What was not measured is null."""

    window_days = serializers.IntegerField()
    active_facts = serializers.IntegerField()
    events_this_week = DayCountShape(many=True)
    recall_count = serializers.IntegerField(help_text="Context calls.")
    injection_rate = serializers.FloatField(allow_null=True, help_text="Share of calls that served a fact.")
    hit_rate = serializers.FloatField(allow_null=True, help_text="Older name of `injection_rate`.")
    recall_p50_ms = serializers.FloatField(allow_null=True)
    recall_p95_ms = serializers.FloatField(allow_null=True)
    recall_p99_ms = serializers.FloatField(allow_null=True)
    context_tokens_served = serializers.IntegerField()
    considered = serializers.IntegerField()
    served = serializers.IntegerField()
    withheld = serializers.IntegerField()
    degraded = serializers.IntegerField()
    failed = serializers.IntegerField()
    empty_by_reason = serializers.DictField(child=serializers.IntegerField())
    decisions_by_reason = serializers.DictField(child=serializers.IntegerField())
    by_scope = ScopeGroupShape(many=True)
    by_purpose = PurposeGroupShape(many=True)
    by_day = DayGroupShape(many=True)
    open_conflicts = serializers.IntegerField()
    oldest_open_seconds = serializers.FloatField(allow_null=True)
    calls_by_kind = serializers.DictField(child=serializers.IntegerField(), help_text="Context calls, searches, asks.")
    conflicts = ConflictFiguresShape(allow_null=True)
    reviews = ReviewFiguresShape(allow_null=True)
    ratings = RatingFiguresShape(allow_null=True)
    extraction = ExtractionFiguresShape(allow_null=True)
    cost = CostFiguresShape(allow_null=True)
