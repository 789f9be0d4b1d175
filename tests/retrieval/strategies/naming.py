"""Questions and facts for tests of the strategies that go by names."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from facts.audience import Posture, Reader
from facts.clock import now
from facts.embedding import Embedded
from facts.models import Account, Fact, IndexedUnit, Subject
from facts.tenancy import ensure_scope
from facts.vocabulary import Level, Sensitivity
from retrieval.entities import rebuilding
from retrieval.strategies.base import Hit, Item, StrategyQuestion
from retrieval.visibility import Visibility
from tests.factories import FactFactory

SHARED = {"level": Level.SCOPE, "sensitivity": Sensitivity.INTERNAL}


@dataclass(frozen=True)
class World:
    """An account with a subject about which everybody in the scope may read, and a reader of it."""

    account: Account
    topic: Subject
    reader: Subject

    def tell(self, *statements: str, **fields: Any) -> list[Fact]:
        """Make facts that the whole scope may see, and read their names."""
        facts = [FactFactory(subject=self.topic, statement=said, **{**SHARED, **fields}) for said in statements]
        rebuilding.keep(self.account.id)
        return facts

    def visible(self, *paths: str, **changes: Any) -> Visibility:
        """Return what the reader may see at these paths, ``/support`` without any."""
        instant = now()
        given = {
            "account_id": self.account.id,
            "scope_ids": tuple(ensure_scope(self.account.id, path).id for path in paths or ("/support",)),
            "subject_id": None,
            "reader": Reader(posture=Posture.PEER, subject_id=self.reader.id),
            "at": instant,
            "now": instant,
        }
        return Visibility(**{**given, **changes})

    def asked(self, text: str, *, visible: Visibility | None = None, **changes: Any) -> StrategyQuestion:
        """Return a question of the reader."""
        given: dict[str, Any] = {"text": text, "vector": None, "visible": visible or self.visible(), "limit": 50}
        return StrategyQuestion(**{**given, **changes})


def seed(fact: Fact, **fields: Any) -> Hit:
    """Return a fact as another strategy has found it."""
    return Hit(item=Item(IndexedUnit.FACT, fact.id), score=1.0, text=fact.statement, **fields)


def embedded(embedder: Any, text: str) -> Embedded:
    """Return a text's vector by the tests' embedder."""
    vector = embedder.embed_query(text)
    return vector if isinstance(vector, Embedded) else Embedded(embedder.identity, vector)


def scores(hits: list[Hit]) -> list[tuple[str, float]]:
    """Return the text and rounded score of each hit, in order."""
    return [(hit.text, round(hit.score, 4)) for hit in hits]


def ids(hits: list[Hit]) -> set[uuid.UUID]:
    """Return what was found."""
    return {hit.item.id for hit in hits}
