"""Searching: strategies side by side under one deadline, their lists fused, and what is served read again.

Three steps, so that nothing waits with a transaction open: where is read and as whom; the strategies, each on its own
connection, the fusion and the reranker, before the profile's deadline; then, in one transaction, what is served and
the trace that explains it.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from facts import embedding
from facts.audience import Posture, Reader
from facts.clock import now
from facts.embedding import Embedded
from facts.ids import new_id
from facts.models import IndexedUnit, Scope, Subject
from facts.tenancy import account_transaction
from governance.access import Principal, Right
from retrieval import candidates, places, scope_links
from retrieval.candidates import Question
from retrieval.context import gate
from retrieval.context.assembly import Progress
from retrieval.context.packet import EmptyReason
from retrieval.context.question_vector import QuestionVector
from retrieval.fusion import Fused
from retrieval.models import TraceKind
from retrieval.outcomes import Deadline, Outcome, OutcomeStatus, ReasonClass
from retrieval.places import Place
from retrieval.profiles import overrides
from retrieval.profiles.shipped import SearchProfile
from retrieval.search import lists, reranking, running, serving
from retrieval.search.answer import SearchAnswer
from retrieval.search.request import SearchRequest
from retrieval.search.reranking import Reranked
from retrieval.search.running import Run
from retrieval.search.trace import trace_of
from retrieval.stable_profile import StableProfile, decided_with, stable_profile
from retrieval.strategies import text_match
from retrieval.strategies.base import Hit, Item, StrategyQuestion
from retrieval.strategies.lexical import matches_anything
from retrieval.text import known_names, lexical_operators
from retrieval.traces import writing
from retrieval.traces.reasons import Reason
from retrieval.traces.writing import Decision
from retrieval.visibility import CUT_HISTORY, Visibility, is_cut

#: Changes whenever the same store and question could give another order.
RANKER_VERSION = "search-1"
#: Length of each strategy's list, for facts and for passages, in multiples of the results asked for, and at least.
#: A longer list says more about how good its best are: scores are stretched over the whole of it.
LISTS = 2
LEAST_LIST = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What was resolved before anything is searched: where, as whom, of which time, and the words to look for.

    ``text`` holds no operators; what they demand is in ``demanded``.
    """

    place: Place
    visible: Visibility
    linked: Sequence[Scope]
    past: Sequence[uuid.UUID] | None
    text: str
    demanded: str | None
    profile: SearchProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """What the strategies, the fusion and the reranker made of a question."""

    question: StrategyQuestion
    runs: Sequence[Run]
    hits: Mapping[Item, Sequence[Hit]]
    order: Sequence[Fused[Item]]
    reranked: Reranked
    vector: Embedded | None
    embedder: str
    reserved_ms: int
    left_ms: int


def search(
    *,
    principal: Principal,
    request: SearchRequest,
    profile: SearchProfile | None = None,
    kind: TraceKind | None = TraceKind.SEARCH,
    place: Place | None = None,
) -> SearchAnswer:
    """Return what the caller may know for its question, best first.

    ``profile`` replaces the one that the request names (previews, evaluation), ``place`` the one that the caller
    resolves to (replays); ``kind`` is that of the trace, ``None`` for no trace. Strategies see what is committed:
    inside a transaction what it wrote is not found, except with ``SEARCH_THREADS`` 0. Raises ``DomainError`` for
    what the caller may not ask, and ``OperationalError`` when the store does not answer in time before or after the
    strategies: nothing may be served then that was not read again (the API says ``unavailable``).
    """
    progress = Progress()
    moment = now()
    reading = _resolve(principal, request, profile, place, moment)
    progress.lap("resolve")
    searched = _run(reading, request, progress)
    with account_transaction(principal.account_id, local=_FINISHING):
        return _answer(principal, request, reading, searched, kind, moment, progress)


#: Milliseconds that a statement may take outside of the strategies, which the deadline does not cover.
_BOUND = "5000"
#: The first transaction resolves names and, in reads of the past, finds the facts of that time.
_RESOLVING = {"statement_timeout": _BOUND}
#: The last transaction reads rows by their keys. Losing the last traces in a crash is worth not waiting for the disk.
_FINISHING = {"statement_timeout": _BOUND, "synchronous_commit": "off", "enable_seqscan": "off"}


def _resolve(
    principal: Principal,
    request: SearchRequest,
    profile: SearchProfile | None,
    place: Place | None,
    moment: datetime,
) -> _Reading:
    """Return where is read, as whom and by which profile."""
    with account_transaction(principal.account_id, local=_RESOLVING):
        place = place or places.resolve(principal, request.asked)
        at = request.as_of or request.known_at or moment
        visible = places.visibility(place, request.asked, account_id=principal.account_id, at=at, now=moment)
        linked = scope_links.linked(principal, place.scopes) if request.include_cross_links else ()
        wide = _widened(visible, linked)
        text, demanded = _words(principal.account_id, request.query, place.reader)
        in_the_past = request.as_of is not None or request.known_at is not None
        return _Reading(
            place=place,
            visible=visible,
            linked=linked,
            past=wide.past_facts(known_at=request.known_at) if in_the_past else None,
            text=text,
            demanded=demanded,
            profile=profile
            or overrides.resolve_search(account_id=principal.account_id, path=place.profile_path, name=request.profile),
        )


def _words(account_id: uuid.UUID, query: str, reader: Reader) -> tuple[str, str | None]:
    """Return the words to look for, and what the operators among them demand of everything that is found."""
    alternatives = lexical_operators.parse(query)
    if alternatives is None:
        return known_names.with_names(account_id, query, reader=reader), None
    demanded = lexical_operators.tsquery(alternatives, query)
    return (lexical_operators.wanted(alternatives) if demanded else query), demanded


def _widened(visible: Visibility, linked: Iterable[Scope]) -> Visibility:
    """Return what the read may see including the scopes that links lead to."""
    return replace(visible, scope_ids=(*visible.scope_ids, *(scope.id for scope in linked)))


def _run(reading: _Reading, request: SearchRequest, progress: Progress) -> _Search:
    """Run the strategies, merge their lists and let the head be reranked, all before the profile's deadline."""
    profile = reading.profile
    deadline = Deadline(milliseconds=profile.deadline_ms)
    reserved = reranking.reserved_ms(profile)
    question = StrategyQuestion(
        text=reading.text,
        vector=None,
        visible=reading.visible,
        limit=max(LEAST_LIST, LISTS * request.limit),
        units=request.units,
        as_of=request.as_of,
        known_at=request.known_at,
        past=reading.past,
        min_score=request.min_score,
        filters=request.filters,
        linked=tuple(scope.id for scope in reading.linked),
        demanded=reading.demanded,
        lanes=profile.lanes,
    )
    vector = QuestionVector(reading.visible.account_id, reading.text)
    runs = running.run(profile.weights, question, vector=vector, deadline=deadline.earlier(milliseconds=reserved))
    progress.lap("strategies")
    hits = lists.hits_by_item(runs)
    order = lists.merged(runs, hits, profile)
    progress.lap("fuse")
    left = int(deadline.remaining_ms)
    items = [entry.item for entry in order]
    first = {item: said[0] for item, said in hits.items()}
    reranked = reranking.rerank(reading.text, items, first, profile=profile, deadline=deadline)
    progress.lap("rerank")
    by_item = {entry.item: entry for entry in order}
    return _Search(
        question=question,
        runs=runs,
        hits=hits,
        order=[by_item[item] for item in reranked.items],
        reranked=reranked,
        vector=vector.made,
        embedder=vector.embedder,
        reserved_ms=reserved,
        left_ms=left,
    )


def _answer(
    principal: Principal,
    request: SearchRequest,
    reading: _Reading,
    searched: _Search,
    kind: TraceKind | None,
    moment: datetime,
    progress: Progress,
) -> SearchAnswer:
    """Read what is served again, and leave the trace."""
    served = _serve(reading, request, searched)
    results = serving.results(
        served,
        {entry.item: entry for entry in searched.order},
        searched.hits,
        reading.visible,
        scopes=[*reading.place.scopes, *reading.linked],
        subject=reading.place.subject,
    )
    outcomes = [run.outcome for run in searched.runs]
    degraded = lists.degraded_components(outcomes) + ([reranking.COMPONENT] if searched.reranked.missed else [])
    degraded += [CUT_HISTORY] if is_cut(reading.past) else []
    outcomes += [searched.reranked.outcome] if searched.reranked.outcome else []
    outcomes += _filtered(principal, reading, searched)
    warnings = list(_warnings(served.decisions, degraded))
    identity = _identity_profile(reading, request)
    served.decisions = decided_with(served.decisions, identity)
    progress.lap("serve")
    answer = SearchAnswer(
        results=results,
        profile=reading.profile.name,
        profile_version=reading.profile.label,
        ranker=RANKER_VERSION,
        reader_posture=reading.place.reader.posture.value,
        outcomes=outcomes,
        contributed=[run.strategy for run in searched.runs if run.completed and run.hits],
        empty=[run.strategy for run in searched.runs if run.completed and not run.hits],
        dropped=[run.strategy for run in searched.runs if run.outcome.status is OutcomeStatus.DROPPED],
        disagreement=lists.disagreement(searched.runs, blank=not reading.text.strip()),
        reserved_rerank_ms=searched.reserved_ms,
        pre_rerank_remaining_ms=searched.left_ms,
        warnings=warnings,
        empty_reason=None if results else _empty_reason(reading, searched, served),
        identity_profile_status=identity.status if identity else "not_requested",
        identity_profile=identity,
        identity_subject=_key_of(identity) if identity else None,
        trace_id=None if kind is None else new_id(),
        degraded_components=degraded,
        place=reading.place,
        embedder=searched.embedder,
        decisions=served.decisions,
        timings=progress.timings,
    )
    if kind is not None:
        trace = trace_of(
            answer,
            principal=principal,
            request=request,
            kind=kind,
            question_time=reading.visible.at,
            moment=moment,
            tokens=served.tokens,
            milliseconds=progress.milliseconds,
        )
        writing.write(trace)
    return answer


def _serve(reading: _Reading, request: SearchRequest, searched: _Search) -> serving.Served:
    visible = replace(reading.visible, scope_ids=(*reading.visible.scope_ids, *(scope.id for scope in reading.linked)))
    context = overrides.resolve_context(account_id=visible.account_id, path=reading.place.profile_path)
    limits = gate.of_profile(context, has_vector=searched.vector is not None)
    return serving.serve(
        searched.order,
        _questions(searched, with_words=limits.is_on),
        visible,
        limit=request.limit,
        limits=limits,
        past=reading.past is not None,
        known_at=request.known_at,
    )


def _questions(searched: _Search, *, with_words: bool) -> dict[IndexedUnit, Question]:
    """Return the question as the recall gate looks at each unit; its words only where they count."""
    question = Question()
    if searched.vector is not None:
        literal = candidates.vector_literal(searched.vector.numbers)
        question = Question(vector=literal, space=embedding.space(searched.vector.identity))
    matches = text_match.analyse(searched.question) if with_words else {}
    return {
        unit: replace(question, weights=matches[unit].question.weights) if unit in matches else question
        for unit in IndexedUnit
    }


def _filtered(principal: Principal, reading: _Reading, searched: _Search) -> list[Outcome]:
    """Return, to keys that may diagnose, that rows have the question's words and this reader may see none of them."""
    lexical = next((run for run in searched.runs if run.strategy == "lexical" and run.completed), None)
    if principal.is_person or Right.DIAGNOSTICS not in principal.rights or lexical is None or lexical.hits:
        return []
    anybody = replace(reading.visible, reader=Reader(posture=Posture.INTERNAL))
    # The list may also be empty because all scores were too low.
    if matches_anything(searched.question) or not matches_anything(replace(searched.question, visible=anybody)):
        return []
    return [
        Outcome(
            component="candidate_filter",
            status=OutcomeStatus.COMPLETED,
            reason_class=ReasonClass.AUTHORIZATION_FILTERED,
        )
    ]


def _warnings(decisions: Sequence[Decision], degraded: Sequence[str]) -> Iterable[str]:
    """Yield what the reader must know about what is missing."""
    counts = Counter(decision.reason for decision in decisions if decision.unit is IndexedUnit.FACT)
    if counts[Reason.CONFLICT_OPEN]:
        yield f"open_conflict: {counts[Reason.CONFLICT_OPEN]} fact(s) hidden pending conflict resolution"
    if counts[Reason.VOLATILITY_EXPIRED]:
        yield f"volatility_expired: {counts[Reason.VOLATILITY_EXPIRED]} fact(s) withheld, not confirmed for too long"
    if degraded:
        yield f"degraded_retrieval: without {', '.join(degraded)}"


def _empty_reason(reading: _Reading, searched: _Search, served: serving.Served) -> EmptyReason:
    """Return why nothing is served, by the strongest of what happened."""
    reasons = {decision.reason for decision in served.decisions}
    if reasons & {Reason.BELOW_RELEVANCE_FLOOR, Reason.FAR_BEHIND_BEST}:
        return EmptyReason.NO_RELEVANT_MEMORY
    if reasons:
        return EmptyReason.WITHHELD
    if not any(run.completed for run in searched.runs) and any(
        run.outcome.status is OutcomeStatus.DROPPED for run in searched.runs
    ):
        return EmptyReason.RETRIEVAL_FAILED
    stored = bool(reading.visible.scope_ids) and candidates.anything_stored(reading.visible)
    return EmptyReason.NO_RELEVANT_MEMORY if stored else EmptyReason.NO_MEMORY


def _identity_profile(reading: _Reading, request: SearchRequest) -> StableProfile | None:
    if not request.include_identity_profile:
        return None
    return stable_profile(reading.visible, past=reading.past is not None, known_at=request.known_at)


def _key_of(identity: StableProfile) -> str | None:
    """Return the key of the reader whose profile it is."""
    return Subject.objects.values_list("key", flat=True).filter(pk=identity.subject_id).first()
