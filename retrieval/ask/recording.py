"""The trace of an ask: what was considered, offered and cited, and how the answer ended; never its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from facts.ids import new_id
from facts.models import IndexedUnit
from governance.access import Principal
from retrieval.ask.evidence import BASE, Evidence, EvidenceKey
from retrieval.ask.planner import Admission
from retrieval.ask.request import AskRequest
from retrieval.ask.verdict import Verdict
from retrieval.context.packet import EmptyReason, PacketStatus
from retrieval.models import Trace, TraceKind
from retrieval.search.answer import SearchAnswer
from retrieval.search.request import as_asked
from retrieval.traces.reasons import MEANING, Action, Reason
from retrieval.traces.writing import Decision, asked_by, decided
from retrieval.visibility import Visibility

#: What a trace keeps of the planner's report.
_COUNTS = (
    "playbook",
    "iterations",
    "tool_calls",
    "provider_calls",
    "query_tokens",
    "evidence_tokens",
    "base_count",
    "new_count",
    "admitted_count",
    "admitted_new_count",
    "exhausted_bounds",
    "elapsed_ms",
)


def trace_of(
    *,
    principal: Principal,
    request: AskRequest,
    base: SearchAnswer,
    admission: Admission,
    found: Sequence[Evidence],
    verdict: Verdict,
    recall: Mapping[str, Any] | None,
    visible: Visibility,
    moment: datetime,
    kind: TraceKind,
    milliseconds: float,
) -> Trace:
    """Return the unsaved trace. ``found`` is what the tools added; ``base`` without what may not be told any more."""
    decisions = _decisions(base, admission, found, verdict)
    told = {EvidenceKey(result.unit, result.id) for result in base.results} | {item.key for item in admission.offered}
    facts = sum(key.unit is IndexedUnit.FACT for key in told)
    warnings = [*base.warnings, *([f"answer_degraded: {verdict.degraded}"] if verdict.degraded else [])]
    failed = base.empty_reason is EmptyReason.RETRIEVAL_FAILED and not told
    status = PacketStatus.FAILED if failed else PacketStatus.DEGRADED if warnings else PacketStatus.OK
    place, asked = base.place, request.search
    return Trace(
        id=new_id(),
        **asked_by(principal, place, subject_key=asked.subject_key),
        kind=kind,
        query=asked.query,
        purpose=asked.purpose,
        budget=asked.limit,
        budget_unit="results",
        request={
            **as_asked(asked),
            "effort": request.effort or None,
            "include_source_recall": request.include_source_recall,
            "answer": {
                "abstained": verdict.abstained,
                "confidence": verdict.confidence,
                "degraded": verdict.degraded,
                "cited": len(verdict.cited),
            },
            "recall": {name: recall[name] for name in _COUNTS} if recall else None,
        },
        question_time=visible.at,
        as_of=asked.as_of,
        known_at=asked.known_at,
        profile=base.profile_version,
        ranker=base.ranker,
        embedder=base.embedder,
        strategies={outcome.component: outcome.word for outcome in base.outcomes},
        timings=dict(base.timings),
        **decided(decisions),
        facts_served=facts,
        passages_served=len(told) - facts,
        tokens=sum(item.tokens for item in admission.offered),
        status=status.value,
        empty_reason=base.empty_reason.value if base.empty_reason and not told else "",
        warnings=warnings,
        duration_ms=milliseconds,
        created_at=moment,
    )


def _decisions(base: SearchAnswer, admission: Admission, found: Sequence[Evidence], verdict: Verdict) -> list[Decision]:
    """Return one decision for everything considered: evidence in its order, then the rest of what was searched."""
    cited = {item.key for item in verdict.cited}
    decided: dict[EvidenceKey, Decision] = {}
    for rank, item in enumerate(admission.offered, start=1):
        decided[item.key] = item.decision(Reason.CITED if item.key in cited else Reason.OFFERED, rank=rank)
    for item in found:
        if item.origin != BASE:
            decided.setdefault(item.key, item.decision(Reason.BEYOND_EVIDENCE, rank=None))
    served = {EvidenceKey(result.unit, result.id) for result in base.results}
    for decision in base.decisions:
        key = EvidenceKey(decision.unit, decision.id)
        gone = MEANING[decision.reason][0] is Action.INCLUDED and key not in served
        if key in decided:
            _keep_scores(decided[key], decision)
        elif not gone:
            decided[key] = decision
    return list(decided.values())


def _keep_scores(decision: Decision, searched: Decision) -> None:
    """Copy the scores of the question's own search to the decision about the same thing."""
    decision.similarity = searched.similarity
    decision.text_score = searched.text_score
    decision.recency = searched.recency
    decision.fusion_score = searched.fusion_score
    decision.scores = searched.scores
