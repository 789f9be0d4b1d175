from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrieval.context.packing import Budget, pack


def test_an_item_that_does_not_fit_is_skipped_and_smaller_ones_follow() -> None:
    budget = Budget(limit=10)
    packed = pack([6, 5, 4, 1], budget=budget)
    assert (packed.taken, packed.skipped, budget.left) == ([0, 2], [1, 3], 0)


def test_a_share_bounds_what_these_items_use_together() -> None:
    budget = Budget(limit=10)
    packed = pack([3, 3, 2], budget=budget, share=0.5)
    assert (packed.taken, packed.skipped, budget.used) == ([0, 2], [1], 5)


def test_a_greatest_number_ends_the_taking() -> None:
    packed = pack([1, 1, 1], budget=Budget(limit=10), at_most=2)
    assert (packed.taken, packed.skipped) == ([0, 1], [2])


def test_two_packings_share_one_budget() -> None:
    budget = Budget(limit=10, used=8)
    assert pack([3, 2], budget=budget).taken == [1]


def test_nothing_offered_nothing_taken() -> None:
    packed = pack([], budget=Budget(limit=1))
    assert (packed.taken, packed.skipped) == ([], [])


@given(
    st.lists(st.integers(1, 50)),
    st.integers(1, 200),
    st.floats(0, 1),
    st.none() | st.integers(0, 10),
)
def test_packing_stays_within_every_bound_and_loses_nothing(
    costs: list[int], limit: int, share: float, at_most: int | None
) -> None:
    budget = Budget(limit=limit)
    packed = pack(costs, budget=budget, share=share, at_most=at_most)
    spent = sum(costs[position] for position in packed.taken)
    assert spent == budget.used <= limit * share
    assert at_most is None or len(packed.taken) <= at_most
    assert sorted(packed.taken + packed.skipped) == list(range(len(costs)))
    assert packed.taken == sorted(packed.taken)
