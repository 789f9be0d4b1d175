"""The names that the facts of a scope share: what its cards about names are about, and called by."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import NamedTuple

from retrieval.cards import sources
from retrieval.cards.sources import CardPlace
from retrieval.entities import labels
from retrieval.entities.names import fold
from retrieval.models import CardKind

#: Cards about names in one scope: those with the most facts.
MOST = 8
KEY_CHARACTERS = 200


class Named(NamedTuple):
    """A name, as the facts that share it write it; ``key`` is its folded form."""

    key: str
    label: str
    facts: tuple[uuid.UUID, ...]


def of_scope(account_id: uuid.UUID, scope_id: uuid.UUID, *, at: datetime, least: int) -> list[Named]:
    """Return the names that at least ``least`` facts share which every reader of the scope may see."""
    place = CardPlace(account_id=account_id, kind=CardKind.ENTITY_CARD, scope_id=scope_id)
    found = labels.most_mentioned(sources.audience_of(place, at=at), limit=MOST)
    named = [Named(fold(item.label)[:KEY_CHARACTERS], item.label, tuple(item.fact_ids)) for item in found]
    return [item for item in named if item.key and len(item.facts) >= least]
