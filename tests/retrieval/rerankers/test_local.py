from __future__ import annotations

import math
import threading
from pathlib import Path

import onnx
import pytest

from retrieval.rerankers import local
from retrieval.rerankers.base import RerankerFailed, RerankerUnavailable
from retrieval.rerankers.local import LocalReranker
from tests.tiny_models import write_cross_encoder

WORDS = ("ana", "likes", "tea", "coffee", "bob", "the", "who")


@pytest.fixture
def reranker(tmp_path: Path) -> LocalReranker:
    write_cross_encoder(tmp_path, WORDS)
    return LocalReranker(tmp_path)


def logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_texts_are_ordered_by_how_well_they_answer(reranker: LocalReranker) -> None:
    texts = ["Bob likes coffee.", "Ana likes tea.", "The coffee"]
    ranking = reranker.rerank("Who likes tea, Ana?", texts, seconds=60)
    assert ranking.order == (1, 0, 2)
    assert ranking.scores == pytest.approx([logistic(2), logistic(0), logistic(-1)], abs=1e-6)
    assert ranking.partial is False


def test_equal_texts_keep_their_order_and_a_score_does_not_depend_on_its_neighbours(reranker: LocalReranker) -> None:
    together = reranker.rerank("tea", ["Ana likes tea.", "coffee", "Ana likes tea."], seconds=60)
    assert together.order == (0, 2, 1)
    alone = reranker.rerank("tea", ["Ana likes tea."], seconds=60)
    assert alone.scores == together.scores[:1]


def test_of_two_labels_the_second_counts(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path, WORDS, labels=2)
    ranking = LocalReranker(tmp_path).rerank("ana tea", ["coffee", "ana likes tea"], seconds=60)
    assert (ranking.order, ranking.scores) == ((1, 0), pytest.approx([logistic(1), logistic(-1)], abs=1e-6))


def test_long_pairs_are_cut_and_blank_ones_read(reranker: LocalReranker) -> None:
    ranking = reranker.rerank("tea " * 4_000, ["", "tea " * 4_000], seconds=60)
    assert ranking.order == (1, 0)
    assert ranking.scores[0] == 1.0


def test_nothing_to_rank_is_no_failure(reranker: LocalReranker) -> None:
    assert reranker.rerank("tea", [], seconds=60).order == ()


def test_what_was_read_in_time_is_returned(reranker: LocalReranker, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker.load()
    # Asked for the deadline, for the alarm, and before each text.
    instants = iter([0.0, 0.0, 1.0, 2.0, 3.0, 3.0])
    monkeypatch.setattr(local, "monotonic", lambda: next(instants))
    ranking = reranker.rerank("ana tea", ["coffee", "ana tea", "tea"], seconds=2.5)
    assert (ranking.order, ranking.partial) == ((1, 0), True)


class AtOnce(threading.Timer):
    """A timer that is up when it is started."""

    def start(self) -> None:
        self.function(*self.args, **self.kwargs)


def test_a_pair_in_the_middle_is_given_up(reranker: LocalReranker, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker.load()
    monkeypatch.setattr(local.threading, "Timer", AtOnce)
    with pytest.raises(RerankerFailed, match="no text was read in time") as raised:
        reranker.rerank("ana tea", ["ana tea"], seconds=60)
    assert raised.value.outcome == "timeout"


def test_a_model_that_is_still_being_loaded_is_late(reranker: LocalReranker, monkeypatch: pytest.MonkeyPatch) -> None:
    loading = threading.Event()
    monkeypatch.setattr(reranker._model, "load", lambda: loading.wait(30))
    with pytest.raises(RerankerFailed, match="still being loaded") as raised:
        reranker.rerank("tea", ["tea"], seconds=0.01)
    loading.set()
    assert raised.value.outcome == "timeout"


def test_a_score_that_is_no_number_is_an_invalid_result(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path, WORDS, bias=float("nan"))
    with pytest.raises(RerankerFailed) as raised:
        LocalReranker(tmp_path).rerank("tea", ["tea"], seconds=60)
    assert raised.value.outcome == "invalid_result"


@pytest.mark.parametrize(
    ("labels", "extra_input", "message"),
    [(3, "", "one label or two, this model has 3"), (1, "past_key_values", "asks for past_key_values")],
)
def test_another_kind_of_model_is_unavailable(tmp_path: Path, labels: int, extra_input: str, message: str) -> None:
    write_cross_encoder(tmp_path, WORDS, labels=labels, extra_input=extra_input)
    with pytest.raises(RerankerUnavailable, match=message):
        LocalReranker(tmp_path).rerank("tea", ["tea"], seconds=60)


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
def test_a_broken_file_is_unavailable_and_named(tmp_path: Path, broken: str) -> None:
    write_cross_encoder(tmp_path, WORDS)
    (tmp_path / broken).write_bytes(b"broken")
    with pytest.raises(RerankerUnavailable, match=broken):
        LocalReranker(tmp_path).load()


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_refused_at_the_start(tmp_path: Path, missing: str) -> None:
    write_cross_encoder(tmp_path, WORDS)
    (tmp_path / missing).unlink()
    with pytest.raises(ValueError, match=f"RERANKER_MODEL_DIR: there is no {missing}"):
        LocalReranker(tmp_path)


def test_the_model_may_lie_in_a_directory_of_its_own(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path, WORDS)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "model.onnx").rename(tmp_path / "onnx" / "model.onnx")
    assert onnx.load(str(tmp_path / "onnx" / "model.onnx")).graph.name == "tiny"
    assert LocalReranker(tmp_path).rerank("tea", ["tea"], seconds=60).order == (0,)
