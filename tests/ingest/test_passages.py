from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import passages
from ingest.passages import LONGEST, SHORTEST, Slice, cut

TEXT = st.text(
    alphabet=st.sampled_from("aé .!\n。中\u0301\u200d\U0001f469\U0001f1eb\U0001f1f7שع"), min_size=0, max_size=5_000
)


@given(TEXT)
def test_nothing_is_lost_and_slices_are_bounded(text: str) -> None:
    slices = cut(text)
    assert "".join(item.text for item in slices) == text
    assert all(text[item.start : item.start + len(item.text)] == item.text for item in slices)
    assert all(0 < len(item.text) <= LONGEST for item in slices)
    assert len(slices) <= len(text) // SHORTEST + 1


@pytest.mark.parametrize("text", ["", "x", "One. Two.\n\nThree.", "x" * LONGEST])
def test_short_texts_stay_whole(text: str) -> None:
    assert cut(text) == ([Slice(0, text)] if text else [])


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a" * 600 + "\n\n" + "b. " * 200, 602),
        ("word. " * 300, 996),
        ("是" * 500 + "。" + "否" * 700, 501),
        ("word " * 300, 1_000),
        ("x" * 2_000, 1_000),
        ("مرحبا؟ " * 200, 1_000),
    ],
)
def test_the_best_boundary_is_taken(text: str, first: int) -> None:
    assert len(cut(text)[0].text) == first


@pytest.mark.parametrize(
    "cluster",
    ["e\u0301\u0302", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\U0001f1eb\U0001f1f7"],
)
@pytest.mark.parametrize("before", range(990, 1_001))
def test_a_visible_character_is_not_parted(cluster: str, before: int) -> None:
    slices = cut("x" * before + cluster + "y" * 600)
    assert not unicodedata.category(slices[1].text[0]).startswith("M")
    assert any(cluster in item.text for item in slices)


@pytest.mark.parametrize(("quote", "number"), [("first", 0), ("second", 1), ("not there", 0), ("x. second", 0)])
def test_find_returns_the_slice_where_the_quote_begins(quote: str, number: int) -> None:
    text = "first " + "x" * 900 + "x. second " + "y" * 500
    slices = cut(text)
    assert [item.start for item in slices] == [0, 909]
    assert passages.find(slices, text=text, quote=quote) == number
