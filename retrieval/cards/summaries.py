"""Summaries by entity: the profiles of subjects, each line checked for the reader at the moment of reading."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import F, Q, QuerySet
from pgvector.django import CosineDistance

from facts import embedding
from facts.audience import Posture
from facts.embedding import Embedded
from facts.models import Subject
from facts.vocabulary import Sensitivity
from retrieval import candidates
from retrieval.candidates import FactRow, Question
from retrieval.cards import sections
from retrieval.cards.building import Line
from retrieval.cards.serving import needs_no_remark
from retrieval.models import Card, CardKind
from retrieval.visibility import Visibility

#: The only type that an earlier system has, by which its clients filter.
PROFILE = "profile"
#: Cards looked at together, and in all for one page.
BATCH, LOOKED_AT = 100, 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What is known of a subject in one scope, as far as the reader may see it.

    ``lines`` stand in the order of their sections; ``summary`` is the same as text, a heading before each section.
    ``period_start`` and ``period_end`` are the first and the last day on which something of it began to hold.
    """

    id: uuid.UUID
    scope: str
    subject_id: uuid.UUID
    subject_kind: str
    subject_key: str
    subject_name: str
    lines: tuple[Line, ...]
    builder: str
    sensitivity: str
    period_start: date | None
    period_end: date | None
    created_at: datetime
    updated_at: datetime
    summary_type: str = PROFILE

    @property
    def summary(self) -> str:
        """The text of the profile, as lines of markdown."""
        text: list[str] = []
        heading = None
        for line in self.lines:
            if line.section != heading:
                text.append(f"**{line.section or 'General'}**")
                heading = line.section
            text.append(f"- {line.text}")
        return "\n".join(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Summaries in the order of their ids. ``stopped_at``: the card behind which there may be more, if any."""

    summaries: list[Summary]
    stopped_at: uuid.UUID | None


def of_entities(
    visible: Visibility,
    *,
    kinds: Collection[str] = (),
    subject_id: uuid.UUID | None = None,
    after: uuid.UUID | None = None,
    limit: int = 50,
) -> Listed:
    """Return up to ``limit`` summaries of the scopes of ``visible`` that say something to its reader.

    They begin behind ``after``. ``kinds`` narrows to kinds of subjects, ``subject_id`` to one subject. A reader has
    its own profile instead of the one that is for everybody. Runs inside the account; three queries for each
    :data:`BATCH` cards looked at, and no more than :data:`LOOKED_AT` of these: a page may hold fewer, even none,
    although there are more behind it.
    """
    found: list[Summary] = []
    for _ in range(LOOKED_AT // BATCH):
        cards = _cards(visible, subject_id=subject_id, after=after)
        found += _summed_up(_about(cards, kinds), visible)
        if len(found) > limit:
            return Listed(summaries=found[:limit], stopped_at=found[limit - 1].id)
        if len(cards) < BATCH:
            return Listed(summaries=found, stopped_at=None)
        after = cards[-1].pk
    return Listed(summaries=found, stopped_at=after)


def closest(visible: Visibility, *, vector: Embedded, kinds: Collection[str] = (), limit: int = 50) -> list[Summary]:
    """Return the summaries closest in meaning to what somebody looks for, of which ``vector`` is made, closest first.

    Of the :data:`BATCH` cards whose words are closest, what the reader may see. What a card has come to say since it
    was embedded moves it only from the next night on; what was forgotten of it moves it no more at all. A vector is of
    all the words of a card: who reads what is public only finds cards that say nothing else, or their order would tell
    what the others say.
    """
    near = CosineDistance("vector__h", vector.numbers.tolist())
    embedded = _of_reader(visible).filter(vector__space=embedding.space(vector.identity).id)
    public_only = visible.reader.posture is Posture.PUBLIC_ONLY
    if public_only:
        embedded = embedded.filter(sensitivity=Sensitivity.PUBLIC, vector__version=F("version"))
    cards = list(embedded.annotate(distance=near).order_by("distance", "id")[:BATCH])
    found = _summed_up(_about(cards, kinds), visible)
    if public_only:
        lines = {card.pk: len(card.lines) for card in cards}
        found = [summary for summary in found if len(summary.lines) == lines[summary.id]]
    return found[:limit]


def _cards(visible: Visibility, *, subject_id: uuid.UUID | None, after: uuid.UUID | None) -> list[Card]:
    cards = _of_reader(visible)
    if after is not None:
        cards = cards.filter(id__gt=after)
    if subject_id is not None:
        cards = cards.filter(Q(subject_id=subject_id) | Q(key=str(subject_id)))
    return list(cards.order_by("id")[:BATCH])


def _of_reader(visible: Visibility) -> QuerySet[Card]:
    """Return the profiles that are for a reader: their own, and of all others those for everybody."""
    reader = visible.reader.subject_id
    shared = Q(kind=CardKind.SHARED_PROFILE) & ~Q(key=str(reader))
    own = Q(kind=CardKind.SUBJECT_PROFILE, subject_id=reader) if reader is not None else Q(pk__in=[])
    cards = Card.objects.filter(shared | own, account_id=visible.account_id, scope_id__in=visible.scope_ids)
    return cards.exclude(builder="").select_related("scope")


def _about(cards: Sequence[Card], kinds: Collection[str]) -> list[tuple[Card, Subject]]:
    """Return the profiles with the subjects that they are about, of these kinds where any are given."""
    about = {card.pk: card.subject_id or uuid.UUID(card.key) for card in cards}
    account_ids = {card.account_id for card in cards}
    subjects = Subject.objects.filter(account_id__in=account_ids).in_bulk(list(set(about.values())))
    pairs = [(card, subjects[about[card.pk]]) for card in cards if about[card.pk] in subjects]
    return [(card, subject) for card, subject in pairs if not kinds or subject.kind in kinds]


def _summed_up(cards: Sequence[tuple[Card, Subject]], visible: Visibility) -> list[Summary]:
    """Return what the reader may see of these cards now; none of those of which that is nothing."""
    lines = {card.pk: [Line.stored(line) for line in card.lines] for card, _ in cards}
    cited = {fact_id for of_card in lines.values() for line in of_card for fact_id in line.facts}
    found = candidates.fetch_facts(sorted(cited), Question(), visible, current=True) if cited else []
    rows = {row.id: row for row in found if needs_no_remark(row, visible)}
    summaries = []
    for card, subject in cards:
        usable = [line for line in lines[card.pk] if line.facts and rows.keys() >= set(line.facts)]
        if usable:
            ordered = sorted(usable, key=lambda line: sections.place(line.section))
            summaries.append(_summary(card, subject, ordered, [rows[one] for line in usable for one in line.facts]))
    return summaries


def _summary(card: Card, subject: Subject, lines: Sequence[Line], facts: Sequence[FactRow]) -> Summary:
    began = sorted(row.valid_from.date() for row in facts if row.valid_from is not None)
    return Summary(
        id=card.pk,
        scope=card.scope.path,
        subject_id=subject.pk,
        subject_kind=subject.kind,
        subject_key=subject.key,
        subject_name=subject.display_name,
        lines=tuple(lines),
        builder=card.builder,
        sensitivity=card.sensitivity,
        period_start=began[0] if began else None,
        period_end=began[-1] if began else None,
        created_at=card.created_at,
        updated_at=card.built_at,
    )
