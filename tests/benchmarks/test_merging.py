"""The labelled pairs of names: nothing is merged wrongly, and the figures are counted right."""

from __future__ import annotations

from benchmarks import merging


def test_nothing_is_merged_by_rule_that_means_different_things():
    rows = merging.load()
    merged = [row for row in rows if merging.is_merged(row)]
    assert len(rows) >= 120
    assert len({row["id"] for row in rows}) == len(rows)
    assert len({(row["first"], row["second"]) for row in rows}) == len(rows)
    assert [row["id"] for row in merged if not row["same"]] == []
    assert len(merged) == 26


def test_figures():
    rows = [
        {"id": "a", "kind": "k", "same": True, "first": "Ana", "second": "ANA"},
        {"id": "b", "kind": "k", "same": True, "first": "Bob", "second": "Robert"},
        {"id": "c", "kind": "k", "same": False, "first": "Dan", "second": "Dana"},
        {"id": "d", "kind": "k", "same": True, "first": "Liz", "second": "Elizabeth"},
    ]
    result = merging.score(rows, [1.0, 0.8, 0.9, 0.1], least=0.72)
    assert result["merged"] == {"said": 1, "right": 1, "precision": 1.0, "recall": 0.333}
    assert result["proposed"] == {"said": 2, "right": 1, "precision": 0.5, "recall": 0.5}
    assert result["by_kind"] == {"k": {"pairs": 4, "same": 3, "merged": 1, "proposed": 2}}
