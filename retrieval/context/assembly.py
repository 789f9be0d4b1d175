"""Assembling context: from a question to a packet within its budget, and the trace that explains it.

One connection, one transaction: what is served is what the reader may see in it, and its trace commits with
it. The vector of the question is made before the transaction is opened.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import perf_counter

from django.conf import settings
from django.db import OperationalError
from psycopg.errors import QueryCanceled

from facts import embedding
from facts.clock import now
from facts.embedding import Embedded, Space
from facts.errors import DomainError
from facts.ids import new_id
from facts.models import IndexedUnit
from facts.tenancy import account_transaction
from governance.access import Principal
from retrieval import candidates, large_scopes, places
from retrieval.candidates import Question
from retrieval.cards import serving as cards
from retrieval.cards.serving import Shown
from retrieval.context import serving, surroundings
from retrieval.context.packet import EmptyReason, Packet, PacketStatus
from retrieval.context.packing import Budget
from retrieval.embedders import registry
from retrieval.embedders.base import EmbeddingUnavailable, identity_key
from retrieval.models import CardKind, Trace, TraceKind
from retrieval.places import Asked, Place
from retrieval.profiles import overrides
from retrieval.profiles.shipped import RANKER_VERSION, ContextProfile
from retrieval.text import common_lexemes, known_names, lexical
from retrieval.traces import writing
from retrieval.traces.reasons import Reason
from retrieval.traces.writing import Decision, asked_by, decided
from retrieval.visibility import CUT_HISTORY, Visibility, is_cut

_TIMEOUT = "dropped: timeout"
#: Longest question that is read; a longer one is refused.
MAX_QUERY = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What a caller asks for.

    ``exact``: only the scope itself, and in it only the subject's facts; otherwise the scope and its
    ancestors, and the subject only says on whose behalf is read. ``budget`` is in tokens or characters,
    whatever ``budget_unit`` says. ``as_of`` is the instant the question is about, ``known_at`` the instant
    of which the knowledge is asked. ``thread`` is the session that the call belongs to; ``with_profile`` has the
    reader's profile served also with a question.
    """

    scope_path: str
    exact: bool
    subject_key: str = ""
    subject_alias: tuple[str, str] | None = None
    peer_key: str = ""
    query: str = ""
    purpose: str = ""
    budget: int = 900
    budget_unit: str = "tokens"
    as_of: datetime | None = None
    known_at: datetime | None = None
    thread: str = ""
    with_profile: bool = False

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise DomainError("A budget is a positive whole number.", code="budget_exceeded", field="budget_tokens")
        if len(self.query) > MAX_QUERY:
            raise DomainError(f"A query has at most {MAX_QUERY:,} characters.", code="query_too_long", field="query")

    @property
    def asked(self) -> Asked:
        """How the place of the call is named."""
        return Asked(
            scope_path=self.scope_path,
            exact=self.exact,
            subject_key=self.subject_key,
            subject_alias=self.subject_alias,
            peer_key=self.peer_key,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAnswer:
    """The packet, what it costs, and how it came about."""

    packet: Packet
    token_count: int
    trace_id: uuid.UUID
    profile: str
    ranker: str
    reader_posture: str
    strategies: dict[str, str]
    projection_cache_hit: bool
    fast_fallback: bool


@dataclass(slots=True)
class Progress:
    """What a call has done so far; becomes its trace."""

    started: float = field(default_factory=perf_counter)
    lap_started: float = field(default_factory=perf_counter)
    timings: dict[str, float] = field(default_factory=dict)
    strategies: dict[str, str] = field(default_factory=dict)
    embedder: str = ""

    def lap(self, stage: str) -> None:
        """Note the milliseconds since the last stage ended."""
        moment = perf_counter()
        self.timings[stage] = round((moment - self.lap_started) * 1000, 2)
        self.lap_started = moment

    def is_dropped(self, strategy: str) -> bool:
        """Tell whether a strategy was left out."""
        return self.strategies.get(strategy, "").startswith("dropped")

    @property
    def milliseconds(self) -> float:
        """Time since the call began."""
        return round((perf_counter() - self.started) * 1000, 2)


def assemble(
    *,
    principal: Principal,
    request: ContextRequest,
    profile: ContextProfile | None = None,
    place: Place | None = None,
    kind: TraceKind = TraceKind.CONTEXT,
) -> ContextAnswer:
    """Return what the caller may know for its question, by the profile of its scope unless one is given.

    ``place`` replaces where and as whom the caller reads, for whoever has checked that it may (replays); ``kind`` is
    that of the trace.

    Raises ``DomainError`` for what the caller may not ask. A failing or slow embedder, or a search that
    passes the deadline, degrades the packet and says so; when even the text search fails, the packet's
    status is ``failed``.
    """
    progress = Progress()
    moment = now()
    where = place or places.resolve_alone(principal, request.asked)
    if profile is None:
        profile = overrides.resolve_context(account_id=principal.account_id, path=where.profile_path)
    milliseconds = profile.deadline_ms or settings.CONTEXT_DEADLINE_MS
    asks = request.query.strip() != ""
    words = known_names.with_names(principal.account_id, request.query, reader=where.reader) if asks else ""
    progress.lap("place")
    _switch_off(progress, asks=asks)
    embeds = asks and not progress.is_dropped("semantic")
    vector = _embed(principal.account_id, words, milliseconds, progress) if embeds else None
    while True:
        try:
            with account_transaction(principal.account_id, local=_bounds(milliseconds)):
                return _answer(principal, request, profile, where, kind, words, vector, moment, progress)
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled) or not _drop_one(progress, asks=asks):
                raise
            vector = None


def _switch_off(progress: Progress, *, asks: bool) -> None:
    """Drop what the operator does not allow of the two strategies that read a question."""
    for strategy in ("semantic", "lexical"):
        if asks and strategy not in settings.SEARCH_STRATEGIES:
            progress.strategies[strategy] = "dropped: disabled"


def _drop_one(progress: Progress, *, asks: bool) -> bool:
    """Drop the next strategy after a search passed its deadline, the dearest first; false when none is left."""
    for strategy in ("semantic", "lexical") if asks else ("salience_recency", "cards"):
        if not progress.is_dropped(strategy):
            progress.strategies[strategy] = _TIMEOUT
            return True
    return False


def _embed(account_id: uuid.UUID, query: str, milliseconds: int, progress: Progress) -> Embedded | None:
    """Return the question's vector, or ``None`` with the reason in the strategy's outcome."""
    embedder = registry.configured()
    if embedder is None:
        reason = "disabled" if registry.switched_off() else "dependency_unavailable"
        progress.strategies["semantic"] = f"dropped: {reason}"
        return None
    progress.embedder = identity_key(embedder.identity)
    try:
        vector = registry.embed_query(account_id=account_id, text=query, seconds=milliseconds / 1000)
    except EmbeddingUnavailable:
        progress.strategies["semantic"] = "dropped: provider_error"
        return None
    finally:
        progress.lap("embed")
    return vector


def _bounds(milliseconds: int) -> dict[str, str]:
    """Bound each statement by the deadline; losing the last traces in a crash is worth not waiting for the disk."""
    return {"synchronous_commit": "off", "statement_timeout": str(milliseconds)}


def _answer(
    principal: Principal,
    request: ContextRequest,
    profile: ContextProfile,
    place: Place,
    kind: TraceKind,
    words: str,
    vector: Embedded | None,
    moment: datetime,
    progress: Progress,
) -> ContextAnswer:
    visible = _visibility(principal, request, place, moment)
    progress.lap("resolve")
    budget = Budget(limit=request.budget, unit=request.budget_unit)
    if not request.query.strip():
        draft = _standing(place, visible, request, profile, budget, progress)
    elif progress.strategies.get("lexical") == _TIMEOUT:
        draft = serving.Draft()
    else:
        shown = _profile_of_reader(place, visible, request, budget, progress)
        draft = shown.join(_recall(place, visible, request, profile, budget, words, vector, progress))
    packet = _packet(draft, place, visible, request, progress)
    trace = _trace(principal, request, profile, place, kind, visible, packet, draft, moment, progress)
    writing.write(trace)
    return ContextAnswer(
        packet=packet,
        token_count=trace.tokens,
        trace_id=trace.id,
        profile=profile.label,
        ranker=RANKER_VERSION,
        reader_posture=place.reader.posture.value,
        strategies=progress.strategies,
        projection_cache_hit=bool(packet.cards),
        fast_fallback=not request.query.strip() and not packet.cards and bool(packet.facts),
    )


def _visibility(principal: Principal, request: ContextRequest, place: Place, moment: datetime) -> Visibility:
    """Return what the read may see at the question's time."""
    at = request.as_of or request.known_at or moment
    return places.visibility(place, request.asked, account_id=principal.account_id, at=at, now=moment)


def _standing(
    place: Place,
    visible: Visibility,
    request: ContextRequest,
    profile: ContextProfile,
    budget: Budget,
    progress: Progress,
) -> serving.Draft:
    """Serve cards, then the most salient facts that they do not say: no question was asked.

    Cards are of now: where another time was asked about, facts of that time are all there is.
    """
    now_asked = not request.as_of and not request.known_at
    shown = Shown()
    if now_asked and progress.strategies.get("cards") != _TIMEOUT:
        shown = _cards(place, visible, request, budget, progress)
    if progress.strategies.get("salience_recency") == _TIMEOUT:
        return shown.join(serving.Draft())
    past = _past(visible, request, progress)
    salient = candidates.salient(visible, limit=profile.top, among=past)
    decided = shown.decided
    ids = [fact_id for fact_id in salient if fact_id not in decided]
    rows = {
        row.id: row
        for row in candidates.fetch_facts(ids, Question(), visible, current=past is None, known_at=request.known_at)
    }
    progress.strategies["salience_recency"] = "contributed" if salient else "empty"
    progress.lap("facts")
    ordered = [rows[fact_id] for fact_id in ids if fact_id in rows]
    draft = serving.serve_unscored(ordered, visible, budget=budget, reason=Reason.STANDING_CONTEXT, said=shown.said)
    progress.lap("pack")
    return shown.join(draft)


def _cards(
    place: Place,
    visible: Visibility,
    request: ContextRequest,
    budget: Budget,
    progress: Progress,
    kinds: Sequence[str] = cards.ORDER,
) -> Shown:
    paths = {scope.id: scope.path for scope in place.scopes}
    shown = cards.serve(visible, paths=paths, thread=request.thread, budget=budget, kinds=kinds)
    progress.lap("cards")
    return shown


def _profile_of_reader(
    place: Place, visible: Visibility, request: ContextRequest, budget: Budget, progress: Progress
) -> Shown:
    """Return the reader's profile where a call asks for it beside its question."""
    if not request.with_profile or request.as_of or request.known_at:
        return Shown()
    return _cards(place, visible, request, budget, progress, kinds=(CardKind.SUBJECT_PROFILE,))


def _recall(
    place: Place,
    visible: Visibility,
    request: ContextRequest,
    profile: ContextProfile,
    budget: Budget,
    words: str,
    vector: Embedded | None,
    progress: Progress,
) -> serving.Draft:
    """Search facts and passages, then pack: facts, facts about names in them, passages, facts that still fit."""
    analysis = common_lexemes.analyse(
        lexical.searchable(words, at=visible.at),
        account_id=visible.account_id,
        scope_ids=visible.scope_ids,
        subject_id=visible.subject_id,
    )
    lexemes = [] if progress.is_dropped("lexical") else analysis.lexemes[: lexical.MAX_LEXEMES]
    common = analysis.common
    literal, space = _vector_part(vector)
    questions = {
        unit: Question(
            weights=lexical.weights(lexemes, counts=common[unit].counts, rows=common[unit].rows),
            vector=literal,
            space=space,
            rows=common[unit].rows,
        )
        for unit in IndexedUnit
    }
    progress.lap("lexemes")
    past = _past(visible, request, progress)
    found, near_facts = _search(IndexedUnit.FACT, questions, visible, profile, common, progress, among=past)
    facts = candidates.fetch_facts(
        found, questions[IndexedUnit.FACT], visible, current=past is None, known_at=request.known_at
    )
    progress.lap("facts_fetch")
    passages, pairs, near_passages = [], [], []
    if analysis.passages_stored:
        heard, near_passages = _search(IndexedUnit.PASSAGE, questions, visible, profile, common, progress)
        asked = questions[IndexedUnit.PASSAGE]
        passages = candidates.fetch_passages(heard, asked, visible, known_at=request.known_at)
        beside = candidates.beside(
            serving.seeds(passages, visible, profile),
            asked,
            visible,
            silence=surroundings.SILENCE,
            known_at=request.known_at,
        )
        pairs = [(seed, row.id) if later else (row.id, seed) for seed, later, row in beside]
        passages = list({row.id: row for row in (*passages, *(row for _, _, row in beside))}.values())
        progress.lap("passages_fetch")
    draft = serving.serve(
        facts=facts,
        passages=passages,
        pairs=pairs,
        visible=visible,
        known_names=f"{words} {place.subject.display_name if place.subject else ''}",
        question=questions[IndexedUnit.FACT],
        profile=profile,
        budget=budget,
        past=past,
        known_at=request.known_at,
    )
    decided = {decision.id for decision in draft.decisions}
    draft.decisions += [
        Decision(unit=unit, id=row_id, reason=Reason.BEYOND_CANDIDATE_LIMIT)
        for unit, ids in ((IndexedUnit.FACT, near_facts), (IndexedUnit.PASSAGE, near_passages))
        for row_id in ids
        if row_id not in decided
    ]
    progress.lap("pack")
    return draft


def _past(visible: Visibility, request: ContextRequest, progress: Progress) -> list[uuid.UUID] | None:
    """Return the facts of the time that was asked about; ``None`` when that is the present."""
    past = visible.past_facts(known_at=request.known_at) if request.as_of or request.known_at else None
    if is_cut(past):
        progress.strategies[CUT_HISTORY] = "dropped: candidate_limit"
    return past


def _vector_part(vector: Embedded | None) -> tuple[str | None, Space | None]:
    """Return the vector as the database reads it, and its space."""
    if vector is None:
        return None, None
    return candidates.vector_literal(vector.numbers), embedding.space(vector.identity)


def _search(
    unit: IndexedUnit,
    questions: dict[IndexedUnit, Question],
    visible: Visibility,
    profile: ContextProfile,
    common: dict[str, common_lexemes.Commonness],
    progress: Progress,
    *,
    among: Sequence[uuid.UUID] | None = None,
) -> tuple[list[uuid.UUID], list[uuid.UUID]]:
    """Return the ids to score, and those that just missed it; notes the outcome of both strategies."""
    question = questions[unit]
    limit = profile.top + profile.near_misses
    large = large_scopes.chosen(visible, rows=question.rows) if among is None else ()
    by_vector: list[uuid.UUID] = []
    if question.vector:
        if large:
            by_vector = large_scopes.nearest(unit, question, visible, large=large, limit=limit)
        else:
            by_vector = candidates.nearest(unit, question, visible, limit=limit, among=among)
        _note(progress, "semantic", by_vector)
        progress.lap(f"{unit}s_vector")
    by_text: list[uuid.UUID] = []
    if question.weights:
        counted = common[unit]
        match = lexical.rarer(question.weights, counts=counted.counts, rows=counted.rows)
        by_text = candidates.matching(unit, question, visible, match=match, limit=limit, among=among)
        progress.lap(f"{unit}s_text")
    _note(progress, "lexical", by_text)
    scored = list(dict.fromkeys([*by_vector[: profile.top], *by_text[: profile.top]]))
    known = set(scored)
    near = [row_id for row_id in dict.fromkeys([*by_vector, *by_text]) if row_id not in known]
    return scored, near


def _note(progress: Progress, strategy: str, found: Sequence[uuid.UUID]) -> None:
    """Note that a strategy contributed, or (unless it did for another unit) that it found nothing."""
    if found or strategy not in progress.strategies:
        progress.strategies[strategy] = "contributed" if found else "empty"


def _packet(
    draft: serving.Draft, place: Place, visible: Visibility, request: ContextRequest, progress: Progress
) -> Packet:
    """Return the packet with its warnings and status."""
    failed = progress.strategies.get("lexical") == _TIMEOUT or (
        progress.strategies.get("salience_recency") == _TIMEOUT and not draft.cards
    )
    warnings = list(_warnings(draft.decisions, progress))
    packet = Packet(
        cards=draft.cards,
        facts=serving.facts(draft.facts, visible, scopes=place.scopes, subject=place.subject, known=draft.sources),
        passages=serving.passages(draft.passages),
        warnings=warnings,
        status=PacketStatus.DEGRADED if warnings else PacketStatus.OK,
    )
    if not request.purpose:
        warnings.append("missing_purpose: say what the answer is for")
    if failed:
        packet.status, packet.empty_reason = PacketStatus.FAILED, EmptyReason.RETRIEVAL_FAILED
    elif packet.is_empty:
        packet.empty_reason = _empty_reason(draft.decisions, visible)
    progress.lap("serve")
    return packet


def _warnings(decisions: Sequence[Decision], progress: Progress) -> Iterable[str]:
    """Yield what the reader must know about what is missing."""
    conflicts = _count_facts(decisions, Reason.CONFLICT_OPEN)
    if conflicts:
        yield f"open_conflict: {conflicts} fact(s) hidden pending conflict resolution"
    expired = _count_facts(decisions, Reason.VOLATILITY_EXPIRED)
    if expired:
        yield f"volatility_expired: {expired} fact(s) withheld, not confirmed for too long"
    dropped = sorted(
        f"{strategy} ({outcome.removeprefix('dropped: ')})"
        for strategy, outcome in progress.strategies.items()
        if outcome.startswith("dropped")
    )
    if dropped:
        yield f"degraded_retrieval: without {', '.join(dropped)}"


def _count_facts(decisions: Iterable[Decision], reason: Reason) -> int:
    return sum(decision.unit is IndexedUnit.FACT and decision.reason is reason for decision in decisions)


def _empty_reason(decisions: Sequence[Decision], visible: Visibility) -> EmptyReason:
    """Return why nothing is served, by the strongest of what happened to the candidates."""
    reasons = {decision.reason for decision in decisions}
    if Reason.OVER_BUDGET in reasons:
        return EmptyReason.OVER_BUDGET
    if Reason.BELOW_RELEVANCE_FLOOR in reasons:
        return EmptyReason.NO_RELEVANT_MEMORY
    if reasons:
        return EmptyReason.WITHHELD
    stored = bool(visible.scope_ids) and candidates.anything_stored(visible)
    return EmptyReason.NO_RELEVANT_MEMORY if stored else EmptyReason.NO_MEMORY


def _trace(
    principal: Principal,
    request: ContextRequest,
    profile: ContextProfile,
    place: Place,
    kind: TraceKind,
    visible: Visibility,
    packet: Packet,
    draft: serving.Draft,
    moment: datetime,
    progress: Progress,
) -> Trace:
    """Return the unsaved trace of the call."""
    return Trace(
        id=new_id(),
        **asked_by(principal, place, subject_key=request.subject_key),
        kind=kind,
        query=request.query,
        purpose=request.purpose,
        budget=request.budget,
        budget_unit=request.budget_unit,
        request={"exact": request.exact, "thread": request.thread, "with_profile": request.with_profile},
        question_time=visible.at,
        as_of=request.as_of,
        known_at=request.known_at,
        profile=profile.label,
        ranker=RANKER_VERSION,
        embedder=progress.embedder,
        strategies=progress.strategies,
        timings=progress.timings,
        **decided(draft.decisions),
        facts_served=len(packet.fact_ids),
        passages_served=len(packet.passages),
        tokens=draft.tokens,
        status=packet.status.value,
        empty_reason=packet.empty_reason.value if packet.empty_reason else "",
        warnings=packet.warnings,
        duration_ms=progress.milliseconds,
        created_at=moment,
    )
