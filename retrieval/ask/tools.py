"""The closed set of tools of a planned ask. All only read, all under the reader of the call, none wider than it.

``profile`` and ``lineage`` select governed facts and never are evidence by themselves; the two that look for what was
said run only where the caller allowed it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from facts.models import IndexedUnit
from facts.tenancy import account_transaction
from retrieval import lineage, stable_profile
from retrieval.ask.evidence import Evidence, of_result, of_row
from retrieval.ask.reading import Reading
from retrieval.lineage import Bounds
from retrieval.lineage_queries import NodeKey, NodeType, ReferenceStatus, Sight, status_of
from retrieval.profiles.shipped import SearchProfile
from retrieval.search.searching import search


class Tool(StrEnum):
    """What a planned ask may do."""

    KNOWLEDGE = "knowledge"
    SOURCE_EXACT = "source_exact"
    SOURCE_SEMANTIC = "source_semantic"
    PROFILE = "profile"
    LINEAGE = "lineage"


#: Tools that need the caller's yes, and tools that have a query embedded.
SOURCE_TOOLS = frozenset({Tool.SOURCE_EXACT, Tool.SOURCE_SEMANTIC})
PROVIDER_TOOLS = frozenset({Tool.KNOWLEDGE, Tool.SOURCE_SEMANTIC})

#: Milliseconds that a search for what was said may take.
SOURCE_DEADLINE_MS = 300
#: Facts whose lineage one call follows, and how far.
LINEAGES = 3
LINEAGE_BOUNDS = Bounds(max_depth=2, max_fan_out=8, max_nodes=24)

#: What a question is about when it asks for a category of the stable profile.
_PROFILE_CUES = {
    "name": r"names?|called|nickname|who am i|noms?|prénom|appell?e\w*|surnom",
    "pronouns": r"pronouns?|pronoms?",
    "occupation": r"job|work\w*|occupation|profession|employ\w*|career|role|living|métier|travail\w*|poste|emploi\w*",
    "location": r"live[sd]?|living|city|town|country|home|based|moved?|habit\w+|ville|pays|vit|domicile|déménag\w*",
    "language": r"languages?|speaks?|spoken|tongue|langues?|parle\w*",
    "timezone": r"time ?zone|what time|local time|fuseau|heure",
}
_CUES = {name: re.compile(rf"\b(?:{cue})\b", re.IGNORECASE) for name, cue in _PROFILE_CUES.items()}


@dataclass(slots=True, kw_only=True)
class Toolbox:
    """The tools of one ask, all bound to its reader, its places, its instants and its profile.

    ``profile`` is the one that the question's own search ran by. ``offered`` returns the evidence that there is so
    far.
    """

    reading: Reading
    profile: SearchProfile
    offered: Callable[[], Sequence[Evidence]] = tuple
    _walked: set[uuid.UUID] = field(default_factory=set)

    def run(self, tool: Tool, query: str, *, seconds: float) -> list[Evidence]:
        """Return what a tool finds, best first, within about ``seconds``; cancelled statements raise."""
        milliseconds = max(1, int(seconds * 1000))
        match tool:
            case Tool.KNOWLEDGE:
                return self._search(tool, query, self.profile, IndexedUnit.FACT, milliseconds)
            case Tool.SOURCE_EXACT:
                return self._search(tool, query, _only("lexical"), IndexedUnit.PASSAGE, milliseconds)
            case Tool.SOURCE_SEMANTIC:
                return self._search(tool, query, _only("semantic"), IndexedUnit.PASSAGE, milliseconds)
        with account_transaction(self.reading.principal.account_id, local={"statement_timeout": str(milliseconds)}):
            ids = self._profile(query) if tool is Tool.PROFILE else self._lineage()
            return [of_row(row, origin=tool) for row in self.reading.facts(ids)]

    def _search(
        self, tool: Tool, query: str, profile: SearchProfile, unit: IndexedUnit, milliseconds: int
    ) -> list[Evidence]:
        answer = search(
            principal=self.reading.principal,
            request=replace(self.reading.request, query=query, units=(unit,), include_identity_profile=False),
            profile=replace(profile, deadline_ms=min(profile.deadline_ms, milliseconds)),
            place=self.reading.place,
            kind=None,
        )
        return [of_result(found, origin=tool) for found in answer.results]

    def _profile(self, query: str) -> list[uuid.UUID]:
        """Return the facts of the reader's stable profile in the categories that the question asks for."""
        wanted = {category for category, cue in _CUES.items() if cue.search(query)}
        if not wanted:
            return []
        reading = self.reading
        profile = stable_profile.stable_profile(
            reading.visible, past=reading.in_the_past, known_at=reading.request.known_at
        )
        return [item.fact_id for item in profile.items if item.category in wanted]

    def _lineage(self) -> list[uuid.UUID]:
        """Return the facts that the first facts offered rest on, replace or contradict, each start once."""
        reading = self.reading
        sight = Sight(visible=reading.visible, past=reading.in_the_past, known_at=reading.request.known_at)
        starts = [
            item.key.id
            for item in self.offered()
            if item.key.unit is IndexedUnit.FACT and item.key.id not in self._walked
        ]
        found: dict[uuid.UUID, None] = {}
        for fact_id in starts[:LINEAGES]:
            self._walked.add(fact_id)
            target = NodeKey(NodeType.FACT, fact_id)
            if status_of(target, sight) is ReferenceStatus.VISIBLE:
                walked = lineage.lineage(target=target, sight=sight, bounds=LINEAGE_BOUNDS)
                found |= dict.fromkeys(lineage.facts_of(walked)[1:])
        return list(found)


def _only(strategy: str) -> SearchProfile:
    """Return the profile that looks for what was said by one strategy alone."""
    return SearchProfile(
        name=f"source_{'exact' if strategy == 'lexical' else strategy}",
        version=1,
        weights={strategy: 1.0},
        rerank_head=0,
        deadline_ms=SOURCE_DEADLINE_MS,
    )
