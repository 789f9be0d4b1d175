"""What a card said before: one version for each time its lines changed, and how two of them differ."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from enum import StrEnum

from retrieval.cards.building import Line
from retrieval.models import Card, CardVersion

#: Versions kept of a card, the youngest; a card that follows its facts has one for each change.
KEPT = 30


class Side(StrEnum):
    """Where a line stands that two versions are compared by."""

    BOTH = "both"
    ADDED = "added"
    LEFT = "left"


def keep(card: Card, *, change: str, maker: uuid.UUID | None) -> None:
    """Write down what the card says now as its newest version; of old ones, :data:`KEPT` stay."""
    CardVersion.objects.update_or_create(
        account_id=card.account_id,
        card_id=card.pk,
        number=card.version,
        defaults={"lines": card.lines, "change": change, "builder": card.builder, "made_by_id": maker},
    )
    of_card = CardVersion.objects.filter(account_id=card.account_id, card_id=card.pk)
    of_card.filter(number__lte=card.version - KEPT).delete()


def difference(before: Sequence[Line], after: Sequence[Line]) -> list[tuple[Side, Line]]:
    """Return the lines of both in reading order, each with the side on which it stands."""
    matcher = SequenceMatcher(None, [line.text for line in before], [line.text for line in after], autojunk=False)
    found: list[tuple[Side, Line]] = []
    for tag, b1, b2, a1, a2 in matcher.get_opcodes():
        if tag == "equal":
            found += _on(Side.BOTH, after[a1:a2])
        else:
            found += [*_on(Side.LEFT, before[b1:b2]), *_on(Side.ADDED, after[a1:a2])]
    return found


def _on(side: Side, lines: Iterable[Line]) -> list[tuple[Side, Line]]:
    return [(side, line) for line in lines]
