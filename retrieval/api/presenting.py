"""How answers of reading look: plain functions, because a serializer for each of a hundred facts costs a request."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from facts.models import Event, Fact
from governance.fields import project_id_of
from retrieval.context import rendering
from retrieval.context.assembly import ContextAnswer
from retrieval.context.packet import Packet, ServedCard, ServedFact, ServedPassage
from retrieval.models import Trace
from retrieval.statistics import Figures, Overview
from retrieval.traces.selectors import Rendered
from retrieval.traces.writing import unpack
from retrieval.work_figures import Behind


def context_answer(answer: ContextAnswer, *, render: str) -> dict[str, Any]:
    """Return the answer of a context call; with ``render`` the packet also as text."""
    body: dict[str, Any] = {
        "packet": packet(answer.packet),
        "token_count": answer.token_count,
        "trace_id": answer.trace_id,
        "profile": answer.profile,
        "ranker": answer.ranker,
        "reader_posture": answer.reader_posture,
        "strategies": answer.strategies,
        "projection_cache_hit": answer.projection_cache_hit,
        "fast_fallback": answer.fast_fallback,
    }
    if render == "text":
        body["text"] = rendering.block(answer.packet)
    elif render == "compact":
        body["text"] = rendering.compact(answer.packet)
    return body


def packet(served: Packet) -> dict[str, Any]:
    """Return a packet. ``episodes`` are the passages by their older name."""
    return {
        "cards": [card(item) for item in served.cards],
        "facts": [fact(item) for item in served.facts],
        "episodes": [passage(item) for item in served.passages],
        "warnings": served.warnings,
        "status": served.status,
        "empty_reason": served.empty_reason,
    }


def card(served: ServedCard) -> dict[str, Any]:
    """Return what is served of a card, each line with the facts it rests on."""
    return {
        "kind": served.kind,
        "title": served.title,
        "scope": served.scope,
        "lines": [
            {"text": line.text, "fact_ids": line.facts, "edited": line.edited, "section": line.section}
            for line in served.lines
        ],
        "builder": served.builder,
        "built_at": served.built_at,
    }


def fact(served: ServedFact) -> dict[str, Any]:
    """Return one served fact. A fact without a claim has the predicate ``statement``."""
    return {
        "id": served.id,
        "version": served.version,
        "statement": served.statement,
        "predicate": served.predicate or "statement",
        "value": served.value if served.value is not None else {"text": served.statement},
        "qualifiers": served.qualifiers,
        "subject_id": served.subject,
        "scope": served.scope,
        "category": served.category,
        "fact_kind": served.kind,
        "memory_form": served.form,
        "status": served.status,
        "sensitivity": served.sensitivity,
        "confidence": served.confidence,
        "evidence_level": served.evidence_level,
        "origin_trust": served.origin_trust,
        "volatility": served.volatility,
        "freshness": served.freshness,
        "valid_from": served.valid_from,
        "valid_to": served.valid_to,
        "last_confirmed": served.last_confirmed,
        "possibly_conflicting": served.possibly_conflicting,
        "source_event_ids": served.source_event_ids,
        "score": served.score,
    }


def passage(served: ServedPassage) -> dict[str, Any]:
    """Return one served passage."""
    return {
        "episode_id": served.id,
        "event_id": served.event_id,
        "kind": served.kind,
        "speaker": served.speaker,
        "excerpt": served.text,
        "occurred_at": served.occurred_at,
        "origin_trust": served.origin_trust,
        "evidential": served.evidential,
        "score": served.score,
    }


def trace_summary(trace: Trace) -> dict[str, Any]:
    """Return a trace as listings show it."""
    return {
        "id": trace.id,
        "kind": trace.kind,
        "project_id": project_id_of(trace.scope_path),
        "scope": trace.scope_path,
        "subject_id": trace.subject_key,
        "query": trace.query,
        "purpose": trace.purpose,
        "status": trace.status,
        "empty_reason": trace.empty_reason or None,
        "token_count": trace.tokens,
        "fact_count": trace.facts_served,
        "passage_count": trace.passages_served,
        "considered": trace.considered,
        "withheld": trace.withheld,
        "duration_ms": trace.duration_ms,
        "created_at": trace.created_at,
    }


def inspection(trace: Trace, rendered: Rendered) -> dict[str, Any]:
    """Return everything a trace tells."""
    return {
        "trace_id": trace.id,
        **trace_summary(trace),
        "packet": packet(rendered.packet),
        "no_longer_shown": rendered.gone,
        "decisions": [decision(row) for row in unpack(trace.decisions)],
        "budget": {"limit": trace.budget, "unit": trace.budget_unit},
        "question_time": trace.question_time,
        "as_of": trace.as_of,
        "known_at": trace.known_at,
        "profile": trace.profile,
        "ranker": trace.ranker,
        "embedder": trace.embedder or None,
        "strategies": trace.strategies,
        "reader_posture": trace.reader_posture,
        "credential": trace.credential_name,
        "stage_timings": trace.timings,
        "warnings": trace.warnings,
    }


def decision(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what happened to one thing considered."""
    about_fact = row["unit"] == "fact"
    return {
        "fact_id": row["id"] if about_fact else None,
        "episode_id": None if about_fact else row["id"],
        "action": row["action"],
        "reason_code": row["reason"],
        "meaning": row["meaning"],
        "revision": row["revision"],
        "rank": row["rank"],
        "scores": row["scores"] or {axis: row[axis] for axis in ("similarity", "text_score", "recency")},
        "fusion_score": row["fusion_score"],
        "token_cost": row["tokens"],
    }


def stored_fact(stored: Fact, *, sources: tuple[Any, ...]) -> dict[str, Any]:
    """Return a fact as a listing shows it, whatever its status."""
    return {
        "id": stored.id,
        "version": stored.version,
        "statement": stored.statement,
        "predicate": stored.predicate or "statement",
        "value": stored.value if stored.value is not None else {"text": stored.statement},
        "qualifiers": stored.qualifiers,
        "project_id": project_id_of(stored.scope.path),
        "scope": stored.scope.path,
        "subject_id": stored.subject.key,
        "subject_type": stored.subject.kind,
        "status": stored.status,
        "withheld": stored.withheld or None,
        "possibly_conflicting": stored.possibly_conflicting,
        "level": stored.level,
        "sensitivity": stored.sensitivity,
        "category": stored.category,
        "fact_kind": stored.kind,
        "memory_form": stored.form,
        "confidence": stored.confidence,
        "evidence_level": stored.evidence_level,
        "origin_trust": stored.origin_trust,
        "volatility": stored.volatility,
        "corroboration": stored.corroboration,
        "valid_from": stored.valid_from,
        "valid_to": stored.valid_to,
        "recorded_from": stored.recorded_from,
        "recorded_to": stored.recorded_to,
        "last_reinforced_at": stored.last_reinforced_at,
        "source_event_ids": sources,
    }


def event(said: Event) -> dict[str, Any]:
    """Return an event of a timeline."""
    return {
        "id": said.id,
        "revision": said.revision,
        "project_id": project_id_of(said.scope.path),
        "scope": said.scope.path,
        "subject_id": said.subject.key,
        "subject_type": said.subject.kind,
        "speaker": said.speaker.key if said.speaker else None,
        "kind": said.kind,
        "source_type": said.source_type,
        "text": said.text,
        "payload": said.payload,
        "occurred_at": said.occurred_at,
        "recorded_at": said.recorded_at,
        "processed_at": said.processed_at,
        "hash": said.content_hash,
        "origin_trust": said.origin_trust,
        "sensitivity": said.sensitivity,
        "thread_id": said.thread or None,
        "agent_id": said.agent_id or None,
        "run_id": said.run_id or None,
    }


def overview(
    figures: Overview,
    *,
    open_conflicts: int,
    oldest_open: datetime | None,
    behind: Behind | None,
    at: datetime,
) -> dict[str, Any]:
    """Return the overview. What was not measured is null, never 0."""
    total = figures.total
    return {
        "window_days": figures.window_days,
        "active_facts": figures.active_facts,
        "events_this_week": [{"date": day, "count": number} for day, number in figures.events_by_day.items()],
        "recall_count": total.calls,
        "injection_rate": total.injection_rate,
        "hit_rate": total.injection_rate,
        "recall_p50_ms": figures.p50_ms,
        "recall_p95_ms": figures.p95_ms,
        "recall_p99_ms": figures.p99_ms,
        "context_tokens_served": total.tokens,
        "considered": total.considered,
        "served": total.served,
        "withheld": total.withheld,
        "degraded": total.degraded,
        "failed": total.failed,
        "empty_by_reason": total.empty,
        "decisions_by_reason": total.reasons,
        "by_scope": [{"scope": path, **_group(group)} for path, group in sorted(figures.by_scope.items())],
        "by_purpose": [{"purpose": purpose, **_group(group)} for purpose, group in sorted(figures.by_purpose.items())],
        "by_day": [{"date": day, **_group(group)} for day, group in sorted(figures.by_day.items())],
        "calls_by_kind": {kind: group.calls for kind, group in sorted(figures.by_kind.items())},
        "open_conflicts": open_conflicts,
        "oldest_open_seconds": (at - oldest_open.astimezone(UTC)).total_seconds() if oldest_open else None,
        **_behind(behind, at),
    }


def _behind(behind: Behind | None, at: datetime) -> dict[str, Any]:
    """Return what was decided, read and paid for; null for whom it is not."""
    if behind is None:
        return dict.fromkeys(("conflicts", "reviews", "ratings", "extraction", "cost"))
    work, cost, waiting = behind.work, behind.cost, behind.waiting
    return {
        "conflicts": {"opened": work.conflicts_opened, "closed": work.conflicts_closed},
        "reviews": {
            "waiting": waiting.count,
            "oldest_seconds": (at - waiting.oldest).total_seconds() if waiting.oldest else None,
            "overdue": waiting.overdue,
            "opened": work.reviews_opened,
            "decided": work.reviews_decided,
            "decided_p50_seconds": work.review_p50,
            "decided_p95_seconds": work.review_p95,
        },
        "ratings": {"by_rating": work.ratings, "wasted_share": work.wasted_share},
        "extraction": {
            "events": work.events_read,
            "yield": work.extraction_yield,
            "rejected_by_reason": work.rejections,
        },
        "cost": None
        if cost is None
        else {"usd": cost.total, "usd_by_role": cost.by_role, "calls": cost.calls, "unpriced_calls": cost.unpriced},
    }


def _group(group: Figures) -> dict[str, Any]:
    return {
        "calls": group.calls,
        "injection_rate": group.injection_rate,
        "served": group.served,
        "withheld": group.withheld,
        "tokens": group.tokens,
    }
