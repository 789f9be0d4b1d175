"""What tests of reading stand on: an embedder that costs nothing, and a question asked as an app asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from facts import embedding, index
from facts.embedding import EmbedderIdentity
from facts.models import Account, Subject
from facts.textindex import words
from governance.access import Principal
from retrieval import places
from retrieval.context.assembly import ContextAnswer, ContextRequest, assemble
from retrieval.embedders import registry
from retrieval.models import Trace
from retrieval.profiles import overrides
from retrieval.profiles.shipped import ContextProfile
from retrieval.search.answer import SearchAnswer
from retrieval.search.request import SearchRequest
from retrieval.search.searching import search
from retrieval.traces.writing import unpack
from tests.factories import SubjectFactory, key_principal


class WordEmbedder:
    """Puts each word on an axis of its own, nearly: texts are as near as the words they share."""

    identity = EmbedderIdentity(provider="test", model="words", version="1", dimensions=384, recipe="hash")
    bounded = True

    def embed_query(self, text: str) -> np.ndarray:
        vector = np.full(384, 1e-3, dtype=np.float32)
        for word in words(text):
            vector[int.from_bytes(sha256(word.folded.encode()).digest()[:4], "big") % 384] += 1
        return vector / np.linalg.norm(vector)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self.embed_query(text) for text in texts])


@pytest.fixture(autouse=True)
def embedder(monkeypatch: pytest.MonkeyPatch) -> Iterator[WordEmbedder]:
    """The word embedder in place of the configured one."""
    made = WordEmbedder()
    registry.cache.clear()
    places.forget()
    overrides.forget()
    # Tests that commit empty the table whose numbers are remembered here.
    monkeypatch.setattr(embedding, "_spaces", {})
    # How often a process looks which space serves is no part of what these tests count.
    monkeypatch.setattr(embedding, "NOTICE_SECONDS", 3_600)
    before = embedding._state
    embedding.register(made)
    yield made
    embedding._state = before


def index_vectors(account: Account) -> None:
    """Write the vectors of everything searchable that has none yet, as the worker does."""
    provider = embedding.writing()
    space = embedding.space(provider.identity)
    for missing, write in (
        (index.facts_missing_vectors, index.write_fact_vectors),
        (index.passages_missing_vectors, index.write_passage_vectors),
    ):
        rows = missing(account.id, space=space, limit=10_000)
        vectors = embedding.try_embed([text for _, text in rows]) or []
        write(account.id, vectors=[(row_id, v) for (row_id, _), v in zip(rows, vectors, strict=True)])


@pytest.fixture
def ana(account: Account) -> Subject:
    """A person."""
    return SubjectFactory(account=account, key="ana", name="Ana")


@pytest.fixture
def app(account: Account) -> Principal:
    """An app's key: reads as the subject it names."""
    return key_principal(account)


@pytest.fixture
def ask(account: Account, app: Principal) -> Callable[..., ContextAnswer]:
    """Ask about Ana in the scope ``/support``, vectors indexed; every part of the request can be changed."""

    def asked(
        query: str = "tea",
        *,
        principal: Principal | None = None,
        profile: ContextProfile | None = None,
        **changes: Any,
    ) -> ContextAnswer:
        index_vectors(account)
        request = {"scope_path": "/support", "exact": True, "subject_key": "ana", "purpose": "test", **changes}
        return assemble(principal=principal or app, request=ContextRequest(query=query, **request), profile=profile)

    return asked


@pytest.fixture
def find(account: Account, app: Principal) -> Callable[..., SearchAnswer]:
    """Search about Ana in the scope ``/support``, vectors indexed; every part of the request can be changed."""

    def found(query: str = "tea", *, principal: Principal | None = None, **changes: Any) -> SearchAnswer:
        index_vectors(account)
        request = {"scope_path": "/support", "exact": True, "subject_key": "ana", "purpose": "test", **changes}
        return search(principal=principal or app, request=SearchRequest(query=query, **request))

    return found


def statements(answer: ContextAnswer) -> list[str]:
    """Return what the packet's facts say, in order."""
    return [fact.statement for fact in answer.packet.facts]


def reasons(answer: ContextAnswer) -> dict[str, str]:
    """Return the reason for each id that the call's trace holds."""
    trace = Trace.objects.get(pk=answer.trace_id)
    return {decision["id"]: decision["reason"] for decision in unpack(trace.decisions)}
