"""What a model was told: the text of a packet, made again from its trace for somebody who looks at it later."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import QuerySet

from facts.models import Fact, IndexedUnit, Passage
from retrieval.context import rendering
from retrieval.context.packet import EmptyReason, Packet, PacketStatus
from retrieval.models import Trace, TraceKind
from retrieval.traces import selectors
from retrieval.traces.reasons import Action, Reason
from retrieval.traces.writing import unpack

#: Reads whose answer is such a text.
TELLING = frozenset({TraceKind.CONTEXT, TraceKind.PREVIEW})
#: What cards said is not kept; facts that they rested on are.
_BY_A_CARD = frozenset({Reason.CARD_LINE.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The text, of ``pieces`` facts and passages.

    ``gone``: pieces that may not be shown now. ``from_cards``: facts that lines of cards rested on, which stand in the
    text as those lines and are not in it here.
    """

    text: str
    pieces: int
    gone: int
    from_cards: int

    @property
    def is_whole(self) -> bool:
        """Whether this is the text, word for word."""
        return self.gone == 0 and self.from_cards == 0


def of_trace(trace: Trace, facts: QuerySet[Fact], passages: QuerySet[Passage]) -> Told | None:
    """Return what the read told, as far as it is among ``facts`` and ``passages``: what the person may read today.

    ``None`` for reads that answer with no text. Statements and passages never change; the rest is of the revision that
    was served. Two queries.
    """
    if trace.kind not in TELLING and not (trace.kind == TraceKind.REPLAY and trace.budget_unit != "results"):
        return None
    included = [decision for decision in unpack(trace.decisions) if decision["action"] == Action.INCLUDED]
    said = [decision for decision in included if decision["reason"] not in _BY_A_CARD]
    chosen = {
        unit: {uuid.UUID(str(row["id"])): row for row in said if row["unit"] == unit}
        for unit in (IndexedUnit.FACT, IndexedUnit.PASSAGE)
    }
    told_facts = selectors.served_facts(trace, chosen[IndexedUnit.FACT], facts, None)
    told_passages = selectors.served_passages(trace, chosen[IndexedUnit.PASSAGE], passages)
    packet = Packet(
        facts=told_facts,
        passages=told_passages,
        warnings=list(trace.warnings),
        status=PacketStatus(trace.status),
        empty_reason=EmptyReason(trace.empty_reason) if trace.empty_reason else None,
    )
    pieces = len(told_facts) + len(told_passages)
    return Told(
        text=rendering.block(packet), pieces=pieces, gone=len(said) - pieces, from_cards=len(included) - len(said)
    )
