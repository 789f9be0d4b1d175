from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from retrieval.embedders import local, quantised, wordpiece
from retrieval.embedders.base import EmbeddingUnavailable
from retrieval.embedders.local import LocalEmbedder


@pytest.fixture(scope="module", params=[local.PACKAGED, local.QUANTISED])
def embedder(request: pytest.FixtureRequest) -> LocalEmbedder:
    loaded = LocalEmbedder(weights=request.param, directory=settings.VAR_DIR / "models")
    loaded.load()
    return loaded


def test_tokens_are_those_of_the_published_vocabulary() -> None:
    tokenizer = wordpiece.load()
    assert tokenizer.encode("Ana café unaffable").tokens == [
        "[CLS]", "ana", "cafe", "una", "##ffa", "##ble", "[SEP]",
    ]  # fmt: skip
    assert tokenizer.encode("").ids == [101, 102]


def test_a_query_and_a_document_of_the_same_text_have_the_same_unit_vector(embedder: LocalEmbedder) -> None:
    query = embedder.embed_query("Ana lives in Porto.")
    (document,) = embedder.embed_documents(["Ana lives in Porto."])
    assert query.dtype == np.float32
    assert query.shape == (local.DIMENSIONS,)
    assert np.array_equal(query, document)
    assert float(np.linalg.norm(query)) == pytest.approx(1.0, abs=1e-5)


def test_a_vector_does_not_depend_on_its_neighbours(embedder: LocalEmbedder) -> None:
    texts = ["short", "a much longer text about ports and harbours " * 4, ""]
    together = embedder.embed_documents(texts)
    assert together.shape == (3, 384)
    for row, text in zip(together, texts, strict=True):
        assert np.array_equal(row, embedder.embed_documents([text])[0])


def test_meaning_is_nearer_than_mere_words(embedder: LocalEmbedder) -> None:
    question = embedder.embed_query("Which company does she work for?")
    near, far = embedder.embed_documents(["Ana is employed by Lumen Press.", "The company of ducks is noisy."])
    assert float(question @ near) > float(question @ far)


def test_only_the_first_tokens_of_a_question_count(embedder: LocalEmbedder) -> None:
    long = "word " * 126
    assert np.array_equal(embedder.embed_query(long), embedder.embed_query(long + "and something else"))


def test_no_documents_no_vectors(embedder: LocalEmbedder) -> None:
    assert embedder.embed_documents([]).shape == (0, 384)


def test_an_altered_model_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    altered = tmp_path / "model.onnx"
    altered.write_bytes(b"not the model")
    monkeypatch.setattr(local, "_model_path", lambda: altered)
    with pytest.raises(EmbeddingUnavailable, match="not the pinned one"):
        LocalEmbedder(weights=local.PACKAGED, directory=tmp_path).embed_query("x")


def test_an_altered_vocabulary_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    altered = tmp_path / "vocab.txt"
    altered.write_text("[PAD]\n")
    monkeypatch.setattr(wordpiece, "VOCABULARY_PATH", altered)
    with pytest.raises(EmbeddingUnavailable, match="altered"):
        wordpiece.load()


def test_a_missing_vocabulary_is_unavailable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(wordpiece, "VOCABULARY_PATH", tmp_path / "none.txt")
    with pytest.raises(EmbeddingUnavailable, match="unreadable"):
        wordpiece.load()


def test_a_forked_child_loads_its_own_model(embedder: LocalEmbedder) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"1" if embedder._model is None else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 1) == b"1"
    assert embedder._model is not None
    os.close(reader)
    os.close(writer)


def test_the_two_kinds_of_weights_are_two_spaces_with_similar_vectors() -> None:
    packaged, quantised = (
        LocalEmbedder(weights=weights, directory=settings.VAR_DIR / "models")
        for weights in (local.PACKAGED, local.QUANTISED)
    )
    assert packaged.identity != quantised.identity
    text = "Ana is employed by Lumen Press."
    assert 0.97 < float(packaged.embed_query(text) @ quantised.embed_query(text)) < 1


def test_a_copy_that_strays_is_refused_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantised, "LEAST_LIKENESS", 1.01)
    with pytest.raises(EmbeddingUnavailable, match="LOCAL_EMBEDDER_WEIGHTS=packaged"):
        LocalEmbedder(weights=local.QUANTISED, directory=tmp_path).load()
    assert list(tmp_path.glob("*.onnx")) == []


def test_unknown_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="LOCAL_EMBEDDER_WEIGHTS"):
        LocalEmbedder(weights="float64", directory=tmp_path)
