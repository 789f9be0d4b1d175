from __future__ import annotations

import numpy as np
import orjson
import pytest

from benchmarks import context_latency, vector_recall, web_load


def _result(store: str, clients: int, p50: float, cpu: float) -> dict:
    return {"store": store, "call": "context", "clients": clients, "p50_ms": p50, "cpu_ms_per_request": cpu}


def test_a_scope_among_many_is_compared_with_the_same_scope_alone() -> None:
    results = [
        _result("alone", 1, 10.0, 8.0),
        _result("many", 1, 12.5, 8.8),
        _result("many", 8, 50.0, 9.0),
        {"store": "alone", "recall": {"all": 1.0}},
    ]
    assert context_latency._compared(results) == [
        {"store": "many / alone", "of": "context", "clients": 1, "p50_ms": 1.25, "cpu_ms_per_request": 1.1}
    ]


@pytest.mark.parametrize(
    ("answer", "dropped"),
    [
        ({"strategies": {"semantic": "contributed", "lexical": "empty"}}, False),
        ({"strategies": {"semantic": "dropped: timeout", "lexical": "empty"}}, True),
        ({"dropped_strategies": []}, False),
        ({"dropped_strategies": [{"strategy": "temporal"}]}, True),
    ],
)
def test_answers_that_left_something_out_are_counted(answer: dict, dropped: bool) -> None:
    assert web_load._dropped_something(orjson.dumps(answer)) is dropped


def test_recall_counts_filled_places_and_takes_any_of_equally_distant_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_recall, "LIMIT", 2)
    vectors = np.array([[1, 0], [0.8, 0.6], [0.8, -0.6], [0, 1]], dtype=np.float32)
    asked = np.array([1, 0], dtype=np.float32)
    everything = np.ones(4, dtype=bool)
    assert vector_recall._recall(asked, vectors, everything, [0, 1]) == 1.0
    assert vector_recall._recall(asked, vectors, everything, [0, 2]) == 1.0
    assert vector_recall._recall(asked, vectors, everything, [0, 3]) == 0.5
    assert vector_recall._recall(asked, vectors, np.array([False, False, False, True]), [3]) == 1.0


def test_without_a_corpus_nothing_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert context_latency.main(["--corpus", "/nowhere", "--queries", "/nowhere"]) == 0
    assert "nothing measured" in capsys.readouterr().err
