from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.errors import DomainError
from ingest.normalise import (
    CONTROLS_REPLACED,
    MAX_DEPTH,
    NUL_REPLACED,
    SURROGATES_REPLACED,
    Turn,
    clean_json,
    clean_text,
    read_turns,
)

ANY_TEXT = st.text(alphabet=st.characters(min_codepoint=0, max_codepoint=0x10FFFF, exclude_categories=()))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("given_text", "clean", "notes"),
    [
        ("plain", "plain", set()),
        ("a\x00b", "a b", {NUL_REPLACED}),
        ("cut \ud83d", "cut \ufffd", {SURROGATES_REPLACED}),
        ("\udc00x", "\ufffdx", {SURROGATES_REPLACED}),
        ("pair \ud83d\ude00", "pair \U0001f600", {SURROGATES_REPLACED}),
        ("bell\x07 esc\x1b[0m", "bell  esc [0m", {CONTROLS_REPLACED}),
        ("one\r\ntwo\rthree\tfour", "one\ntwo\nthree\tfour", set()),
        ("e\u0301", "é", set()),
        ("\x00\x01\ud800", "  \ufffd", {NUL_REPLACED, CONTROLS_REPLACED, SURROGATES_REPLACED}),
    ],
)
def test_clean_text(given_text: str, clean: str, notes: set[str]) -> None:
    assert clean_text(given_text) == (clean, notes)


@given(ANY_TEXT)
def test_clean_text_is_storable_and_stays_as_it_is(text: str) -> None:
    clean, _ = clean_text(text)
    assert "\x00" not in clean
    clean.encode("utf-8")
    assert clean_text(clean) == (clean, frozenset())


@given(ANY_JSON)
def test_clean_json_is_storable(value: object) -> None:
    clean, _ = clean_json(value)
    text = json.dumps(clean, ensure_ascii=False)
    text.encode("utf-8")
    assert "\\u0000" not in text
    assert "\x00" not in text


def test_clean_json_keeps_fields_that_clean_to_one_name() -> None:
    assert clean_json({"a\x00": 1, "a ": 2}) == ({"a ": 1, "a _": 2}, {NUL_REPLACED})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_clean_json_refuses_numbers_that_are_none(number: float) -> None:
    with pytest.raises(DomainError) as refused:
        clean_json({"x": [number]})
    assert (refused.value.code, refused.value.field) == ("invalid_payload", "payload")


def test_clean_json_refuses_deep_nesting() -> None:
    value: object = "x"
    for _ in range(MAX_DEPTH):
        value = [value]
    assert clean_json(value) == (value, frozenset())
    with pytest.raises(DomainError) as refused:
        clean_json([value])
    assert refused.value.code == "invalid_payload"


@pytest.mark.parametrize(
    ("payload", "turns"),
    [
        ({"text": "Hi."}, (Turn(text="Hi."),)),
        ({"role": "user", "content": "Hi."}, (Turn(text="Hi.", role="user"),)),
        ({"role": "Assistant", "content": "Hi."}, (Turn(text="Hi.", role="Assistant", human=False),)),
        ({"message": "Hi."}, (Turn(text="Hi."),)),
        ({"message": {"role": "user", "content": "Hi."}}, (Turn(text="Hi.", role="user"),)),
        ({"content": [{"type": "text", "text": "One."}, {"type": "image"}, "Two."]}, (Turn(text="One.\nTwo."),)),
        (
            {"messages": [{"role": "user", "content": "Q"}, {"role": "tool", "content": "R"}, {"content": " "}, "x"]},
            (Turn(text="Q", role="user"), Turn(text="R", role="tool", human=False)),
        ),
        ({"messages": [{"speaker": "Ana", "text": "Q"}]}, (Turn(text="Q", speaker="Ana"),)),
        ({"text": "  "}, ()),
        ({"messages": [{"role": "user", "content": ""}]}, ()),
        ({}, ()),
        ({"b": 1, "a": "é"}, (Turn(text='ticket {"a": "é", "b": 1}', role="data", human=False),)),
        ({"message": 5}, (Turn(text='ticket {"message": 5}', role="data", human=False),)),
    ],
)
def test_read_turns(payload: dict[str, object], turns: tuple[Turn, ...]) -> None:
    assert read_turns(payload, kind="ticket") == turns


def test_the_actor_speaks_where_no_role_is_stated() -> None:
    assert read_turns({"text": "Done."}, kind="note", role="agent") == (Turn(text="Done.", role="agent", human=False),)
    assert read_turns({"text": "Done.", "role": "user"}, kind="note", role="agent")[0].human
