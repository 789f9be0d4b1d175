"""The worlds of false friends are sound, and their figures are what they say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import false_friends

WORLDS = [path for path in false_friends.FILES if path.exists()]


@pytest.mark.parametrize("path", WORLDS, ids=[path.stem for path in WORLDS])
def test_each_question_has_one_right_fact_that_holds_where_it_is_asked(path: Path) -> None:
    world = false_friends.read(path)
    facts = {fact["id"]: fact for fact in world.facts}
    assert len(facts) == len(world.facts)
    assert len(world.questions) >= 50
    assert len(world.unknown) >= 10
    assert {fact["subject"] for fact in world.facts} <= {subject["key"] for subject in world.subjects}
    for question in world.questions:
        right = facts[question["right"]]
        assert right["to"] is None
        assert right["scope"] == question["scope"]
    assert max(Counter(question["text"] for question in world.questions).values()) == 1


def test_a_question_without_its_fact_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "world.jsonl"
    path.write_text(json.dumps({"question": {"text": "?", "scope": "/", "right": "nowhere", "trap": "x"}}))
    with pytest.raises(ValueError, match="nowhere"):
        false_friends.read(path)


def test_precision_is_over_what_was_served_and_recall_over_all() -> None:
    assert false_friends.figures([(True, 1), (True, 4), (False, 2), (False, 0)]) == {
        "questions": 4,
        "recall": 0.5,
        "precision": round((1 + 0.25 + 0) / 3, 4),
        "served": 1.75,
    }
    assert false_friends.figures([(False, 0)])["precision"] is None
