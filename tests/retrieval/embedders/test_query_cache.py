from __future__ import annotations

import uuid
from dataclasses import replace

import numpy as np

from facts.embedding import EmbedderIdentity
from retrieval.embedders.query_cache import QueryCache

ACCOUNT, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
IDENTITY = EmbedderIdentity(provider="p", model="m", version="1", dimensions=2, recipe="r")


class Counting:
    """An embedder that counts its calls."""

    bounded = True

    def __init__(self, identity: EmbedderIdentity = IDENTITY) -> None:
        self.identity = identity
        self.calls: list[str] = []

    def embed_query(self, text: str) -> np.ndarray:
        self.calls.append(text)
        return np.array([len(self.calls), 0], dtype=np.float32)


def test_a_repeated_question_is_answered_from_memory() -> None:
    cache, embedder = QueryCache(), Counting()
    first = cache.embed(embedder, account_id=ACCOUNT, text="a")
    second = cache.embed(embedder, account_id=ACCOUNT, text="a")
    assert second is first
    assert embedder.calls == ["a"]
    assert not first.flags.writeable


def test_accounts_and_identities_share_nothing() -> None:
    cache, embedder = QueryCache(), Counting()
    changed = Counting(replace(IDENTITY, recipe="other"))
    cache.embed(embedder, account_id=ACCOUNT, text="a")
    cache.embed(embedder, account_id=OTHER, text="a")
    cache.embed(changed, account_id=ACCOUNT, text="a")
    assert (len(embedder.calls), len(changed.calls)) == (2, 1)


def test_the_least_recently_used_goes_first() -> None:
    cache, embedder = QueryCache(capacity=2), Counting()
    for text in ("a", "b", "a", "c", "a", "b"):
        cache.embed(embedder, account_id=ACCOUNT, text=text)
    assert embedder.calls == ["a", "b", "c", "b"]
    assert len(cache) == 2


def test_keys_hold_no_text() -> None:
    cache = QueryCache()
    cache.embed(Counting(), account_id=ACCOUNT, text="my secret \ud800")
    assert not any(b"secret" in key for key in cache._vectors)
