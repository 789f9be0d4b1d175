"""One question put to one strategy, in the transaction of the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from facts.audience import Posture, Reader
from facts.clock import now
from facts.embedding import Embedded
from facts.models import Account, Subject
from facts.tenancy import ensure_scope
from retrieval.strategies.base import Hit, Strategy, StrategyQuestion
from retrieval.text import lexical_operators
from retrieval.visibility import Visibility
from tests.retrieval.conftest import WordEmbedder, index_vectors

Seek = Callable[..., list[Hit]]


@pytest.fixture
def seek(account: Account, ana: Subject) -> Seek:
    """Let a strategy look in ``/support`` as Ana, vectors indexed; every part of the question can be changed."""

    def sought(strategy: Strategy, text: str = "tea", **changes: Any) -> list[Hit]:
        index_vectors(account)
        question = asked(account, text, ana, **changes)
        return strategy.find(question, seeds=()) if strategy.applies(question) else []

    return sought


def asked(account: Account, text: str, peer: Subject, **changes: Any) -> StrategyQuestion:
    """Return a question as a search asks it; past facts, where an instant is asked about, included."""
    moment = now()
    as_of, known_at = changes.get("as_of"), changes.get("known_at")
    visible = Visibility(
        account_id=account.id,
        scope_ids=changes.pop("scope_ids", (ensure_scope(account.id, "/support").id,)),
        subject_id=changes.pop("subject_id", None),
        reader=changes.pop("reader", Reader(posture=Posture.PEER, subject_id=peer.id)),
        at=as_of or known_at or moment,
        now=moment,
    )
    alternatives = lexical_operators.parse(text)
    if alternatives is not None:
        changes["demanded"] = lexical_operators.tsquery(alternatives, text)
        text = lexical_operators.wanted(alternatives) or text
    embedder = WordEmbedder()
    values = {
        "text": text,
        "vector": Embedded(embedder.identity, embedder.embed_query(text)),
        "visible": visible,
        "limit": 64,
        "past": visible.past_facts(known_at=known_at) if as_of or known_at else None,
    }
    return StrategyQuestion(**{**values, **changes})


PUBLIC = Reader(posture=Posture.PUBLIC_ONLY)


def texts(hits: list[Hit]) -> list[str]:
    """Return what was found, in order."""
    return [hit.text for hit in hits]
