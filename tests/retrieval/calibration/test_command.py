from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from facts import embedding
from facts.models import Account, Subject
from retrieval import vectors
from retrieval.calibration import questions
from tests.factories import FactFactory
from tests.retrieval.conftest import WordEmbedder


@pytest.fixture
def store(account: Account, ana: Subject) -> Account:
    """Three facts with their passages, and their vectors."""
    for statement in ("Ana drinks green tea daily.", "Ana plays chess on Sundays.", "Ana studies marine biology."):
        FactFactory(subject=ana, statement=statement)
    vectors.fill_missing_everywhere()
    return account


def calibrate(account: Account, **options: Any) -> str:
    output = io.StringIO()
    call_command("calibrate_recall_gate", account=account.key, stdout=output, **options)
    return output.getvalue()


def test_the_store_is_measured_by_itself(store: Account, tmp_path: Path) -> None:
    said = calibrate(store, json=tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert (found["account"], found["embedder"]) == (store.key, "test:words@1/384/hash")
    assert [found[name]["questions"] for name in ("right_answer", "nearest_stranger", "off_topic")] == [6, 6, 6]
    # Each answer shares words with its question, other things share "ana" at most, and nothing shares any.
    assert found["right_answer"]["p99"] < found["nearest_stranger"]["p1"] < found["off_topic"]["p5"]
    limit = found["recommendation"]["HAKI_RECALL_MAX_DISTANCE"]
    assert found["right_answer"]["p99"] <= limit < found["off_topic"]["p99"]
    assert f"HAKI_RECALL_MAX_DISTANCE={limit}" in said.splitlines()
    assert "tea" not in said


def test_a_scope_narrows_it(store: Account, ana: Subject, tmp_path: Path) -> None:
    calibrate(store, scope="/elsewhere", json=tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["right_answer"] == {"questions": 0}


def test_real_questions_are_measured(store: Account, tmp_path: Path) -> None:
    asked = tmp_path / "questions.jsonl"
    asked.write_text(
        "\n".join(
            json.dumps(row)
            for row in (
                {"question": "green tea", "answer": "Green tea", "subject_id": "ana", "scope": "/support"},
                {"question": "marine", "answer": "biology", "subject_id": "ana", "scope": "/support"},
                {"question": "What does Ana eat?", "answer": "noodles", "subject_id": "ana", "scope": "/support"},
                {"question": "volcano", "answer": None, "subject_id": "ana", "scope": "/support"},
                {"question": "volcano", "answer": None, "scope": "/nowhere"},
            )
        )
    )
    calibrate(store, questions=asked, json=tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert (found["right_answer"]["questions"], found["off_topic"]["questions"], found["not_found"]) == (2, 1, 1)
    assert 0 < found["recommendation"]["HAKI_RECALL_MAX_DISTANCE"] < found["off_topic"]["p1"]
    assert found["recommendation"]["MEMORY_RECALL_SCORE_SHARE"] == 0.95


def test_what_cannot_be_measured_is_said(store: Account, tmp_path: Path, embedder: WordEmbedder) -> None:
    with pytest.raises(CommandError, match="no account 'nobody'"):
        call_command("calibrate_recall_gate", account="nobody")
    with pytest.raises(CommandError, match="No such file"):
        calibrate(store, questions=tmp_path / "none.jsonl")
    with pytest.raises(CommandError, match="share from 0 to 1"):
        calibrate(store, max_refusals=1.5)
    embedding.register(None)
    with pytest.raises(CommandError, match="no embedder"):
        calibrate(store)


def test_questions_about_nothing_are_different_ones() -> None:
    assert len(set(questions.OFF_TOPIC)) == len(questions.OFF_TOPIC) >= 20
