"""From scored rows to what is served: withholding, the recall gate, packing, and a decision for every row."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

import orjson
from django.conf import settings

from facts.freshness import Freshness, freshness, last_confirmed
from facts.models import IndexedUnit, Scope, Subject
from facts.models.evidence import Withheld
from facts.vocabulary import EvidenceLevel
from retrieval import candidates
from retrieval.candidates import FactRow, PassageRow, Question, Source
from retrieval.context import gate, multihop, surroundings
from retrieval.context.packet import ServedCard, ServedFact, ServedPassage
from retrieval.context.packing import Budget, Packed, pack
from retrieval.context.rendering import fact_line, passage_line
from retrieval.fusion import Weights, combine, recency
from retrieval.profiles.shipped import ContextProfile
from retrieval.text import tokens
from retrieval.traces.reasons import Reason
from retrieval.traces.writing import Decision
from retrieval.visibility import Visibility

#: What an indirect fact (somebody else said it) counts for, in ranking and in the confidence shown.
INDIRECT_FACTOR = 0.75


@dataclass(slots=True, kw_only=True)
class Ranked:
    """A row with the line it would take in a prompt and the decision about it."""

    row: FactRow | PassageRow
    line: str
    decision: Decision


@dataclass(slots=True)
class Draft:
    """What will be served, best first, and a decision about everything that was considered.

    ``cards`` cost ``card_tokens``; ``said`` are the lines that they have said already. ``sources`` are those of the
    facts for which they were looked up.
    """

    cards: list[ServedCard] = field(default_factory=list)
    card_tokens: int = 0
    said: frozenset[str] = frozenset()
    facts: list[Ranked] = field(default_factory=list)
    passages: list[Ranked] = field(default_factory=list)
    sources: dict[uuid.UUID, tuple[Source, ...]] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    duplicates: list[Ranked] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Estimated tokens of everything served."""
        return self.card_tokens + sum(item.decision.tokens for item in (*self.facts, *self.passages))


def serve(
    *,
    facts: Sequence[FactRow],
    passages: Sequence[PassageRow],
    pairs: Sequence[tuple[uuid.UUID, uuid.UUID]],
    visible: Visibility,
    known_names: str,
    question: Question,
    profile: ContextProfile,
    budget: Budget,
    past: Sequence[uuid.UUID] | None,
    known_at: datetime | None,
) -> Draft:
    """Return what is served of the scored rows.

    Facts come first, then facts about names in them, both within the share of the budget that facts have while there
    are passages; then passages; then the facts that still fit. Passages that only say what a served fact was taken
    from come after the others. ``pairs`` are passages that follow one another. ``past`` are the facts of the time that
    is asked about, ``None`` for the present; ``known_at`` is the instant of the knowledge, where that is asked about.
    """
    draft = Draft()
    limits = gate.of_profile(profile, has_vector=question.vector is not None)
    ranked = rank_facts(facts, visible, profile.weights)
    best = limits.best(row for row in facts if not withheld(row, visible))
    offered = _offer(draft, ranked, lambda row: withheld(row, visible) or limits.refuses(row, best=best))
    best_heard = limits.best(row for row in passages if not withheld_passage(row))
    heard = _offer(
        draft,
        rank_passages(passages, visible, profile, pairs),
        lambda row: withheld_passage(row) or limits.refuses(row, best=best_heard),
    )
    share = profile.fact_share if heard else 1.0
    first = _pack(offered, budget, share=share)
    draft.facts = _take(offered, first, Reason.TOP_SCORE)
    if draft.facts and not first.skipped:
        _expand(draft, ranked, visible, known_names, question, profile, budget, share, past, known_at)
    if heard and draft.facts:
        draft.sources = candidates.origins(visible, [item.row.id for item in draft.facts])
    _add_passages(draft, heard, budget, profile)
    skipped = [offered[position] for position in first.skipped]
    late = _take(skipped, _pack(skipped, budget), Reason.TOP_SCORE)
    # Skipped facts and an expansion exclude each other, so the ranks order the whole list.
    draft.facts += late
    draft.facts.sort(key=lambda item: item.decision.rank or len(ranked) + 1)
    _settle_duplicates(draft)
    return draft


def serve_unscored(
    rows: Sequence[FactRow],
    visible: Visibility,
    *,
    budget: Budget,
    reason: Reason,
    said: frozenset[str] = frozenset(),
) -> Draft:
    """Return what is served of facts that no score chose, in the order given, each with ``reason``.

    ``said``: lines that need not be repeated.
    """
    draft = Draft(said=said)
    offered = _offer(draft, [_unscored(row) for row in rows], lambda row: withheld(row, visible))
    draft.facts = _take(offered, _pack(offered, budget), reason)
    _settle_duplicates(draft)
    return draft


def rank_facts(rows: Sequence[FactRow], visible: Visibility, weights: Weights) -> list[Ranked]:
    """Return facts in their fused order; equal scores by statement, so that random ids decide nothing."""
    recent = [recency(row.valid_from or row.recorded_from, at=visible.at) for row in rows]
    scores = [
        score * INDIRECT_FACTOR if row.evidence_level == EvidenceLevel.INDIRECT else score
        for row, score in zip(rows, _scores(rows, recent, weights), strict=True)
    ]
    return _in_order(
        [
            _ranked(IndexedUnit.FACT, row, fact_line(row.statement, row.valid_from), score, age, revision=row.version)
            for row, score, age in zip(rows, scores, recent, strict=True)
        ]
    )


def seeds(rows: Sequence[PassageRow], visible: Visibility, profile: ContextProfile) -> list[uuid.UUID]:
    """Return the passages that are best by themselves: it is they whose neighbours are worth a look."""
    scores = _scores(rows, _ages(rows, visible), profile.weights)
    return surroundings.seeds(rows, scores, count=profile.surroundings.seeds)


def rank_passages(
    rows: Sequence[PassageRow],
    visible: Visibility,
    profile: ContextProfile,
    pairs: Sequence[tuple[uuid.UUID, uuid.UUID]],
) -> list[Ranked]:
    """Return passages in their fused order, lifted by what was said around them; equal scores by text."""
    recent = _ages(rows, visible)
    alone = _scores(rows, recent, profile.weights)
    scores = surroundings.lifted(rows, alone, pairs=pairs, surroundings=profile.surroundings)
    return _in_order(
        [
            _ranked(IndexedUnit.PASSAGE, row, passage_line(row.text, row.speaker, row.occurred_at), score, age)
            for row, score, age in zip(rows, scores, recent, strict=True)
        ]
    )


def _ages(rows: Sequence[PassageRow], visible: Visibility) -> list[float]:
    return [recency(row.occurred_at, at=visible.at) for row in rows]


def facts(
    items: Sequence[Ranked],
    visible: Visibility,
    *,
    scopes: Sequence[Scope],
    subject: Subject | None,
    known: Mapping[uuid.UUID, tuple[Source, ...]] = MappingProxyType({}),
) -> list[ServedFact]:
    """Return the facts of a packet, with the names of their scopes and subjects and the events behind them.

    ``known`` are sources that were looked up before.
    """
    paths = {scope.id: scope.path for scope in scopes}
    keys = {subject.id: subject.key} if subject else {}
    missing = {item.row.subject_id for item in items} - keys.keys()
    if missing:
        keys |= dict(Subject.objects.filter(account_id=visible.account_id, id__in=missing).values_list("id", "key"))
    unknown = [item.row.id for item in items if item.row.id not in known]
    sources = {**known, **(candidates.origins(visible, unknown) if unknown else {})}
    return [
        _served_fact(item, visible, scope=paths[item.row.scope_id], subject=keys[item.row.subject_id], sources=sources)
        for item in items
    ]


def passages(items: Sequence[Ranked]) -> list[ServedPassage]:
    """Return the passages of a packet."""
    return [
        ServedPassage(
            id=item.row.id,
            event_id=item.row.event_id,
            kind=item.row.kind,
            speaker=item.row.speaker,
            text=item.row.text,
            occurred_at=item.row.occurred_at,
            origin_trust=item.row.origin_trust,
            evidential=item.row.evidential,
            score=item.decision.fusion_score,
        )
        for item in items
    ]


def _ranked(
    unit: IndexedUnit,
    row: FactRow | PassageRow,
    line: str,
    score: float | None,
    recent: float | None,
    *,
    revision: int | None = None,
) -> Ranked:
    """Return a row with a decision that stands unless it is blocked, excluded or taken."""
    decision = Decision(
        unit=unit,
        id=row.id,
        reason=Reason.OVER_BUDGET,
        revision=revision,
        similarity=row.similarity,
        text_score=row.text_score,
        recency=recent,
        fusion_score=score,
        tokens=tokens.estimate(line),
    )
    return Ranked(row=row, line=line, decision=decision)


def _unscored(row: FactRow) -> Ranked:
    return _ranked(IndexedUnit.FACT, row, fact_line(row.statement, row.valid_from), None, None, revision=row.version)


def _scores(rows: Sequence[FactRow | PassageRow], recent: Sequence[float], weights: Weights) -> list[float]:
    return combine(
        similarity=[row.similarity for row in rows],
        text=[row.text_score for row in rows],
        recent=recent,
        weights=weights,
    )


def _in_order(items: list[Ranked]) -> list[Ranked]:
    items.sort(key=lambda item: (-item.decision.fusion_score, item.line))
    for rank, item in enumerate(items, start=1):
        item.decision.rank = rank
    return items


def _offer(draft: Draft, items: Sequence[Ranked], obstacle: Callable[[Any], Reason | None]) -> list[Ranked]:
    """Note a decision for each item; return those that nothing stands against, each line once."""
    offered: dict[str, Ranked] = {}
    for item in items:
        draft.decisions.append(item.decision)
        reason = obstacle(item.row)
        if reason is not None:
            item.decision.reason = reason
        elif item.line in offered or item.line in draft.said:
            item.decision.reason = Reason.DUPLICATE_OF_SERVED
            draft.duplicates.append(item)
        else:
            offered[item.line] = item
    return list(offered.values())


def withheld(row: FactRow, visible: Visibility) -> Reason | None:
    """Return what keeps a fact from every reader although it may be seen."""
    if row.withheld == Withheld.CONFLICT:
        return Reason.CONFLICT_OPEN
    if freshness_of(row, visible) is Freshness.STALE and not settings.SERVE_STALE_FACTS:
        return Reason.VOLATILITY_EXPIRED
    return None


def withheld_passage(row: PassageRow) -> Reason | None:
    return Reason.CONFLICT_OPEN if row.withheld == Withheld.CONFLICT else None


def _pack(items: Sequence[Ranked], budget: Budget, *, share: float = 1.0, at_most: int | None = None) -> Packed:
    in_tokens = budget.unit == "tokens"
    costs = [item.decision.tokens if in_tokens else len(item.line) + 1 for item in items]
    return pack(costs, budget=budget, share=share, at_most=at_most)


def _take(items: Sequence[Ranked], packed: Packed, reason: Reason) -> list[Ranked]:
    """Return the items that were packed, with the reason in their decisions."""
    taken = [items[position] for position in packed.taken]
    for item in taken:
        item.decision.reason = reason
    return taken


def _expand(
    draft: Draft,
    ranked: Sequence[Ranked],
    visible: Visibility,
    known_names: str,
    question: Question,
    profile: ContextProfile,
    budget: Budget,
    share: float,
    past: Sequence[uuid.UUID] | None,
    known_at: datetime | None,
) -> None:
    """Add facts about the names in what is served, as far as the facts' share of the budget allows."""
    names = multihop.entities([item.row.statement for item in draft.facts], query=known_names)
    left = share * budget.limit - budget.used
    if not names or left < 1:
        return
    beside = [item.row.id for item in ranked]
    found = candidates.naming(names, visible, beside=beside, limit=profile.entity_facts, among=past)
    ids = list(dict.fromkeys(fact_id for _, fact_id in found))
    if not ids:
        return
    fetched = candidates.fetch_facts(ids, question, visible, current=past is None, known_at=known_at)
    rows = {row.id: row for row in fetched}
    items = [_unscored(rows[fact_id]) for fact_id in ids if fact_id in rows]
    offered = _offer(draft, items, lambda row: withheld(row, visible))
    packed = _pack(offered, budget, share=left / budget.limit)
    draft.facts += _take(offered, packed, Reason.MULTI_HOP_EXPANSION)


def _add_passages(draft: Draft, heard: Sequence[Ranked], budget: Budget, profile: ContextProfile) -> None:
    told = {source.passage_id or source.event_id for known in draft.sources.values() for source in known}
    heard = sorted(heard, key=lambda item: item.row.id in told or item.row.event_id in told)
    packed = _pack(heard, budget, at_most=profile.passages)
    draft.passages = _take(heard, packed, Reason.TOP_SCORE)
    draft.passages.sort(key=lambda item: item.decision.rank)
    if len(packed.taken) == profile.passages:
        last = packed.taken[-1] if packed.taken else -1
        for position in packed.skipped:
            if position > last:
                heard[position].decision.reason = Reason.OVER_PASSAGE_LIMIT


def _settle_duplicates(draft: Draft) -> None:
    """A duplicate of something that did not fit either is over budget itself."""
    served = draft.said | {item.line for item in (*draft.facts, *draft.passages)}
    for item in draft.duplicates:
        if item.line not in served:
            item.decision.reason = Reason.OVER_BUDGET


def freshness_of(row: FactRow, visible: Visibility) -> Freshness:
    """Return how fresh a fact is at the question's time."""
    return freshness(volatility=row.volatility, confirmed_at=_confirmed(row), at=visible.at)


def _confirmed(row: FactRow) -> datetime:
    return last_confirmed(
        last_reinforced_at=row.last_reinforced_at, valid_from=row.valid_from, recorded_from=row.recorded_from
    )


def _served_fact(
    item: Ranked,
    visible: Visibility,
    *,
    scope: str,
    subject: str,
    sources: Mapping[uuid.UUID, tuple[Source, ...]],
) -> ServedFact:
    row = item.row
    shown = INDIRECT_FACTOR if row.evidence_level == EvidenceLevel.INDIRECT else 1.0
    return ServedFact(
        id=row.id,
        version=row.version,
        scope=scope,
        subject=subject,
        statement=row.statement,
        predicate=row.predicate,
        value=orjson.loads(row.value) if row.value else None,
        qualifiers=orjson.loads(row.qualifiers),
        category=row.category,
        kind=row.kind,
        form=row.form,
        status=row.status,
        sensitivity=row.sensitivity,
        confidence=round(row.confidence * shown, 4),
        evidence_level=row.evidence_level,
        origin_trust=row.origin_trust,
        volatility=row.volatility,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        last_confirmed=_confirmed(row),
        freshness=freshness_of(row, visible),
        possibly_conflicting=row.possibly_conflicting,
        source_event_ids=tuple(source.event_id for source in sources.get(row.id, ()) if source.readable),
        score=item.decision.fusion_score,
    )
