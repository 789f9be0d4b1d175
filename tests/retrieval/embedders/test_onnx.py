from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retrieval.embedders import local, wordpiece
from retrieval.embedders.base import EmbeddingUnavailable
from retrieval.embedders.local import LocalEmbedder
from retrieval.embedders.onnx import OnnxEmbedder, Recipe, recipe_of
from tests.tiny_models import write_encoder

#: Axes of the words, after those of [PAD], [UNK], [CLS] and [SEP].
WORDS = ("tea", "ana", "query", "passage")
CLS, SEP, TEA, ANA, QUERY, PASSAGE = 2, 3, 4, 5, 6, 7
PLAIN = Recipe(pooling="mean", query_prefix="", document_prefix="", max_tokens=16)


def embedder(directory: Path, recipe: Recipe = PLAIN, *, width: int = 8, **how: Any) -> OnnxEmbedder:
    write_encoder(directory, WORDS, width=width, **how)
    return OnnxEmbedder(directory, recipe=recipe, dimensions=width)


def unit(*axes: int) -> np.ndarray:
    """Return the unit vector that has an equal part on each axis, as often as it is named."""
    vector = np.bincount(axes, minlength=8).astype(np.float32)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(
    ("pooling", "expected"), [("mean", unit(CLS, TEA, TEA, ANA, SEP)), ("cls", unit(CLS)), ("last", unit(SEP))]
)
def test_states_are_pooled_as_the_recipe_says(tmp_path: Path, pooling: str, expected: np.ndarray) -> None:
    made = embedder(tmp_path, replace(PLAIN, pooling=pooling))
    vectors = made.embed_documents(["Tea tea Ana", ""])
    assert vectors.dtype == np.float32
    assert vectors[0] == pytest.approx(expected, abs=1e-6)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-6)


def test_questions_and_stored_texts_have_prefixes_of_their_own(tmp_path: Path) -> None:
    made = embedder(tmp_path, replace(PLAIN, query_prefix="query ", document_prefix="passage "))
    assert made.embed_query("tea") == pytest.approx(unit(CLS, QUERY, TEA, SEP), abs=1e-6)
    assert made.embed_documents(["tea"])[0] == pytest.approx(unit(CLS, PASSAGE, TEA, SEP), abs=1e-6)


def test_long_texts_are_cut(tmp_path: Path) -> None:
    made = embedder(tmp_path)
    assert np.array_equal(made.embed_query("tea " * 14), made.embed_query("tea " * 14 + "ana " * 5_000))


def test_a_model_that_pools_by_itself_is_taken_as_it_is(tmp_path: Path) -> None:
    made = embedder(tmp_path, replace(PLAIN, pooling="cls"), pools=True)
    assert made.embed_query("tea") == pytest.approx(unit(CLS, TEA, SEP), abs=1e-6)


def test_what_shapes_stored_vectors_is_the_identity(tmp_path: Path) -> None:
    first = embedder(tmp_path).identity
    assert (first.provider, first.model, first.dimensions) == ("onnx", tmp_path.name, 8)
    assert first.recipe == "mean-l2-t16-pnone"

    def other(**changes: Any) -> bool:
        return OnnxEmbedder(tmp_path, recipe=replace(PLAIN, **changes), dimensions=8).identity != first

    assert not other(query_prefix="query ")
    assert other(document_prefix="passage ")
    assert other(pooling="cls")
    assert other(max_tokens=17)
    (tmp_path / "model.onnx_data").write_bytes(b"weights")
    assert other()


def test_it_can_be_described_and_made_again(tmp_path: Path) -> None:
    made = embedder(tmp_path, replace(PLAIN, query_prefix="query "))
    assert made.blueprint == {
        "provider": "onnx",
        "directory": str(tmp_path),
        "dimensions": 8,
        "pooling": "mean",
        "query_prefix": "query ",
        "document_prefix": "",
        "max_tokens": 16,
    }


def test_another_width_than_said_is_unavailable(tmp_path: Path) -> None:
    write_encoder(tmp_path, WORDS, width=8)
    with pytest.raises(EmbeddingUnavailable, match="of 8 numbers, the settings say 384"):
        OnnxEmbedder(tmp_path, recipe=PLAIN, dimensions=384).embed_query("tea")


def test_a_broken_model_is_unavailable(tmp_path: Path) -> None:
    write_encoder(tmp_path, WORDS, width=8)
    (tmp_path / "model.onnx").write_bytes(b"broken")
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded"):
        OnnxEmbedder(tmp_path, recipe=PLAIN, dimensions=8).embed_documents(["tea"])


@pytest.mark.parametrize(
    ("recipe", "dimensions", "message"),
    [
        (replace(PLAIN, pooling="max"), 8, "mean, cls, last, not 'max'"),
        (replace(PLAIN, max_tokens=2), 8, "at least 8"),
        (PLAIN, 0, "EMBEDDER_DIMENSIONS must be set"),
    ],
)
def test_what_could_not_work_is_refused(tmp_path: Path, recipe: Recipe, dimensions: int, message: str) -> None:
    write_encoder(tmp_path, WORDS, width=8)
    with pytest.raises(ValueError, match=message):
        OnnxEmbedder(tmp_path, recipe=recipe, dimensions=dimensions)


def test_an_empty_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"EMBEDDER_MODEL_DIR: there is no model\.onnx"):
        OnnxEmbedder(tmp_path, recipe=PLAIN, dimensions=8)


def test_the_directory_says_width_pooling_and_prefixes(tmp_path: Path) -> None:
    write_encoder(tmp_path, WORDS, width=8)
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 8}))
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    prompts = {"prompts": {"query": "query: ", "passage": "passage: "}}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    said = recipe_of(tmp_path, pooling="", query_prefix="", document_prefix="")
    assert said == Recipe(pooling="cls", query_prefix="query: ", document_prefix="passage: ", max_tokens=512)
    assert OnnxEmbedder(tmp_path, recipe=said).identity.dimensions == 8
    chosen = recipe_of(tmp_path, pooling="last", query_prefix="q ", document_prefix="d ", max_tokens=9)
    assert chosen == Recipe(pooling="last", query_prefix="q ", document_prefix="d ", max_tokens=9)


def test_a_directory_that_says_nothing_is_read_plainly(tmp_path: Path) -> None:
    (tmp_path / "config_sentence_transformers.json").write_text("[]")
    assert recipe_of(tmp_path, pooling="", query_prefix="", document_prefix="", max_tokens=16) == PLAIN


def test_a_published_model_in_a_directory_makes_the_vectors_it_should(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").symlink_to(local._model_path())
    wordpiece.load().save(str(tmp_path / "tokenizer.json"))
    made = OnnxEmbedder(tmp_path, recipe=replace(PLAIN, max_tokens=local.DOCUMENT_TOKENS), dimensions=local.DIMENSIONS)
    known = LocalEmbedder(weights=local.PACKAGED, directory=tmp_path)
    texts = ["Ana lives in Porto.", "word " * 400, "", "日本語 and words"]
    assert made.embed_documents(texts) == pytest.approx(known.embed_documents(texts), abs=1e-6)
