from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.text import tokens


@pytest.mark.parametrize(
    ("text", "estimate"),
    [
        ("", 1),
        ("abc", 1),
        ("a" * 8, 2),
        ("a" * 11, 2),
        ("é" * 8, 2),
        ("我喜欢绿茶", 5),
        ("我喜欢 tea!", 4),
        ("สวัสดี", 6),
    ],
)
def test_estimate(text: str, estimate: int) -> None:
    assert tokens.estimate(text) == estimate


@given(st.text(), st.text())
def test_estimate_is_positive_and_never_falls_as_text_grows(first: str, second: str) -> None:
    assert 1 <= tokens.estimate(first) <= tokens.estimate(first + second)
