from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.cards.repeats import distinct, repeats, words


def _repeats(one: str, other: str) -> bool:
    return repeats(words(one), words(other))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Ana likes tea.", "ANA  LIKES TEA", True),
        ("Ana likes tea", "Ana likes tea with milk", True),
        ("Ana likes tea with milk", "Ana likes tea", False),
        ("Ana likes tea", "Ana likes teapots", False),
        # four of six words in common, ten of eleven, and exactly four of five
        ("Ana leads the Atlas team", "Ana leads the Borealis team", False),
        ("a b c d e f g h i j", "a b c d e f g h i j k", True),
        ("a b c d", "e a b d c", False),
        ("The launch for the whole team is on 3 March", "The launch for the whole team is on 4 March", False),
        ("Ana does want to work on the first launch", "Ana does not want to work on the first launch", False),
        ("田中さんは東京に住んでいます", "田中さんは東京に住んでいますよ", True),
        ("田中さんは京都に住んでいます", "鈴木さんは大阪で働いています", False),
        ("他喜欢喝绿茶和咖啡还有水", "他不喜欢喝绿茶和咖啡还有水", False),
        ("Élodie préfère le thé", "élodie PRÉFÈRE LE THÉ", True),
        ("", "Ana likes tea", False),
        ("...", "...", False),
    ],
)
def test_what_says_nothing_beyond_another(one: str, other: str, expected: bool) -> None:
    assert _repeats(one, other) is expected


def test_of_two_that_say_the_same_the_first_stays_and_the_longer_stands_for_the_shorter() -> None:
    assert distinct(["Ana likes tea.", "ana likes tea", "Ana likes tea with milk.", "Ana runs.", "Ana runs"]) == [2, 3]


@given(st.lists(st.text("ab cd12不茶", max_size=12), max_size=12))
def test_everything_that_is_left_out_is_said_by_something_that_stays(texts: list[str]) -> None:
    kept = distinct(texts)
    assert kept == sorted(set(kept))
    said = [word for place in kept for word in words(texts[place])]
    left_out = [text for place, text in enumerate(texts) if place not in kept]
    # whatever sets two apart, a figure or a denial is never lost
    for text in left_out:
        for word in words(text):
            assert word in said or not (word.isdigit() or word == "不")
