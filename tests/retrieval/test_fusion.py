from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.fusion import RankedList, Weights, combine, fuse, min_max, recency

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
finite = st.floats(-1e6, 1e6)
rankings = st.lists(
    st.lists(st.tuples(st.integers(0, 9), finite), unique_by=lambda pair: pair[0], max_size=8).map(
        lambda pairs: sorted(pairs, key=lambda pair: -pair[1])
    ),
    min_size=1,
    max_size=4,
)
CONTENT = {item: f"text {item}" for item in range(10)}


def _lists(ranked: list[list[tuple[int, float]]]) -> list[RankedList]:
    return [RankedList(strategy=f"s{index}", weight=1.0 + index, ranked=pairs) for index, pairs in enumerate(ranked)]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([], []), ([7.0], [1.0]), ([2.0, 2.0], [1.0, 1.0]), ([1.0, 3.0, 2.0], [0.0, 1.0, 0.5])],
)
def test_min_max(scores: list[float], expected: list[float]) -> None:
    assert min_max(scores) == expected


def test_recency_falls_to_a_third_in_a_month_and_never_rises_above_one() -> None:
    assert recency(NOON - timedelta(days=30), at=NOON) == pytest.approx(0.36787944)
    assert recency(NOON + timedelta(days=9), at=NOON) == 1.0


def test_fuse_of_one_list_of_one_item_scores_one() -> None:
    (only,) = fuse(_lists([[(3, 0.2)]]), content=CONTENT)
    assert (only.item, only.score, only.scores, only.ranks) == (3, 1.0, {"s0": 0.2}, {"s0": 1})


def test_fuse_counts_the_weight_of_a_list_that_found_nothing() -> None:
    (only,) = fuse(_lists([[(3, 0.2)], []]), content=CONTENT)
    assert only.score == pytest.approx(1 / 3)


def test_fuse_blends_score_and_rank() -> None:
    first, second = fuse(_lists([[(1, 10.0), (2, 4.0)]]), content=CONTENT)
    assert first.score == 1.0
    assert second.score == pytest.approx(0.05 * 16 / 17)


def test_fuse_of_nothing_is_empty() -> None:
    assert fuse(_lists([[]]), content=CONTENT) == []


@given(rankings)
def test_fuse_returns_each_item_once_with_a_score_between_zero_and_one(
    ranked: list[list[tuple[int, float]]],
) -> None:
    fused = fuse(_lists(ranked), content=CONTENT)
    assert sorted(entry.item for entry in fused) == sorted({item for pairs in ranked for item, _ in pairs})
    assert all(0.0 <= entry.score <= 1.0 for entry in fused)
    assert [entry.score for entry in fused] == sorted((entry.score for entry in fused), reverse=True)


def test_equal_scores_are_ordered_by_content() -> None:
    lists = [
        RankedList(strategy="s", weight=1.0, ranked=[(1, 5.0)]),
        RankedList(strategy="t", weight=1.0, ranked=[(2, 5.0)]),
    ]
    assert [entry.item for entry in fuse(lists, content={1: "b", 2: "a"})] == [2, 1]
    assert [entry.item for entry in fuse(lists, content={1: "a", 2: "b"})] == [1, 2]


def _worked(entity_match: list[RankedList] | None = None) -> dict[str, float]:
    lists = [
        RankedList(strategy="semantic", weight=1.0, ranked=[("a", 0.9), ("b", 0.5), ("c", 0.1)]),
        RankedList(strategy="lexical", weight=1.0, ranked=[("b", 0.4), ("d", 0.4)]),
        *(entity_match or []),
    ]
    return {entry.item: entry.score for entry in fuse(lists, content={item: item for item in "abcd"})}


def test_fuse_of_the_worked_example() -> None:
    scores = _worked()
    assert list(scores) == ["b", "a", "d", "c"]
    assert scores == pytest.approx({"a": 0.5000, "b": 0.7610, "c": 0.0222, "d": 0.4985}, abs=5e-5)


def test_a_list_that_is_empty_lowers_every_score_and_one_that_was_dropped_none() -> None:
    scores = _worked([RankedList(strategy="entity_match", weight=0.9, ranked=[])])
    assert scores == pytest.approx({item: score * 2 / 2.9 for item, score in _worked().items()})
    assert scores["b"] == pytest.approx(0.52485, abs=5e-6)


def test_a_list_of_one_counts_in_full_however_low_its_score() -> None:
    lists = [RankedList(strategy="s", weight=1.0, ranked=[(1, 0.001)])]
    assert fuse(lists, content=CONTENT)[0].score == 1.0


def test_equal_scores_within_a_list_differ_by_their_rank_alone() -> None:
    lists = [RankedList(strategy="s", weight=1.0, ranked=[(1, 7.0), (2, 7.0)])]
    assert [entry.score for entry in fuse(lists, content=CONTENT)] == [1.0, pytest.approx(0.95 + 0.05 * 16 / 17)]


@given(rankings, st.floats(0.1, 10))
def test_only_the_proportions_of_weights_count(ranked: list[list[tuple[int, float]]], factor: float) -> None:
    lists = _lists(ranked)
    scaled = [replace(ranking, weight=ranking.weight * factor) for ranking in lists]
    there = {entry.item: entry.score for entry in fuse(lists, content=CONTENT)}
    assert {entry.item: entry.score for entry in fuse(scaled, content=CONTENT)} == pytest.approx(there)


@given(rankings, st.randoms())
def test_fuse_is_the_same_for_every_order_of_the_lists(ranked: list[list[tuple[int, float]]], random: Random) -> None:
    lists = _lists(ranked)
    shuffled = random.sample(lists, len(lists))
    there = [(entry.item, entry.score) for entry in fuse(lists, content=CONTENT)]
    assert [(entry.item, entry.score) for entry in fuse(shuffled, content=CONTENT)] == there


@given(rankings)
def test_a_list_of_weight_zero_moves_nothing(ranked: list[list[tuple[int, float]]]) -> None:
    lists = _lists(ranked)
    there = {entry.item: entry.score for entry in fuse(lists, content=CONTENT)}
    weightless = RankedList(strategy="nothing", weight=0.0, ranked=[(item, 1.0) for item in sorted(there)])
    assert {entry.item: entry.score for entry in fuse([*lists, weightless], content=CONTENT)} == there


@pytest.mark.parametrize(("weights", "k"), [((-1.0, 2.0), 15), ((0.0, 0.0), 15), ((1.0, 1.0), 0), ((1.0, 1.0), -3)])
def test_fuse_refuses_weights_and_constants_that_mean_nothing(weights: tuple[float, ...], k: int) -> None:
    lists = [RankedList(strategy=f"s{weight}", weight=weight, ranked=[(1, 1.0)]) for weight in weights]
    with pytest.raises(ValueError, match=r"negative|count"):
        fuse(lists, content=CONTENT, k=k)


def test_fuse_of_no_list_is_empty() -> None:
    assert fuse([], content=CONTENT) == []


WEIGHTS = Weights(vector=0.5, text=0.3, recency=0.2)


def test_combine_weighs_the_stretched_axes() -> None:
    scores = combine(similarity=[0.9, 0.5, 0.1], text=[0.0, 2.0, 1.0], recent=[1.0, 1.0, 0.0], weights=WEIGHTS)
    assert scores == pytest.approx([0.5 + 0.0 + 0.2, 0.25 + 0.3 + 0.2, 0.0 + 0.15 + 0.0])


def test_combine_counts_a_row_without_vector_as_the_farthest() -> None:
    scores = combine(similarity=[0.9, None, 0.1], text=[0.0, 0.0, 1.0], recent=[0.0, 1.0, 1.0], weights=WEIGHTS)
    assert scores == pytest.approx([0.5, 0.2, 0.5])


def test_combine_without_any_vector_shares_the_weight_among_the_others() -> None:
    scores = combine(similarity=[None, None], text=[1.0, 0.0], recent=[0.0, 1.0], weights=WEIGHTS)
    assert scores == pytest.approx([0.6, 0.4])


def test_combine_of_nothing_is_empty() -> None:
    assert combine(similarity=[], text=[], recent=[], weights=WEIGHTS) == []


@given(st.lists(st.tuples(st.none() | finite, finite, finite), max_size=12))
def test_combine_stays_between_zero_and_one(rows: list[tuple[float | None, float, float]]) -> None:
    scores = combine(
        similarity=[row[0] for row in rows],
        text=[row[1] for row in rows],
        recent=[row[2] for row in rows],
        weights=WEIGHTS,
    )
    assert len(scores) == len(rows)
    assert all(-1e-9 <= score <= 1.0 + 1e-9 for score in scores)


@given(st.lists(st.tuples(finite, finite, finite), min_size=1, max_size=12), st.randoms())
def test_combine_does_not_depend_on_the_order_of_rows(rows: list, random: object) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)

    def scores(these: list) -> list[float]:
        similarity, text, recent = (list(axis) for axis in zip(*these, strict=True))
        return combine(similarity=similarity, text=text, recent=recent, weights=WEIGHTS)

    straight = scores(rows)
    assert scores([rows[index] for index in order]) == [straight[index] for index in order]
