"""As whom, where and of which time an ask reads: the same for its search, its tools and its end."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from facts.clock import now
from facts.models import IndexedUnit
from facts.tenancy import account_transaction
from governance.access import Principal
from retrieval import candidates, places, scope_links
from retrieval.ask.evidence import Evidence, EvidenceKey
from retrieval.candidates import FactRow, Question
from retrieval.context import serving
from retrieval.places import Place
from retrieval.search.request import SearchRequest
from retrieval.visibility import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What an ask may read. ``visible`` covers linked scopes too where the caller asked for them."""

    principal: Principal
    request: SearchRequest
    place: Place
    visible: Visibility

    @classmethod
    def of(cls, principal: Principal, request: SearchRequest, place: Place, moment: datetime) -> Reading:
        """Return what ``request`` may read from ``place``, of the present or of the instants it names."""
        at = request.as_of or request.known_at or moment
        visible = places.visibility(place, request.asked, account_id=principal.account_id, at=at, now=moment)
        if request.include_cross_links and visible.scope_ids:
            with account_transaction(principal.account_id):
                linked = scope_links.linked(principal, place.scopes)
            visible = replace(visible, scope_ids=(*visible.scope_ids, *(scope.id for scope in linked)))
        return cls(principal=principal, request=request, place=place, visible=visible)

    @property
    def in_the_past(self) -> bool:
        """Whether another time than the present is asked about."""
        return self.request.as_of is not None or self.request.known_at is not None

    def facts(self, ids: Sequence[uuid.UUID]) -> list[FactRow]:
        """Return those of the facts that the reader may be told now, in the order given; inside the account."""
        if not ids:
            return []
        rows = candidates.fetch_facts(
            list(ids), Question(), self.visible, current=not self.in_the_past, known_at=self.request.known_at
        )
        told = {row.id: row for row in rows if serving.withheld(row, self.visible) is None}
        return [told[fact_id] for fact_id in ids if fact_id in told]

    def still_there(self, evidence: Sequence[Evidence]) -> set[EvidenceKey]:
        """Return what of the evidence the reader may be told at this moment; inside the account."""
        known_at = self.request.known_at
        present = replace(self, visible=replace(self.visible, now=now()))
        ids = {
            unit: list(dict.fromkeys(item.key.id for item in evidence if item.key.unit is unit)) for unit in IndexedUnit
        }
        facts = {row.id for row in present.facts(ids[IndexedUnit.FACT])}
        if self.in_the_past and facts:
            facts &= set(self.visible.past_facts(known_at=known_at))
        told = {EvidenceKey(IndexedUnit.FACT, fact_id) for fact_id in facts}
        if ids[IndexedUnit.PASSAGE]:
            rows = candidates.fetch_passages(ids[IndexedUnit.PASSAGE], Question(), self.visible, known_at=known_at)
            told |= {EvidenceKey(IndexedUnit.PASSAGE, row.id) for row in rows if serving.withheld_passage(row) is None}
        return told
