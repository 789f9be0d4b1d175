"""The shapes of requests and answers of ingestion, as the API description shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from facts.models import Event, Job
from facts.models.records import JobStatus
from facts.vocabulary import OriginTrust, Sensitivity
from governance.fields import ReaderFields, ScopeFields
from ingest import reasons
from ingest.capture import MAX_TEXT, MAX_TURNS, Receipt
from ingest.models import CandidateOutcome, CandidateResult, EventOutcome, OutcomeResult
from ingest.observations import MAX_EVENTS, MAX_PAYLOAD_BYTES
from ingest.usage_report import Figures, Report


class Alias(serializers.Serializer):
    """A platform's name for the subject."""

    kind = serializers.CharField(max_length=64)
    value = serializers.CharField(max_length=256)


class CapturedEvent(serializers.Serializer):
    """One observation. Requests are read by ``ingest.observations``; this describes them."""

    project_id = serializers.CharField(required=False, help_text="`p` means exactly the scope `/p`.")
    scope = serializers.CharField(required=False, help_text="Path of the scope; created on first use.")
    subject_id = serializers.CharField(
        required=False, help_text="Key of whom it is about; the speaker when left out. Created on first use."
    )
    subject_type = serializers.CharField(required=False, default="user")
    subject_name = serializers.CharField(required=False)
    subject_alias = Alias(required=False)
    speaker = serializers.CharField(
        required=False, help_text="Key of who said it; the subject itself when left out. Also `peer_key`."
    )
    speaker_name = serializers.CharField(required=False)
    actor_type = serializers.CharField(required=False, help_text="`agent`, `tool` and `system` are never evidence.")
    actor_id = serializers.CharField(required=False)
    kind = serializers.CharField(required=False, default="conversation.message")
    occurred_at = serializers.DateTimeField(required=False, help_text="With an offset. Left out: now.")
    text = serializers.CharField(required=False, help_text="What was said, instead of a payload.")
    payload = serializers.DictField(
        required=False,
        help_text="`{text}`, `{content}`, `{message}`, or `{messages: [{role or speaker, content or text}]}`; anything "
        f"else is kept as a record. At most {MAX_PAYLOAD_BYTES // 1024} KiB, {MAX_TURNS} turns, {MAX_TEXT} characters.",
    )
    thread_id = serializers.CharField(required=False, help_text="Also `thread` and `session_id`.")
    channel_id = serializers.CharField(
        required=False, help_text="The shared channel in which it was said: makes it internal instead of personal."
    )
    channel_name = serializers.CharField(required=False)
    origin_trust = serializers.ChoiceField(choices=OriginTrust.choices, required=False)
    sensitivity = serializers.ChoiceField(choices=Sensitivity.choices, required=False, help_text="Can only raise it.")
    idempotency_key = serializers.CharField(required=False, max_length=256)
    agent_id = serializers.CharField(required=False)
    run_id = serializers.CharField(required=False)
    source = serializers.JSONField(required=False, help_text="Kept with the event.")
    metadata = serializers.JSONField(required=False, help_text="Kept with the event.")
    classification = serializers.ListField(child=serializers.CharField(), required=False)
    org_id = serializers.CharField(required=False, help_text="Kept with the event, never tenancy.")


class CaptureRequest(serializers.Serializer):
    """A batch of observations: kept together or not at all."""

    events = CapturedEvent(many=True, help_text=f"1 to {MAX_EVENTS}.")
    idempotency_key = serializers.CharField(required=False, allow_null=True, max_length=256)


class CaptureAnswer(serializers.Serializer):
    """What became of one observation."""

    id = serializers.UUIDField()
    deduplicated = serializers.BooleanField(help_text="It was there already.")
    revision = serializers.IntegerField()
    job_id = serializers.UUIDField(allow_null=True)
    notes = serializers.ListField(child=serializers.CharField(), help_text="What was replaced to make it storable.")


class Accepted(serializers.Serializer):
    """The answer to a capture; extraction follows in the background."""

    status = serializers.ChoiceField(choices=["accepted"])
    events = CaptureAnswer(many=True)
    consolidation_job_id = serializers.UUIDField(
        allow_null=True, help_text="Job of the latest new event; null when all were there already."
    )
    policy = serializers.CharField(help_text="The gate preset that decides what may be remembered.")


class Processed(serializers.Serializer):
    """How far processing came."""

    processed = serializers.IntegerField(help_text="Events that were waiting and are done.")
    pending = serializers.IntegerField(help_text="Events that still wait: for time, or for another try.")


class SubjectLine(ScopeFields, ReaderFields):
    """Whose events to process."""


class CandidateShape(serializers.Serializer):
    """What became of one possible fact."""

    ordinal = serializers.IntegerField()
    result = serializers.ChoiceField(choices=CandidateResult.choices)
    reason = serializers.CharField()
    explanation = serializers.CharField()
    statement = serializers.CharField(help_text="Empty where a fact holds it.")
    quote = serializers.CharField()
    fact_id = serializers.UUIDField(allow_null=True)
    fact_status = serializers.CharField(allow_null=True)


class Outcome(serializers.Serializer):
    """What became of an event."""

    event_id = serializers.UUIDField()
    result = serializers.ChoiceField(choices=OutcomeResult.choices)
    reason = serializers.CharField()
    explanation = serializers.CharField()
    counts = serializers.DictField(child=serializers.IntegerField())
    candidates = CandidateShape(many=True)
    provider = serializers.CharField()
    model = serializers.CharField()
    prompt_version = serializers.CharField()
    attempts = serializers.IntegerField()
    error_class = serializers.CharField()
    next_attempt_at = serializers.DateTimeField(allow_null=True)
    occurred_at = serializers.DateTimeField()
    recorded_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class JobShape(serializers.Serializer):
    """A piece of background work."""

    id = serializers.UUIDField()
    kind = serializers.CharField()
    status = serializers.ChoiceField(choices=JobStatus.choices)
    attempts = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    error_class = serializers.CharField()
    created_at = serializers.DateTimeField()
    run_after = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class UsageQuery(serializers.Serializer):
    """How far back to look."""

    days = serializers.IntegerField(required=False, min_value=1, max_value=366, default=30)


class UsageFigures(serializers.Serializer):
    """Sums over calls to models."""

    calls = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="Calls without an answer that could be used.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost_usd = serializers.FloatField(help_text="Of the calls whose cost is known.")
    unpriced = serializers.IntegerField(help_text="Answers whose cost is not known, and not in `cost_usd`.")
    average_latency_ms = serializers.IntegerField(allow_null=True)


class UsageDay(UsageFigures):
    """The calls to one model in one role on one day."""

    day = serializers.DateField()
    role = serializers.CharField()
    provider = serializers.CharField()
    model = serializers.CharField()


class UsageBudget(serializers.Serializer):
    """What may be spent in a day, and what is spent; a limit of null: any amount."""

    limit_usd = serializers.FloatField(allow_null=True)
    limit_tokens = serializers.IntegerField(allow_null=True)
    spent_usd = serializers.FloatField()
    spent_tokens = serializers.IntegerField()
    exhausted = serializers.BooleanField(help_text="What needs a model waits until `resets_at`.")
    resets_at = serializers.DateTimeField()


class UsageShape(serializers.Serializer):
    """What models cost the account. Days are those of its time zone; both ends are included."""

    first = serializers.DateField()
    last = serializers.DateField()
    timezone = serializers.CharField()
    days = UsageDay(many=True)
    total = UsageFigures()
    budget = UsageBudget()


def usage(found: Report) -> dict[str, Any]:
    """Return what models cost."""
    spent = found.budget
    return {
        "first": found.first,
        "last": found.last,
        "timezone": found.timezone,
        "days": [
            {
                "day": row.day,
                "role": row.role,
                "provider": row.provider,
                "model": row.model,
                **_figures(row.figures),
            }
            for row in found.days
        ],
        "total": _figures(found.total),
        "budget": {
            "limit_usd": None if spent.limit_usd is None else float(spent.limit_usd),
            "limit_tokens": spent.limit_tokens,
            "spent_usd": float(spent.spent_usd),
            "spent_tokens": spent.spent_tokens,
            "exhausted": spent.is_used_up,
            "resets_at": spent.resets_at,
        },
    }


def _figures(figures: Figures) -> dict[str, Any]:
    shown = {name: getattr(figures, name) for name in UsageFigures().fields}
    return {**shown, "cost_usd": float(figures.cost_usd)}


def accepted(receipt: Receipt) -> dict[str, Any]:
    """Return the answer to a capture."""
    return {
        "status": "accepted",
        "events": [
            {
                "id": event.event_id,
                "deduplicated": event.deduplicated,
                "revision": event.revision,
                "job_id": event.job_id,
                "notes": list(event.notes),
            }
            for event in receipt.events
        ],
        "consolidation_job_id": receipt.job_id,
        "policy": receipt.policy,
    }


def outcome(event: Event, found: EventOutcome | None, candidates: Sequence[CandidateOutcome]) -> dict[str, Any]:
    """Return what became of an event; one that never stood in line (written by people) came to nothing."""
    found = found or EventOutcome(result=OutcomeResult.NOTHING, reason=reasons.NOT_QUEUED)
    job = found.job
    waits = found.result == OutcomeResult.PENDING and job is not None
    return {
        "event_id": event.id,
        "result": found.result,
        "reason": found.reason,
        "explanation": reasons.explain(found.reason) or OutcomeResult(found.result).label,
        "counts": found.counts,
        "candidates": [_candidate(row) for row in candidates],
        "provider": found.provider,
        "model": found.model,
        "prompt_version": found.prompt_version,
        "attempts": job.attempts if job is not None else 0,
        "error_class": found.error_class,
        "next_attempt_at": job.run_after if waits and job.status == JobStatus.QUEUED else None,
        "occurred_at": event.occurred_at,
        "recorded_at": event.recorded_at,
        "finished_at": found.finished_at,
    }


def _candidate(row: CandidateOutcome) -> dict[str, Any]:
    return {
        "ordinal": row.ordinal,
        "result": row.result,
        "reason": row.reason,
        "explanation": reasons.explain(row.reason),
        "statement": row.statement,
        "quote": row.quote,
        "fact_id": row.fact_id,
        "fact_status": row.fact.status if row.fact is not None else None,
    }


def job(found: Job) -> dict[str, Any]:
    """Return what may be shown of a job."""
    return {name: getattr(found, name) for name in JobShape().fields}
