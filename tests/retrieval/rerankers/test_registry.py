from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from retrieval.rerankers import registry
from tests.tiny_models import write_cross_encoder


@pytest.fixture(autouse=True)
def _configured_again(settings: Any) -> Iterator[None]:
    settings.RERANKER_PROVIDER = settings.RERANKER_MODEL_DIR = settings.RERANKER_URL = ""
    settings.RERANKER_MODEL = settings.RERANKER_API_KEY = ""
    yield
    registry.use(None)


def test_without_a_setting_there_is_none() -> None:
    registry.register()
    assert registry.configured() is None


def test_a_directory_alone_switches_the_local_one_on(settings: Any, tmp_path: Path) -> None:
    write_cross_encoder(tmp_path, ["tea"])
    settings.RERANKER_MODEL_DIR = tmp_path
    registry.register()
    registry.warm()
    assert registry.configured().label == f"local:{tmp_path.name}"
    settings.RERANKER_PROVIDER = "none"
    registry.register()
    assert registry.configured() is None


@pytest.mark.parametrize(("kind", "model", "label"), [("http", "rank-1", "http:rank-1"), ("tei", "", "tei:127.0.0.1")])
def test_an_address_and_a_kind_switch_a_provider_on(settings: Any, kind: str, model: str, label: str) -> None:
    settings.RERANKER_URL, settings.RERANKER_MODEL = "http://127.0.0.1:1/rerank", model
    registry.register()
    assert registry.configured() is None
    settings.RERANKER_PROVIDER = kind
    registry.register()
    assert registry.configured().label == label


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"RERANKER_PROVIDER": "magic"}, "none, local, http, tei, not 'magic'"),
        ({"RERANKER_PROVIDER": "local"}, "needs RERANKER_MODEL_DIR"),
        ({"RERANKER_PROVIDER": "http"}, "needs RERANKER_URL"),
        ({"RERANKER_PROVIDER": "http", "RERANKER_URL": "here"}, "RERANKER_URL must be"),
        ({"RERANKER_MODEL_DIR": Path("/nowhere")}, "/nowhere, which is no directory"),
    ],
)
def test_settings_under_which_it_could_not_work_stop_the_start(
    settings: Any, changes: dict[str, Any], message: str
) -> None:
    for name, value in changes.items():
        setattr(settings, name, value)
    with pytest.raises(ImproperlyConfigured, match=message):
        registry.register()


def test_a_model_that_cannot_be_loaded_does_not_stop_the_process(settings: Any, tmp_path: Path) -> None:
    write_cross_encoder(tmp_path, ["tea"])
    (tmp_path / "model.onnx").write_bytes(b"broken")
    settings.RERANKER_MODEL_DIR = tmp_path
    registry.register()
    registry.warm()
    assert registry.configured() is not None
