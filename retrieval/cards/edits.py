"""What people decided about lines: reworded, pinned or removed, in force through every build until it is undone."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from retrieval.cards import sources
from retrieval.cards.building import Line
from retrieval.cards.sources import CardPlace
from retrieval.models import Card, CardEdit, EditKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The lines that people wrote or pinned and whose facts may all be used, and the facts that they removed.

    ``any`` tells whether there is a decision at all, also one that has no effect at the moment.
    """

    lines: tuple[Line, ...]
    removed: frozenset[uuid.UUID]
    any: bool


def of_card(card: Card) -> QuerySet[CardEdit]:
    """Return the decisions about a card that were not undone, the oldest first."""
    return CardEdit.objects.filter(account_id=card.account_id, card_id=card.pk, undone_at=None).order_by("id")


def in_force(card: Card, place: CardPlace, *, at: datetime) -> Decided:
    """Return what people decided about the card, as far as it holds at ``at``."""
    # The last word about the same facts counts; when that is undone, the one before counts again.
    made = list({frozenset(facts_of(edit)): edit for edit in of_card(card)}.values())
    if not made:
        return Decided(lines=(), removed=frozenset(), any=False)
    cited = {fact_id for edit in made for fact_id in facts_of(edit)}
    current = sources.usable(place, cited, at=at)
    lines = tuple(
        line_of(edit) for edit in made if edit.kind != EditKind.REMOVED and current.keys() >= set(facts_of(edit))
    )
    removed = frozenset(fact_id for edit in made if edit.kind == EditKind.REMOVED for fact_id in facts_of(edit))
    return Decided(lines=lines, removed=removed, any=True)


def facts_of(edit: CardEdit) -> tuple[uuid.UUID, ...]:
    """Return the facts that a decision rests on, in the order in which the line cites them."""
    return tuple(uuid.UUID(fact_id) for fact_id in edit.original["facts"])


def versions_seen(edit: CardEdit) -> Mapping[uuid.UUID, int]:
    """Return in which version the person saw each fact."""
    return {uuid.UUID(fact_id): version for fact_id, version in edit.facts.items()}


def line_of(edit: CardEdit) -> Line:
    """Return the line that a decision puts on the card."""
    section: Any = edit.original.get("section", "")
    return Line(text=edit.text, facts=facts_of(edit), edited=True, section=section)
