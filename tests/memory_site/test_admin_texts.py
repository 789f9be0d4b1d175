"""How stored text is shown: differences, quotes, and characters that would deceive."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_site.admin_pages.texts import Part, differences, highlight, isolated, shorten, visible


def test_the_words_that_differ_are_marked() -> None:
    first, second = differences(["Ana lives in Lisbon now.", "Ana lives in New York now."])
    assert first == [Part("Ana lives in ", False), Part("Lisbon", True), Part(" now.", False)]
    assert second == [Part("Ana lives in ", False), Part("New York", True), Part(" now.", False)]


def test_of_three_texts_what_any_other_lacks_is_marked() -> None:
    texts = ["Ana likes green tea", "Ana likes black tea", "Ana likes black coffee"]
    assert [[part.text for part in parts if part.marked] for parts in differences(texts)] == [
        ["green tea"],
        ["black tea"],
        ["black coffee"],
    ]


def test_texts_that_have_nothing_in_common_are_not_marked() -> None:
    assert differences(["One two three four", "Five six seven eight"]) == [
        [Part("One two three four", False)],
        [Part("Five six seven eight", False)],
    ]


def test_letter_case_is_no_difference() -> None:
    assert differences(["Ana likes Tea", "Ana likes tea"])[0] == [Part("Ana likes Tea", False)]


@given(st.lists(st.text(max_size=40), max_size=4))
def test_the_parts_of_a_text_are_the_text(texts: list[str]) -> None:
    assert ["".join(part.text for part in parts) for parts in differences(texts)] == texts


@given(st.text(max_size=60), st.lists(st.text(max_size=10), max_size=3))
def test_highlighting_loses_nothing(text: str, quotes: list[str]) -> None:
    assert "".join(part.text for part in highlight(text, quotes)) == text


def test_a_quote_is_highlighted_where_it_stands() -> None:
    assert highlight("No. I live in Lyon.", ["I live in Lyon"]) == [
        Part("No. ", False),
        Part("I live in Lyon", True),
        Part(".", False),
    ]


def test_a_quote_that_does_not_occur_marks_nothing() -> None:
    assert highlight("I live in Lyon.", ["I live in Paris"]) == [Part("I live in Lyon.", False)]


def test_overlapping_quotes_are_marked_once() -> None:
    parts = highlight("abcdef", ["abcd", "cdef"])
    assert parts == [Part("abcd", True), Part("ef", True)]


def test_markup_is_escaped_and_direction_overrides_are_named() -> None:
    assert visible("<b>\u202e</b>") == (
        '&lt;b&gt;<span class="control-character" title="Right-To-Left Override">U+202E</span>&lt;/b&gt;'
    )


def test_joiners_that_languages_need_stay() -> None:
    assert visible("می\u200cخواهم 👩\u200d💻") == "می\u200cخواهم 👩\u200d💻"


def test_text_is_isolated_in_its_own_direction() -> None:
    assert isolated("שלום") == '<bdi dir="auto">שלום</bdi>'


def test_shortening_keeps_the_limit() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abc defg", 5) == "abc…"
