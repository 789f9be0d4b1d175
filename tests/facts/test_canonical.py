"""Equality of claims: spellings of one value are equal, other values are not."""

from __future__ import annotations

import pytest

from facts.canonical import canonical, normalise_text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("E-mail", "email"),
        ("stand-up", "stand up"),
        ("stand–up", "Standup"),
        ("12", 12),
        ("12.50", 12.5),
        ("Black  coffee.", "black coffee"),
    ],
)
def test_spellings_of_one_value_are_equal(one: object, other: object) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(("one", "other"), [("1-2", "12"), ("0612", 612), ("v1 2", "v12"), (True, 1.5)])
def test_other_values_stay_different(one: object, other: object) -> None:
    assert canonical(one) != canonical(other)


def test_joiners_of_emoji_survive_and_direction_marks_go() -> None:
    assert normalise_text("\u200f👩\u200d💻\u200e") == "👩\u200d💻"
