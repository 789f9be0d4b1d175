"""The trace that a search leaves: everything that its answer was made of, in ids and figures."""

from __future__ import annotations

from datetime import datetime

from facts.models import IndexedUnit
from governance.access import Principal
from retrieval.context.packet import EmptyReason, PacketStatus
from retrieval.models import Trace, TraceKind
from retrieval.search.answer import SearchAnswer
from retrieval.search.request import SearchRequest, as_asked
from retrieval.traces.writing import asked_by, decided


def trace_of(
    answer: SearchAnswer,
    *,
    principal: Principal,
    request: SearchRequest,
    kind: TraceKind,
    question_time: datetime,
    moment: datetime,
    tokens: int,
    milliseconds: float,
) -> Trace:
    """Return the unsaved trace of a search that was answered; ``tokens`` are those of everything served."""
    place, decisions = answer.place, answer.decisions
    facts = sum(found.unit is IndexedUnit.FACT for found in answer.results)
    failed = answer.empty_reason is EmptyReason.RETRIEVAL_FAILED
    status = PacketStatus.DEGRADED if answer.warnings else PacketStatus.OK
    return Trace(
        id=answer.trace_id,
        **asked_by(principal, place, subject_key=request.subject_key),
        kind=kind,
        query=request.query,
        purpose=request.purpose,
        budget=request.limit,
        budget_unit="results",
        request=as_asked(request),
        question_time=question_time,
        as_of=request.as_of,
        known_at=request.known_at,
        profile=answer.profile_version,
        ranker=answer.ranker,
        embedder=answer.embedder,
        strategies={outcome.component: outcome.word for outcome in answer.outcomes},
        timings=dict(answer.timings),
        **decided(decisions),
        facts_served=facts,
        passages_served=len(answer.results) - facts,
        tokens=tokens,
        status=(PacketStatus.FAILED if failed else status).value,
        empty_reason=answer.empty_reason.value if answer.empty_reason else "",
        warnings=list(answer.warnings),
        duration_ms=milliseconds,
        created_at=moment,
    )
