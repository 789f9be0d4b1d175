from __future__ import annotations

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from retrieval import lexical


@pytest.mark.parametrize(
    ("query", "stem", "plain"),
    [
        ("Tell me about Ana's budget, please", "me about ana budget", ""),
        ("What did May show you?", "what may you", ""),
        ("please show me everything", "please show me everything", ""),
        ("who does not drink 12.5 coffees", "who not drink 12.5 coffees", "not"),
        ("Who leads IT?", "who leads it", "it"),
        ("", "", ""),
    ],
)
def test_searchable(query: str, stem: str, plain: str) -> None:
    prepared = lexical.searchable(query)
    assert (prepared.stem, prepared.plain) == (stem, plain)


def test_rarer_drops_what_more_than_a_twentieth_of_the_rows_hold() -> None:
    assert lexical.rarer(["ana", "move", "lisbon"], counts={"ana": 900, "move": 50}, rows=1000) == [
        "move",
        "lisbon",
    ]


def test_rarer_keeps_everything_when_everything_is_common() -> None:
    assert lexical.rarer(["ana", "move"], counts={"ana": 900, "move": 51}, rows=1000) == ["ana", "move"]


def test_rarer_lexemes_weigh_more() -> None:
    weights = lexical.weights(["ana", "move", "lisbon"], counts={"ana": 900, "move": 50}, rows=1000)
    assert weights == {"ana": 747, "move": 3026, "lisbon": 4521}


def test_lexemes_of_an_uncounted_corpus_weigh_the_same() -> None:
    assert lexical.weights(["ana", "move"], counts={}, rows=0) == {"ana": 1000, "move": 1000}


def test_any_of_nothing_is_empty() -> None:
    assert lexical.any_of([]) == ""


@pytest.mark.django_db
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)))
def test_any_of_is_understood_by_the_server(lexemes: list[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT numnode(%s::tsquery)", [lexical.any_of(lexemes)])
        assert cursor.fetchone()[0] == max(0, 2 * len(lexemes) - 1)
