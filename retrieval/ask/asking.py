"""Asking: search, gather more where an effort is named, have an answer worded, check it, and leave a trace.

No transaction is open and no connection held while a model works. What is told is read again afterwards, in the
transaction that writes the trace: what was forgotten, withdrawn or disputed meanwhile is not told any more.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import perf_counter
from typing import Any

from facts.clock import now
from facts.models import IndexedUnit
from facts.tenancy import account_transaction
from governance.access import Principal
from retrieval.ask import answering, planner, recording, verdict
from retrieval.ask.answering import AnswerFailed, Worded
from retrieval.ask.effort import EFFORTS, FIXED_EVIDENCE_TOKENS, Effort
from retrieval.ask.evidence import BASE, Evidence, EvidenceKey, of_result
from retrieval.ask.planner import Admission, Plan
from retrieval.ask.reading import Reading
from retrieval.ask.request import AskRequest
from retrieval.ask.tools import Toolbox
from retrieval.ask.verdict import Verdict
from retrieval.models import TraceKind
from retrieval.places import Place
from retrieval.profiles import overrides
from retrieval.search.answer import SearchAnswer
from retrieval.search.searching import search
from retrieval.traces import writing

#: The last transaction reads rows by their keys. Losing the last traces in a crash is worth not waiting for the disk.
_FINISHING = {"statement_timeout": "5000", "synchronous_commit": "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAnswer:
    """The answer and what it rests on. ``offered`` is the evidence in the order in which it was numbered.

    ``recall`` holds the diagnostics of a planned ask (``planner.report``), ``None`` for the fixed way.
    """

    base: SearchAnswer
    verdict: Verdict
    offered: Sequence[Evidence]
    recall: Mapping[str, Any] | None
    reference_time: datetime
    trace_id: uuid.UUID


def ask(
    *, principal: Principal, request: AskRequest, place: Place | None = None, kind: TraceKind = TraceKind.ASK
) -> AskAnswer:
    """Return the answer to a question.

    ``place`` replaces where and as whom the caller reads, for whoever has checked that it may; ``kind`` is that of the
    trace.

    Raises ``DomainError`` for what the caller may not ask. A model that fails is no error: the answer says so.
    """
    started = perf_counter()
    asked = replace(request.search, units=(IndexedUnit.FACT,))
    base = search(principal=principal, request=asked, kind=None, place=place)
    # After the search, so that nothing it found begins later than the instant as of which is answered.
    moment = now()
    reading = Reading.of(principal, asked, base.place, moment)
    page = [of_result(found, origin=BASE) for found in base.results]
    effort = EFFORTS.get(request.effort)
    head = effort.head(asked.limit) if effort else asked.limit
    found, plan = _gather(page, request, reading, effort, head=head)
    admission = planner.admit(
        page,
        found,
        limit=asked.limit,
        head=head,
        tokens=effort.evidence_tokens if effort else FIXED_EVIDENCE_TOKENS,
    )
    reference_time = reading.visible.at
    outcome = _word(principal, asked.query, admission.offered, reference_time)
    with account_transaction(principal.account_id, local=_FINISHING):
        there = reading.still_there([*page, *found])
        shown = _without(base, there)
        admission = _only(admission, there)
        result = outcome.settle(admission.offered)
        recall = None
        if effort and plan:
            recall = planner.report(plan, admission, effort=effort, profile=base.profile_version, base=len(page))
        trace = recording.trace_of(
            principal=principal,
            request=request,
            base=shown,
            admission=admission,
            found=[item for item in found if item.key in there],
            verdict=result,
            recall=recall,
            visible=reading.visible,
            moment=moment,
            kind=kind,
            milliseconds=round((perf_counter() - started) * 1000, 2),
        )
        writing.write(trace)
    return AskAnswer(
        base=shown,
        verdict=result,
        offered=admission.offered,
        recall=recall,
        reference_time=reference_time,
        trace_id=trace.id,
    )


def _gather(
    page: Sequence[Evidence], request: AskRequest, reading: Reading, effort: Effort | None, *, head: int
) -> tuple[list[Evidence], Plan | None]:
    """Return what the tools of the effort find beyond the page; nothing for the fixed way."""
    if effort is None:
        return [], None
    profile = overrides.resolve_search(
        account_id=reading.principal.account_id, path=reading.place.profile_path, name=request.search.profile
    )
    toolbox = Toolbox(reading=reading, profile=profile)
    return planner.gather(
        page,
        question=request.search.query,
        head=head,
        effort=effort,
        toolbox=toolbox,
        with_sources=request.include_source_recall,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What came of having an answer worded from ``evidence``: words, a failure, or neither where nobody was asked."""

    evidence: Sequence[Evidence]
    worded: Worded | None = None
    failure: AnswerFailed | None = None

    def settle(self, still_there: Sequence[Evidence]) -> Verdict:
        """Return what may be said of it, given the evidence that may still be told."""
        if self.failure is not None:
            return verdict.of_failure(self.failure, still_there)
        if self.worded is None:
            return verdict.without_model(still_there)
        result = verdict.of_model(self.worded, self.evidence)
        return result if len(still_there) == len(self.evidence) else verdict.evidence_changed(result)


def _word(principal: Principal, question: str, offered: Sequence[Evidence], reference_time: datetime) -> _Outcome:
    """Have the answer worded, outside of any transaction."""
    answerer = answering.configured() if offered else None
    if answerer is None:
        return _Outcome(evidence=offered)
    try:
        worded = answerer.answer(
            account_id=principal.account_id, question=question, evidence=offered, reference_time=reference_time
        )
    except AnswerFailed as failure:
        return _Outcome(evidence=offered, failure=failure)
    return _Outcome(evidence=offered, worded=worded)


def _without(base: SearchAnswer, there: set[EvidenceKey]) -> SearchAnswer:
    """Return the answer of the search without what may not be told any more."""
    kept = [found for found in base.results if EvidenceKey(found.unit, found.id) in there]
    return base if len(kept) == len(base.results) else replace(base, results=kept)


def _only(admission: Admission, there: set[EvidenceKey]) -> Admission:
    """Return the evidence without what may not be told any more."""
    return replace(
        admission,
        offered=tuple(item for item in admission.offered if item.key in there),
        left_out=tuple(item for item in admission.left_out if item.key in there),
    )
