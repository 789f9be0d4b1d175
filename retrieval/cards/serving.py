"""Serving cards: what the reader may see of them now, as far as the budget reaches.

Two queries for all cards together: the cards themselves, and the facts they cite, under the audience rule.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import orjson
from django.db import connection

from facts.freshness import Freshness
from facts.models import IndexedUnit
from retrieval import candidates
from retrieval.candidates import FactRow, Question
from retrieval.cards.building import Line, folded
from retrieval.context import serving
from retrieval.context.packet import ServedCard, ServedLine
from retrieval.context.packing import Budget
from retrieval.context.rendering import card_heading, card_line
from retrieval.models import CardKind
from retrieval.text import tokens
from retrieval.traces.reasons import MEANING, Action, Reason
from retrieval.traces.writing import Decision
from retrieval.visibility import Visibility

#: The order in which cards are served.
ORDER = (CardKind.SESSION_SUMMARY, CardKind.SUBJECT_PROFILE, CardKind.SCOPE_CARD, CardKind.ENTITY_CARD)
#: Cards about names that are served at most, those of the nearest scopes first.
ENTITY_CARDS = 8


class StoredCard(NamedTuple):
    """A card as it is stored."""

    kind: str
    key: str
    title: str
    scope_id: uuid.UUID
    subject_id: uuid.UUID | None
    lines: str
    sources: int
    builder: str
    built_at: datetime


@dataclass(slots=True)
class Shown:
    """The cards that are served, and a decision about every fact that they cite and the reader may know of.

    ``missed`` are the facts of lines that did not fit.
    """

    cards: list[ServedCard] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    missed: list[Decision] = field(default_factory=list)

    @property
    def decided(self) -> set[uuid.UUID]:
        """The facts about which nothing else needs to be decided."""
        return {decision.id for decision in self.decisions}

    @property
    def said(self) -> frozenset[str]:
        """The lines that are served."""
        return frozenset(card_line(line.text) for card in self.cards for line in card.lines)

    def join(self, draft: serving.Draft) -> serving.Draft:
        """Put the cards before what ``draft`` serves; what it left out and a card says is served."""
        if not self.decisions and not self.missed:
            return draft
        decided = {decision.id: decision for decision in draft.decisions}
        for decision in self.decisions:
            other = decided.get(decision.id)
            if other is not None and MEANING[other.reason][0] is Action.EXCLUDED:
                other.reason = decision.reason
        draft.cards = self.cards
        draft.card_tokens = sum(decision.tokens or 0 for decision in self.decisions)
        first = [decision for decision in self.decisions if decision.id not in decided]
        last = [decision for decision in self.missed if decision.id not in decided]
        draft.decisions = [*first, *draft.decisions, *last]
        return draft


def serve(
    visible: Visibility,
    *,
    paths: Mapping[uuid.UUID, str],
    thread: str,
    budget: Budget,
    kinds: Sequence[str] = ORDER,
) -> Shown:
    """Return what fits of the reader's cards: of each kind, line by line until one does not fit.

    ``paths`` names the scopes; ``thread`` the session, if there is one.
    """
    cards = _chosen(_stored(visible, thread, kinds), visible)
    lines = [[Line.stored(line) for line in orjson.loads(card.lines)] for card in cards]
    cited = {fact_id for of_card in lines for line in of_card for fact_id in line.facts}
    if not cited:
        return Shown()
    found = candidates.fetch_facts(sorted(cited), Question(), visible, current=True)
    rows = {row.id: row for row in found if needs_no_remark(row, visible)}
    shown = Shown(decisions=_blocked(found, visible))
    full: set[str] = set()
    for card, of_card in zip(cards, lines, strict=True):
        usable = [line for line in of_card if line.facts and rows.keys() >= set(line.facts)]
        if card.kind == CardKind.ENTITY_CARD and not _is_named_in(card.title, usable):
            continue
        taken = _take(shown, card, usable, rows, budget, full)
        if taken:
            shown.cards.append(
                ServedCard(
                    kind=card.kind,
                    title=card.title,
                    scope=paths[card.scope_id],
                    lines=tuple(
                        ServedLine(text=line.text, facts=line.facts, edited=line.edited, section=line.section)
                        for line in taken
                    ),
                    builder=card.builder,
                    built_at=card.built_at,
                )
            )
    _settle_missed(shown)
    return shown


def _stored(visible: Visibility, thread: str, kinds: Sequence[str]) -> list[StoredCard]:
    """Return the built cards of these kinds that are meant for the reader, each found by its whole key."""
    if not visible.scope_ids:
        return []
    wanted = [
        ("c.subject_id = %(reader)s AND c.kind = 'session_summary' AND c.key = %(thread)s", CardKind.SESSION_SUMMARY),
        ("c.subject_id IS NULL AND c.kind = 'session_summary' AND c.key = %(thread)s", CardKind.SESSION_SUMMARY),
        ("c.subject_id = %(reader)s AND c.kind = 'subject_profile'", CardKind.SUBJECT_PROFILE),
        ("c.subject_id IS NULL AND c.kind = 'scope_card'", CardKind.SCOPE_CARD),
        ("c.subject_id IS NULL AND c.kind = 'entity_card'", CardKind.ENTITY_CARD),
    ]
    asked = [condition for condition, kind in wanted if kind in kinds and (thread or kind != CardKind.SESSION_SUMMARY)]
    if not asked:
        return []
    parts = " UNION ALL ".join(
        f"SELECT {', '.join(f'c.{name}' for name in StoredCard._fields)} FROM retrieval_card c"
        f" WHERE c.account_id = %(account)s AND c.scope_id = ANY(%(scopes)s) AND {condition} AND c.builder <> ''"
        for condition in asked
    )
    with connection.cursor() as cursor:
        cursor.execute(parts, {**visible.parameters(), "thread": thread})
        return [StoredCard(*row) for row in cursor.fetchall()]


def _chosen(cards: Iterable[StoredCard], visible: Visibility) -> list[StoredCard]:
    """Return the cards in the order in which they are served, the nearest scopes first.

    Of a session in one scope the reader's own summary, where there is one, stands for everybody's.
    """
    nearness = {scope_id: position for position, scope_id in enumerate(visible.scope_ids)}
    ordered = sorted(
        cards,
        key=lambda card: (
            ORDER.index(card.kind),
            nearness[card.scope_id],
            card.subject_id is None,
            -card.sources,
            card.key,
        ),
    )
    chosen: list[StoredCard] = []
    for card in ordered:
        session = card.kind == CardKind.SESSION_SUMMARY
        if session and any(other.scope_id == card.scope_id for other in chosen):
            continue
        if card.kind == CardKind.ENTITY_CARD and sum(other.kind == card.kind for other in chosen) == ENTITY_CARDS:
            break
        chosen.append(card)
    return chosen


def needs_no_remark(row: FactRow, visible: Visibility) -> bool:
    """Tell whether a card may speak for the fact; one that needs a remark is served by itself."""
    return (
        serving.withheld(row, visible) is None
        and not row.possibly_conflicting
        and serving.freshness_of(row, visible) is Freshness.CURRENT
    )


def _blocked(rows: Iterable[FactRow], visible: Visibility) -> list[Decision]:
    """Return a decision about each fact that is kept back from every reader."""
    reasons = ((row, serving.withheld(row, visible)) for row in rows)
    return [_decision(row, reason) for row, reason in reasons if reason is not None]


def _is_named_in(title: str, lines: Iterable[Line]) -> bool:
    """Tell whether a line still says the name: a card must not be called by a word of a fact that left."""
    return any(folded(title) in folded(line.text) for line in lines)


def _take(
    shown: Shown,
    card: StoredCard,
    lines: Sequence[Line],
    rows: Mapping[uuid.UUID, FactRow],
    budget: Budget,
    full: set[str],
) -> list[Line]:
    """Take lines as long as they fit; the first that does not ends its kind. Facts that were said are not repeated."""
    taken: list[Line] = []
    for line in lines:
        fresh = [fact_id for fact_id in line.facts if fact_id not in shown.decided]
        if not fresh:
            continue
        opens = not taken and all(other.kind != card.kind for other in shown.cards)
        texts = [card_heading(card.kind)] * opens + [card_line(line.text)]
        if card.kind in full or not budget.take(_cost(texts, budget)):
            full.add(card.kind)
            shown.missed += [_decision(rows[fact_id], Reason.OVER_BUDGET) for fact_id in fresh]
            continue
        taken.append(line)
        decisions = [_decision(rows[fact_id], Reason.CARD_LINE) for fact_id in fresh]
        # What the line costs is counted once, however many facts it rests on.
        decisions[0].tokens = sum(map(tokens.estimate, texts))
        shown.decisions += decisions
    return taken


def _cost(texts: Sequence[str], budget: Budget) -> int:
    in_tokens = budget.unit == "tokens"
    return sum(tokens.estimate(text) if in_tokens else len(text) + 1 for text in texts)


def _settle_missed(shown: Shown) -> None:
    """Keep one decision about each missed fact, and none about one that another card served."""
    decided = shown.decided
    shown.missed = list({decision.id: decision for decision in shown.missed if decision.id not in decided}.values())


def _decision(row: FactRow, reason: Reason) -> Decision:
    return Decision(unit=IndexedUnit.FACT, id=row.id, reason=reason, revision=row.version, tokens=0)
