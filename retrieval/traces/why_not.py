"""Why a read did not serve a fact: every gate of the pipeline in its order, also for facts that it never considered.

What can be looked up as it was, is: scope, status, validity and conflicts at the time of the read. Closeness and ranks
are measured now, among the facts that held then; they are the same as long as the embedder is.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db.models import Q

from facts.audience import Posture, Reader, may_see, visible_to
from facts.embedding import Embedded
from facts.errors import NotFound
from facts.freshness import Freshness, freshness, last_confirmed
from facts.models import ConflictMember, Fact, FactRevision, IndexedUnit
from facts.tenancy import account_transaction
from facts.vocabulary import Status, SubjectKind
from governance.access import Principal, all_readable_scopes
from retrieval import candidates
from retrieval.context import gate
from retrieval.embedders import registry
from retrieval.embedders.base import EmbeddingUnavailable
from retrieval.models import Trace
from retrieval.places import Place
from retrieval.profiles import overrides
from retrieval.profiles.shipped import ContextProfile
from retrieval.strategies.base import StrategyQuestion
from retrieval.strategies.lexical import Lexical
from retrieval.strategies.semantic import Semantic
from retrieval.text import known_names
from retrieval.traces import reasons, rereading, selectors
from retrieval.traces.reasons import Action, Reason
from retrieval.traces.writing import unpack
from retrieval.visibility import Visibility

#: How far down a list is looked for a fact.
MEASURED = 1_000
#: What a search scores at least of each list.
SEARCH_LIST = 64
#: What can keep out a fact that was considered, and need not be what its decision says.
_AFTER_THE_SEARCH = frozenset({Reason.CONFLICT_OPEN, Reason.VOLATILITY_EXPIRED})


class Obstacle(StrEnum):
    """What can keep a fact from ever being considered; the reasons of decisions (``Reason``) come on top.

    Codes are part of the API: never renamed, never reused.
    """

    OTHER_SCOPE = "other_scope"
    SCOPE_NOT_READABLE = "scope_not_readable"
    SUBJECT_UNKNOWN = "subject_unknown"
    OTHER_SUBJECT = "other_subject"
    NOT_RECORDED_YET = "not_recorded_yet"
    NOT_CURRENT = "not_current"
    NOT_FOR_READER = "not_for_reader"
    NOT_BEGUN = "not_begun"
    ENDED = "ended"
    EXPIRED = "expired"
    NO_VECTOR = "no_vector"
    NO_SHARED_WORDS = "no_shared_words"
    NOT_CONSIDERED = "not_considered"


MEANING: Mapping[str, str] = {
    Obstacle.OTHER_SCOPE: "It belongs to a scope that the call did not read.",
    Obstacle.SCOPE_NOT_READABLE: "Its scope is one that the credential of the call may not read today.",
    Obstacle.SUBJECT_UNKNOWN: "The call named a subject about which nothing was stored.",
    Obstacle.OTHER_SUBJECT: "It is about another subject than the call.",
    Obstacle.NOT_RECORDED_YET: "It was not recorded yet.",
    Obstacle.NOT_CURRENT: "Its status was not one that is served.",
    Obstacle.NOT_FOR_READER: "The audience rule keeps it from the reader of the call.",
    Obstacle.NOT_BEGUN: "It did not hold yet at the time that was asked about.",
    Obstacle.ENDED: "It did not hold any more at the time that was asked about.",
    Obstacle.EXPIRED: "It had expired.",
    Obstacle.NO_VECTOR: "It has no vector that could be compared with the question's.",
    Obstacle.NO_SHARED_WORDS: "It shares no word with the question that is rare enough to be searched by.",
    Obstacle.NOT_CONSIDERED: "Nothing keeps it out as far as can be told now: a strategy was dropped, or its vector "
    "was not written yet.",
    **{reason: sentence for reason, (_, sentence) in reasons.MEANING.items()},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One obstacle: its code, and the figures that go with it."""

    code: str
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def meaning(self) -> str:
        """The sentence that explains it to people."""
        return MEANING[self.code]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Whether the fact was served, the decision about it if there was one, and every obstacle in order."""

    trace: Trace
    fact: Fact
    decision: Mapping[str, Any] | None
    obstacles: Sequence[Found]

    @property
    def served(self) -> bool:
        """Whether the read served it."""
        return self.decision is not None and self.decision["action"] == Action.INCLUDED


def reference_table() -> str:
    """Return the obstacles beyond the reasons of decisions as a Markdown table for the documentation."""
    lines = ["| Obstacle | Meaning |", "|---|---|"]
    lines += [f"| `{code}` | {MEANING[code]} |" for code in Obstacle]
    return "\n".join(lines) + "\n"


def why(principal: Principal, trace_id: uuid.UUID, fact_id: uuid.UUID) -> Explanation:
    """Explain what became of a fact in a read.

    Raises ``NotFound``: ``trace_not_found`` for a trace that the caller may not inspect, ``fact_not_found`` for a fact
    that the caller may not see, as for one that does not exist.
    """
    with account_transaction(principal.account_id):
        trace = selectors.get_trace(principal, trace_id)
        fact = visible_fact(principal, trace, fact_id)
    return explain(principal, trace, fact)


def explain(principal: Principal, trace: Trace, fact: Fact) -> Explanation:
    """Explain what became of a fact in a read, to a caller that may inspect the trace and see the fact."""
    with account_transaction(principal.account_id):
        decision = _decision(trace, fact.pk)
        place = rereading.place_of(trace)
        before = list(_before_the_search(trace, fact, place))
        text = known_names.with_names(principal.account_id, trace.query, reader=place.reader)
    if decision is not None:
        further = [one for one in before if one.code in _AFTER_THE_SEARCH]
        found = [] if decision["action"] == Action.INCLUDED else [_decided(decision), *further]
        return Explanation(trace=trace, fact=fact, decision=decision, obstacles=_once(found))
    vector = _vector(principal, text)
    with account_transaction(principal.account_id):
        found = [*before, *_in_the_search(trace, fact, place, text, vector, reachable=not before)]
    found = found or [Found(code=Obstacle.NOT_CONSIDERED, detail={"strategies": _dropped(trace)})]
    return Explanation(trace=trace, fact=fact, decision=None, obstacles=_once(found))


def visible_fact(principal: Principal, trace: Trace, fact_id: uuid.UUID) -> Fact:
    """Return the fact if the caller may see it: by the rules of listings, or because the trace names it already.

    Raises ``NotFound`` (``fact_not_found``).
    """
    reader = selectors.rereader(principal, trace)
    scopes = all_readable_scopes(principal)
    named = _decision(trace, fact_id) is not None
    listed = selectors.facts(principal, reader, scopes=scopes).filter(pk=fact_id)
    if named:
        seen = Q(scope__in=scopes) & visible_to(reader) & ~Q(status__in=selectors.GONE)
        listed = Fact.objects.filter(seen, account_id=principal.account_id, pk=fact_id)
    fact = listed.select_related("scope", "subject").first()
    if fact is None:
        raise NotFound("There is no such fact.", code="fact_not_found", field="fact_id")
    return fact


def _decision(trace: Trace, fact_id: uuid.UUID) -> Mapping[str, Any] | None:
    wanted = str(fact_id)
    return next(
        (row for row in unpack(trace.decisions) if row["unit"] == IndexedUnit.FACT and row["id"] == wanted), None
    )


def _decided(decision: Mapping[str, Any]) -> Found:
    """Return the obstacle that the trace itself names, with what it measured."""
    similarity = decision["similarity"]
    measured = {
        "rank": decision["rank"],
        "distance": None if similarity is None else round(1 - similarity, 4),
        "fusion_score": decision["fusion_score"],
        "tokens": decision["tokens"],
    }
    return Found(code=decision["reason"], detail={name: value for name, value in measured.items() if value is not None})


def _before_the_search(trace: Trace, fact: Fact, place: Place) -> Iterator[Found]:
    """Yield what kept the fact out whatever was asked: place, subject, audience, record, status, validity, conflict."""
    yield from _by_place(trace, fact, place)
    then = _revision(fact, rereading.known_then(trace))
    if then is None:
        yield Found(code=Obstacle.NOT_RECORDED_YET, detail={"recorded_from": _first_recorded(fact)})
        return
    own = trace.reader_id is not None and fact.subject_id == trace.reader_id
    provisional = then.status == Status.PROVISIONAL
    if then.status != Status.ACTIVE and not (provisional and own):
        yield Found(code=Obstacle.NOT_CURRENT, detail={"status": then.status})
    if not _was_for(place.reader, fact, then):
        yield Found(code=Obstacle.NOT_FOR_READER, detail={"level": then.level, "sensitivity": then.sensitivity})
    at = trace.question_time
    if then.valid_from is not None and then.valid_from > at:
        yield Found(code=Obstacle.NOT_BEGUN, detail={"valid_from": then.valid_from})
    if then.valid_to is not None and then.valid_to <= at:
        yield Found(code=Obstacle.ENDED, detail={"valid_to": then.valid_to})
    if then.expires_at is not None and then.expires_at <= at:
        yield Found(code=Obstacle.EXPIRED, detail={"expires_at": then.expires_at})
    if _in_conflict(fact, rereading.known_then(trace)):
        yield Found(code=Reason.CONFLICT_OPEN)
    confirmed = last_confirmed(
        last_reinforced_at=then.last_reinforced_at, valid_from=then.valid_from, recorded_from=fact.recorded_from
    )
    fresh = freshness(volatility=then.volatility, confirmed_at=confirmed, at=at)
    if fresh is Freshness.STALE and not settings.SERVE_STALE_FACTS:
        yield Found(code=Reason.VOLATILITY_EXPIRED, detail={"last_confirmed": confirmed})


def _by_place(trace: Trace, fact: Fact, place: Place) -> Iterator[Found]:
    paths = rereading.paths_read(trace)
    if fact.scope.path not in paths:
        yield Found(code=Obstacle.OTHER_SCOPE, detail={"scope": fact.scope.path, "read": list(paths)})
    elif fact.scope_id not in {scope.id for scope in place.scopes}:
        yield Found(code=Obstacle.SCOPE_NOT_READABLE, detail={"scope": fact.scope.path})
    if not rereading.is_exact(trace) or not trace.subject_key:
        return
    if trace.subject_id is None:
        yield Found(code=Obstacle.SUBJECT_UNKNOWN, detail={"subject": trace.subject_key})
    elif fact.subject_id != trace.subject_id:
        yield Found(code=Obstacle.OTHER_SUBJECT, detail={"subject": fact.subject.key, "asked": trace.subject_key})


def _revision(fact: Fact, at: datetime) -> FactRevision | None:
    open_then = Q(recorded_to__isnull=True) | Q(recorded_to__gt=at)
    return FactRevision.objects.filter(open_then, account_id=fact.account_id, fact=fact, recorded_from__lte=at).first()


def _first_recorded(fact: Fact) -> datetime:
    return FactRevision.objects.filter(account_id=fact.account_id, fact=fact).earliest("version").recorded_from


def _was_for(reader: Reader, fact: Fact, then: FactRevision) -> bool:
    """Tell whether the audience rule let the reader see the fact as it was; what waited for its subject is a status."""
    return may_see(
        posture=reader.posture,
        own=reader.subject_id is not None and reader.subject_id == fact.subject_id,
        restricted_granted=reader.restricted,
        level=then.level,
        sensitivity=then.sensitivity,
        about_scope=fact.subject.kind == SubjectKind.SCOPE,
        provisional=False,
    )


def _in_conflict(fact: Fact, at: datetime) -> bool:
    """Tell whether an open conflict set withheld the fact at that time."""
    member = ConflictMember.objects.filter(account_id=fact.account_id, fact=fact, withheld=True, joined_at__lte=at)
    still_in = Q(left_at__isnull=True) | Q(left_at__gt=at)
    still_open = Q(conflict_set__closed_at__isnull=True) | Q(conflict_set__closed_at__gt=at)
    return member.filter(still_in, still_open).exists()


def _vector(principal: Principal, text: str) -> Embedded | None:
    """Return the question's vector, made outside of any transaction of ours."""
    if not text or registry.configured() is None:
        return None
    try:
        return registry.embed_query(
            account_id=principal.account_id, text=text, seconds=settings.CONTEXT_DEADLINE_MS / 1000
        )
    except EmbeddingUnavailable:
        return None


def _in_the_search(
    trace: Trace, fact: Fact, place: Place, text: str, vector: Embedded | None, *, reachable: bool
) -> Iterator[Found]:
    """Yield what kept the fact out of the candidates; its ranks only where it was ``reachable`` for the search."""
    then = rereading.profile_of(trace)
    profile = then.profile if then else None
    visible = _visible(trace, place)
    top = profile.top if isinstance(profile, ContextProfile) else max(SEARCH_LIST, 2 * trace.budget)
    if not text:
        yield from _by_salience(trace, fact, visible, top, reachable=reachable)
        return
    alone = _question(text, vector, _anybody(visible, fact), [fact.id], limit=1)
    near, shares = _score(Semantic(), alone) if vector else None, _score(Lexical(), alone)
    limits = _gate(trace, profile, has_vector=vector is not None)
    if near is None and vector is not None:
        yield Found(code=Obstacle.NO_VECTOR)
    if shares is None:
        yield Found(code=Obstacle.NO_SHARED_WORDS)
    if limits.is_on and (near is None or 1 - near > limits.max_distance):
        distance = None if near is None else round(1 - near, 4)
        yield Found(
            code=Reason.BELOW_RELEVANCE_FLOOR, detail={"distance": distance, "max_distance": limits.max_distance}
        )
    if not reachable:
        return
    among = _question(text, vector, visible, visible.past_facts(known_at=rereading.known_then(trace)), limit=MEASURED)
    ranks = {
        "by_meaning": _rank(Semantic(), among, fact) if near is not None else None,
        "by_words": _rank(Lexical(), among, fact) if shares is not None else None,
    }
    if not any(rank is not None and rank <= top for rank in ranks.values()):
        yield Found(
            code=Reason.BEYOND_CANDIDATE_LIMIT,
            detail={**ranks, "distance": None if near is None else round(1 - near, 4), "limit": top},
        )


def _by_salience(trace: Trace, fact: Fact, visible: Visibility, top: int, *, reachable: bool) -> Iterator[Found]:
    """Yield the fact's place among those that say most without a question, when it is too far down."""
    if not reachable:
        return
    ids = candidates.salient(visible, limit=MEASURED, among=visible.past_facts(known_at=rereading.known_then(trace)))
    rank = ids.index(fact.id) + 1 if fact.id in ids else None
    if rank is None or rank > top:
        yield Found(code=Reason.BEYOND_CANDIDATE_LIMIT, detail={"by_salience": rank, "limit": top})


def _visible(trace: Trace, place: Place) -> Visibility:
    exact_subject = place.subject.id if rereading.is_exact(trace) and place.subject else None
    return Visibility(
        account_id=trace.account_id,
        scope_ids=tuple(scope.id for scope in place.scopes),
        subject_id=exact_subject,
        reader=place.reader,
        at=trace.question_time,
        now=trace.created_at,
    )


def _anybody(visible: Visibility, fact: Fact) -> Visibility:
    """Return what is needed to measure one fact that the caller may see, whoever the reader was."""
    reader = Reader(posture=Posture.PEER, subject_id=fact.subject_id)
    return replace(visible, scope_ids=(fact.scope_id,), subject_id=None, reader=reader)


def _question(
    text: str, vector: Embedded | None, visible: Visibility, among: Sequence[uuid.UUID], *, limit: int
) -> StrategyQuestion:
    return StrategyQuestion(
        text=text, vector=vector, visible=visible, limit=limit, units=(IndexedUnit.FACT,), past=among
    )


def _score(strategy: Semantic | Lexical, question: StrategyQuestion) -> float | None:
    found = strategy.find(question, seeds=())
    return found[0].score if found else None


def _rank(strategy: Semantic | Lexical, question: StrategyQuestion, fact: Fact) -> int | None:
    """Return the place of the fact in a strategy's list, from 1; ``None`` when it is not among the first."""
    found = strategy.find(question, seeds=())
    return next((rank for rank, hit in enumerate(found, start=1) if hit.item.id == fact.id), None)


def _gate(trace: Trace, profile: object, *, has_vector: bool) -> gate.Gate:
    """Return the recall gate of the read; a search goes by that of the ``context`` profile of its scope."""
    if not isinstance(profile, ContextProfile):
        profile = overrides.resolve_context(account_id=trace.account_id, path=trace.scope_path)
    return gate.of_profile(profile, has_vector=has_vector)


def _dropped(trace: Trace) -> dict[str, str]:
    return {name: outcome for name, outcome in trace.strategies.items() if str(outcome).startswith("dropped")}


def _once(found: Sequence[Found]) -> list[Found]:
    """Return each obstacle once, the first time it comes."""
    first: dict[str, Found] = {}
    for one in found:
        first.setdefault(one.code, one)
    return list(first.values())
