"""Compaction: a card that followed its facts one by one is written anew, by a model where there is one.

The model is asked outside of any transaction. What it wrote is checked against the facts as they are when it is
stored: a line whose facts changed meanwhile is left out, and a card whose model fails stays as it was.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.conf import settings

from facts.clock import now
from facts.locks import Lock, lock_account
from facts.tenancy import account_transaction
from retrieval.cards import checking, edits, rebuilding, sections, sources
from retrieval.cards.building import LIMITS, Line, build, dated
from retrieval.cards.composing import ComposeFailed, Composer, Offered, Previous, Task, configured
from retrieval.cards.display_names import named
from retrieval.cards.repeats import distinct
from retrieval.cards.sources import CardPlace, Found, Source
from retrieval.context.rendering import one_line
from retrieval.models import Card, CardChange, CardKind

#: None of the lines that came cites what was offered and says no more than that.
UNSUPPORTED = "unsupported_lines"
#: Facts remembered as offered since the last whole compaction: the next one is whole when there are more.
OFFERED = 300


class Outcome(StrEnum):
    """What came of a compaction."""

    GONE = "gone"
    BUILT = "built"
    COMPOSED = "composed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What a model is asked, and what its answer is read by.

    ``facts`` and ``said`` are by number; ``offered`` are the facts that the card's model has then been shown.
    """

    task: Task
    facts: Mapping[int, uuid.UUID]
    said: Mapping[int, str]
    offered: tuple[uuid.UUID, ...]
    whole: bool


def compact(account_id: uuid.UUID, card_id: uuid.UUID, *, whole: bool = False) -> Outcome:
    """Write a card anew from what is known; ``whole``: nothing of what a model wrote before is taken over.

    Outside of a transaction. Raises ``ComposeFailed``; the card is then as up to date as facts alone make it, and
    still due.
    """
    composer = configured()
    with account_transaction(account_id):
        lock_account(Lock.CARDS, account_id)
        card = _refreshed(account_id, card_id, whole=composer is None)
        if card is None:
            return Outcome.GONE
        # Names are many and short; what is said with them is for facts to say.
        if composer is None or card.kind == CardKind.ENTITY_CARD:
            _settle(card)
            return Outcome.BUILT
        draft = _draft(card, whole=whole)
        if draft is None:
            _settle(card)
            return Outcome.UNCHANGED
    proposed = composer.compose(account_id=account_id, task=draft.task)
    lines = checking.accepted(
        proposed,
        facts=draft.facts,
        said=draft.said,
        sections=draft.task.sections,
        characters=draft.task.characters,
    )
    if proposed and not lines:
        raise ComposeFailed(UNSUPPORTED)
    with account_transaction(account_id):
        lock_account(Lock.CARDS, account_id)
        return _store(account_id, card_id, draft, lines, composer)


def _refreshed(account_id: uuid.UUID, card_id: uuid.UUID, *, whole: bool) -> Card | None:
    """Return the card, brought up to date with its facts where it was not, or ``None`` when there is none any more."""
    mine = Card.objects.filter(account_id=account_id, pk=card_id)
    card = mine.first()
    if card is None:
        return None
    if whole or not card.builder or (card.due_at is not None and card.due_at <= now()):
        rebuilding.bring_up_to_date(card, whole=whole)
    return mine.first()


def _settle(card: Card) -> None:
    """Note that the card needs no compaction until something changes."""
    Card.objects.filter(account_id=card.account_id, pk=card.pk).update(compact_due=False, compacted_at=now())


def _draft(card: Card, *, whole: bool) -> _Draft | None:
    """Return what to ask about the card; ``None`` when nothing is new since its model was asked last."""
    at, place = now(), rebuilding.place_of(card)
    decided = edits.in_force(card, place, at=at)
    settled = decided.removed | {fact_id for line in decided.lines for fact_id in line.facts}
    found = [source for source in sources.latest(place, at=at).sources if source.id not in settled]
    stored = [Line.stored(line) for line in card.lines]
    before = rebuilding.supported(place, [line for line in stored if line.composed], decided, at=at)
    shown = {uuid.UUID(fact_id) for fact_id in card.offered}
    if before and not whole and all(source.id in shown for source in found):
        return None
    whole = whole or not before or card.compactions >= settings.SUMMARY_WHOLE_EVERY or len(shown) > OFFERED
    if whole:
        before, shown = [], set()
    fresh = _distinct(card.account_id, [source for source in found if source.id not in shown])
    if not fresh:
        return None
    return _numbered(card, fresh, before, shown, at=at, whole=whole, spent=decided.lines)


def _distinct(account_id: uuid.UUID, found: Sequence[Source]) -> list[Source]:
    """Return the facts to be shown, people by their names, each said once, oldest first: as they came to be known."""
    listed = named(account_id, found)
    kept = distinct([source.statement for source in listed])
    return [listed[place] for place in reversed(kept)]


def _numbered(
    card: Card,
    fresh: Sequence[Source],
    before: Sequence[Line],
    shown: set[uuid.UUID],
    *,
    at: datetime,
    whole: bool,
    spent: Sequence[Line],
) -> _Draft:
    numbers: dict[uuid.UUID, int] = {}
    said: dict[int, str] = {}
    for line in before:
        for fact_id in line.facts:
            number = numbers.setdefault(fact_id, len(numbers) + 1)
            said[number] = f"{said.get(number, '')} {line.text}"
    facts = []
    for source in fresh:
        number = numbers.setdefault(source.id, len(numbers) + 1)
        text = one_line(dated(source.statement, source.valid_from, source.valid_to))
        said[number] = f"{said.get(number, '')} {text}"
        facts.append(Offered(number=number, text=text))
    task = Task(
        kind=card.kind,
        title=one_line(card.title),
        sections=tuple(sections.Section) if card.kind in sections.PROFILES else (),
        previous=tuple(
            Previous(section=line.section, text=line.text, numbers=tuple(numbers[fact_id] for fact_id in line.facts))
            for line in before
        ),
        facts=tuple(facts),
        characters=max(0, LIMITS[card.kind].characters - sum(len(line.text) + 1 for line in spent)),
        at=at,
    )
    return _Draft(
        task=task,
        facts={number: fact_id for fact_id, number in numbers.items()},
        said=said,
        offered=tuple(dict.fromkeys([*shown, *numbers, *(source.id for source in fresh)])),
        whole=whole,
    )


def _store(
    account_id: uuid.UUID, card_id: uuid.UUID, draft: _Draft, lines: Sequence[Line], composer: Composer
) -> Outcome:
    """Store what the model wrote, as far as it holds now; without a line that does, the card stays as it is."""
    at = now()
    card = Card.objects.filter(account_id=account_id, pk=card_id).first()
    if card is None:
        return Outcome.GONE
    place = rebuilding.place_of(card)
    decided = edits.in_force(card, place, at=at)
    composed = rebuilding.supported(place, lines, decided, at=at)
    if not composed:
        _settle(card)
        return Outcome.UNCHANGED
    found = sources.find(place, at=at)
    kept = [*decided.lines, *composed]
    unseen = decided.removed | set(draft.offered)
    changed_meanwhile = card.pending != [] or (card.due_at is not None and card.due_at <= at)
    due_at = card.due_at if changed_meanwhile else rebuilding.due(place, found, at)
    pending = card.pending
    card.offered = [str(fact_id) for fact_id in draft.offered]
    card.compactions = 0 if draft.whole else card.compactions + 1
    card.compacted_at, card.compact_due, card.sources = at, changed_meanwhile, found.total
    rebuilding.save(
        card,
        build(card.kind, named(account_id, found.sources), kept=kept, passed_over=unseen),
        _cited(place, kept, found, at=at),
        at,
        due_at=due_at,
        builder=composer.identity,
        change=CardChange.COMPACTED,
    )
    if changed_meanwhile:
        Card.objects.filter(account_id=account_id, pk=card_id).update(pending=pending)
    return Outcome.COMPOSED


def _cited(place: CardPlace, lines: Sequence[Line], found: Found, *, at: datetime) -> Found:
    """Return the sources together with all that the lines cite, for the sensitivity of the card."""
    cited = sources.usable(place, {fact_id for line in lines for fact_id in line.facts}, at=at)
    return Found(sources=[*found.sources, *cited.values()], total=found.total)
