"""One spelling for claims: what counts as equal, and what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.canonical import (
    canonical,
    has_control_characters,
    identity_key,
    normalise_predicate,
    normalise_text,
    stated_identity_key,
    statement_hash,
    value_key,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lyon", "  lyon. "),
        ("Lyon", "ＬＹＯＮ"),
        ("Lyon .", "lyon"),
        ("caf\u00e9", "cafe\u0301"),
        ("a\u200bb", "ab"),
        (3, 3.0),
        (3, "3"),
        ("e-mail", "email"),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
        ({"City": "Lyon"}, {"city": "Lyon"}),
        ({"city": "Lyon", "street": None}, {"city": "Lyon"}),
        (("a", "b"), ["a", "b"]),
        ({"x": {"y": None}}, {"x": {}}),
    ],
)
def test_what_is_equal(one, other):
    assert canonical(one) == canonical(other)
    assert value_key({"v": one}) == value_key({"v": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lyon", "Lyons"),
        ("3.10", "3.1"),
        ("007", 7),
        ("1-2", "12"),
        (1, True),
        (0, False),
        (["a", "b"], ["b", "a"]),
        (1.5, 1),
        ({"a": 1}, {"b": 1}),
    ],
)
def test_what_is_not_equal(one, other):
    assert value_key({"v": one}) != value_key({"v": other})


@given(VALUES)
def test_every_value_has_a_key(value):
    assert len(value_key({"v": value})) == 64
    assert value_key({"v": value}) != value_key({"v": value}, denies=True)


def test_numbers_beyond_floats():
    assert canonical(10**400) == 10**400
    assert canonical(float("inf")) == float("inf")


def test_no_claim_has_no_keys():
    assert (identity_key("", {"when": "x"}), value_key(None)) == ("", "")


def test_an_identity_is_predicate_and_conditions():
    bare = identity_key("lives_in", {})
    assert identity_key("Lives in", {"attributed_to": "Bob"}) == bare
    assert identity_key("lives_in", {"when": "Summer"}) == identity_key("lives_in", {"when": "summer"})
    assert len({bare, identity_key("lives_in", {"when": "summer"}), identity_key("works_in", {})}) == 3
    assert stated_identity_key("lives_in", {"distinction": "office"}) == bare
    assert identity_key("lives_in", {"distinction": "office"}) != bare


@pytest.mark.parametrize(
    ("text", "name"),
    [("Lives in", "lives_in"), ("  préfère--le thé! ", "préfère_le_thé"), ("", ""), ("x" * 200, "x" * 128)],
)
def test_predicates(text, name):
    assert normalise_predicate(text) == name


def test_statements_are_hashed_under_a_secret_and_folded():
    one = statement_hash(b"a", "She likes  Jazz")
    assert one == statement_hash(b"a", "she likes jazz")
    assert one != statement_hash(b"b", "She likes Jazz")
    assert len(statement_hash(b"a", "\ud800")) == 64


@given(st.text(max_size=40))
def test_normalising_text_twice_changes_nothing_more(text):
    assert normalise_text(normalise_text(text)) == normalise_text(text)


@pytest.mark.parametrize(
    ("text", "found"), [("a\x00", True), ("\ud800", True), ("a\tb", True), ("👨‍👩‍👧 é", False), ("", False)]
)
def test_control_characters(text, found):
    assert has_control_characters(text) is found
