"""The trace that a search leaves: everything that its answer was made of, in ids and figures."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from facts.models import IndexedUnit
from governance.access import Principal
from retrieval.models import Trace, TraceKind
from retrieval.packet import EmptyReason, PacketStatus
from retrieval.reasons import MEANING, Action
from retrieval.search_answer import SearchAnswer
from retrieval.search_request import SearchRequest, as_asked


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
        account_id=principal.account_id,
        kind=kind,
        scope_id=place.scope.id if place.scope else None,
        scope_path=place.path,
        subject_id=place.subject.id if place.subject else None,
        subject_key=place.subject.key if place.subject else request.subject_key[:200],
        reader_posture=answer.reader_posture,
        reader_id=place.reader.subject_id,
        credential_id=principal.pk,
        credential_name=principal.name[:200],
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
        decisions=[decision.packed() for decision in decisions],
        reasons=dict(Counter(decision.reason.value for decision in decisions)),
        considered=len(decisions),
        facts_served=facts,
        passages_served=len(answer.results) - facts,
        withheld=sum(MEANING[decision.reason][0] is Action.BLOCKED for decision in decisions),
        tokens=tokens,
        status=(PacketStatus.FAILED if failed else status).value,
        empty_reason=answer.empty_reason.value if answer.empty_reason else "",
        warnings=list(answer.warnings),
        duration_ms=milliseconds,
        created_at=moment,
    )
