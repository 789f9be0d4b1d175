"""Facts out of whatever a model writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.extraction.providers.parsing import MAX_CHARACTERS, Parsed, Unreadable, parse

A = {"quote": "a", "statement": "A."}
B = {"quote": "b", "statement": 'Says "b}".', "details": [{"name": "x", "value": 1}]}
LIST = json.dumps({"facts": [A, B]})


@pytest.mark.parametrize(
    ("text", "rows", "whole"),
    [
        (LIST, [A, B], True),
        (json.dumps([A, B]), [A, B], True),
        (json.dumps(A), [A], True),
        (json.dumps({"items": [A]}), [A], True),
        ('{"facts": []}', [], True),
        ("[]", [], True),
        (f"  \n{LIST}\n", [A, B], True),
        (f"Here you are:\n{LIST}\nAnything else?", [A, B], False),
        (f"```json\n{LIST}\n```", [A, B], False),
        (f'He said "so:\n```\n{LIST}\n```', [A, B], False),
        (LIST.replace("}]}", "},]}"), [A, B], True),
        (LIST[:-2], [A, B], False),
        (LIST[:-6], [A], False),
        (f'{LIST[:-2]}, {{"quote": "c", "stat', [A, B], False),
        (json.dumps({"facts": [A, "noise", 7, {"other": 1}]}), [A], True),
        ('{"facts": [{"quote": "a", "statement": NaN}]}', [{"quote": "a", "statement": None}], True),
        ('{"facts": [{"quote": "a\nb"}]}', [{"quote": "a\nb"}], True),
    ],
)
def test_what_can_be_read(text: str, rows: list[dict[str, Any]], whole: bool) -> None:
    assert parse(text) == Parsed(tuple(rows), whole=whole)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I found no facts.",
        "{",
        "null",
        "7",
        '{"error": "no"}',
        '{"facts": [{"quote": "a',
        '{"facts": ["a"]}',
        "[" * 9_999,
    ],
)
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parsed = parse(text)
    except Unreadable:
        return
    assert all(isinstance(row, dict) for row in parsed.rows)


@given(
    st.lists(
        st.fixed_dictionaries({"quote": st.text(max_size=20), "statement": st.text(max_size=20)}),
        min_size=1,
        max_size=5,
    ),
    st.integers(min_value=0),
)
def test_a_cut_keeps_the_facts_before_it(rows: list[dict[str, str]], at: int) -> None:
    text = json.dumps({"facts": rows})
    cut = text[: at % len(text)]
    try:
        kept = parse(cut).rows
    except Unreadable:
        kept = ()
    assert list(kept) == rows[: len(kept)]
    assert len(kept) == sum(cut.startswith(json.dumps({"facts": rows[: n + 1]})[:-2]) for n in range(len(rows)))


def test_what_lies_beyond_the_limit_is_not_looked_at() -> None:
    with pytest.raises(Unreadable):
        parse(" " + "x" * MAX_CHARACTERS + LIST)


def test_a_fence_that_does_not_close_costs_nothing() -> None:
    with pytest.raises(Unreadable):
        parse("```" + "a" * MAX_CHARACTERS)


def test_deep_nesting_costs_nothing() -> None:
    with pytest.raises(Unreadable):
        parse("{" * 60_000 + "}" * 60_000)
