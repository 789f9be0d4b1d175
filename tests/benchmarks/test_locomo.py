"""The scoring of the LoCoMo benchmark on conversations made up here, and the benchmark without its file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from benchmarks import locomo
from benchmarks.corpora import Known, Said
from benchmarks.locomo_data import Conversation, Question, conversation
from benchmarks.retrieval_scores import Bm25, Outcome, at_random, by_vector, pack, reciprocal_ranks, summary

SAMPLE = {
    "sample_id": "talk-1",
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ana", "dia_id": "D1:1", "text": "I moved to Lyon."},
            {"speaker": "Ben", "dia_id": "D1:02", "text": ""},
        ],
        "session_2_date_time": "9:00 am on 9 May, 2023",
        "session_2": [{"speaker": "Ana", "dia_id": "D2:1", "text": "Lyon is fine."}],
    },
    "observation": {"session_1_observation": {"Ana": [["Ana moved to Lyon.", "D1:1"], ["Ana talks.", "D1:1; D9:9"]]}},
    "qa": [
        {"question": "Where does Ana live?", "evidence": ["D1:1; D2:01"], "category": 4},
        {"question": "Who knows?", "evidence": [], "category": 1},
        {"question": "Nothing about it", "evidence": ["D1:1"], "category": 5},
        {"question": "When did she move?", "evidence": ["D7:1", "D1:1"], "category": 2},
    ],
}


def test_a_conversation_is_read() -> None:
    first = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert conversation(SAMPLE) == Conversation(
        name="talk-1",
        turns=[
            Said(key="D1:1", speaker="Ana", text="I moved to Lyon.", at=first),
            Said(key="D1:2", speaker="Ben", text="Ben", at=first.replace(second=1)),
            Said(key="D2:1", speaker="Ana", text="Lyon is fine.", at=datetime(2023, 5, 9, 9, tzinfo=UTC)),
        ],
        observations=[
            Known(statement="Ana moved to Lyon.", at=first, sources=("D1:1",)),
            Known(statement="Ana talks.", at=first, sources=("D1:1",)),
        ],
        questions=[
            Question(category="single-hop", text="Where does Ana live?", evidence=frozenset({"D1:1", "D2:1"})),
            Question(category="temporal", text="When did she move?", evidence=frozenset({"D1:1"})),
        ],
    )


def test_scores_of_a_question() -> None:
    outcome = Outcome(
        category="multi-hop",
        evidence=frozenset({"D1:1", "D2:1"}),
        ranked=["D3:1", "D1:1", *(f"D4:{number}" for number in range(7)), "D2:1"],
        served={900: frozenset({"D1:1"}), 2_000: frozenset({"D1:1", "D2:1", "D9:9"})},
    )
    assert outcome.scores() == {
        "turn_recall_at_8": 0.5,
        "turn_recall_at_10": 1.0,
        "turn_recall_at_20": 1.0,
        "gold_served_any_900": 1.0,
        "gold_served_all_900": 0.0,
        "gold_served_any_2000": 1.0,
        "gold_served_all_2000": 1.0,
    }


def test_a_summary_is_of_all_and_of_each_category() -> None:
    outcomes = [
        Outcome(category=category, evidence=frozenset({"a"}), ranked=ranked, served={900: frozenset(ranked)})
        for category, ranked in (("temporal", ["a"]), ("temporal", ["b"]), ("multi-hop", ["a"]))
    ]
    found = summary(outcomes)
    assert {name: (group["questions"], group["gold_served_any_900"]) for name, group in found.items()} == {
        "overall": (3, 0.6667),
        "temporal": (2, 0.5),
        "multi-hop": (1, 1.0),
    }


def test_a_budget_skips_what_does_not_fit() -> None:
    assert pack(["a", "b", "c"], costs={"a": 5, "b": 7, "c": 4}, budget=10) == ["a", "c"]


def test_bm25_prefers_rare_words_and_short_documents() -> None:
    ranking = Bm25({"long": ["tea", "x", "y", "z"], "short": ["tea", "x"], "rare": ["lyon", "x"], "none": ["x"]})
    assert ranking.rank(["tea", "lyon"]) == ["rare", "short", "long"]
    assert ranking.rank(["unknown"]) == []


def test_rankings_by_vector_and_of_ranks() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    assert by_vector(np.array([1.0, 0.0]), keys=["a", "b", "c"], vectors=vectors) == ["a", "c", "b"]
    assert reciprocal_ranks([["a", "b", "c"], ["b", "c"]]) == ["b", "c", "a"]


def test_chance_repeats_itself() -> None:
    keys = [str(number) for number in range(20)]
    assert at_random(keys, seed="q") == at_random(keys, seed="q") != at_random(keys, seed="r")
    assert sorted(at_random(keys, seed="q")) == sorted(keys)


def test_without_the_file_nothing_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert locomo.main(["--data", str(tmp_path / "none.json"), "--json", str(tmp_path / "out.json")]) == 0
    assert capsys.readouterr().err == "No LoCoMo file: nothing measured.\n"
    assert not (tmp_path / "out.json").exists()
