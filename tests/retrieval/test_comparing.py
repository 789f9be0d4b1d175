from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrieval.traces.comparing import Change, compare

LISTS = st.lists(st.integers(0, 9), unique=True)


def test_two_answers_side_by_side() -> None:
    found = [(row.item, row.before, row.after, row.change) for row in compare("abcd", "acxb")]
    assert found == [
        ("a", 1, 1, Change.SAME),
        ("c", 3, 2, Change.MOVED),
        ("x", None, 3, Change.ADDED),
        ("b", 2, 4, Change.MOVED),
        ("d", 4, None, Change.MISSING),
    ]


@given(LISTS, LISTS)
def test_nothing_is_lost_and_nothing_is_said_twice(before: list[int], after: list[int]) -> None:
    rows = compare(before, after)
    assert sorted(row.item for row in rows) == sorted({*before, *after})
    assert [row.item for row in rows if row.after is not None] == after
    assert all(row.change is Change.SAME for row in compare(before, before))
