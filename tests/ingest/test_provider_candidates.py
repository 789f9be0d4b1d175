"""One object of an answer, read field by field."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.candidates import Candidate
from facts.vocabulary import Category, Form, Kind, Sensitivity, Volatility
from ingest.extraction import ExtractionInput, checks
from ingest.extraction.providers import candidates
from ingest.extraction.providers.quoting import locate

TEXT = "Since 3 March I “live” in  Lyon now, not in Paris. I’m on antidepressants."
ITEM = ExtractionInput(
    text=TEXT,
    occurred_at=datetime(2026, 3, 25, 9, tzinfo=UTC),
    speaker_name="Ana",
    timezone="Europe/Paris",
    participants=("Ana", "Bo Lind"),
)
GOOD: dict[str, Any] = {
    "quote": "I “live” in  Lyon now",
    "statement": "Ana lives in Lyon.",
    "confidence": 0.95,
    "about": "",
    "category": "general",
    "kind": "attribute",
    "form": "state",
    "predicate": "home_city",
    "value": "Lyon",
    "details": [],
    "qualifiers": [],
    "denies": False,
    "update_marker": "now",
    "valid_from": "2026-03-03",
    "valid_to": "",
    "volatility": "slow",
    "sensitivity": "internal",
}


def read(**fields: Any) -> tuple[Candidate, tuple[str, ...]]:
    row = {**GOOD, **fields}
    return candidates.read({name: value for name, value in row.items() if value is not ...}, ITEM)


def test_a_whole_object() -> None:
    candidate, notes = read()
    assert candidate == Candidate(
        statement="Ana lives in Lyon.",
        quote="I “live” in  Lyon now",
        confidence=0.95,
        category=Category.GENERAL,
        kind=Kind.ATTRIBUTE,
        form=Form.STATE,
        predicate="home_city",
        value={"value": "Lyon"},
        update_marker="now",
        valid_from=datetime(2026, 3, 2, 23, tzinfo=UTC),
        start_stated=True,
        volatility=Volatility.SLOW,
        sensitivity=Sensitivity.INTERNAL,
    )
    assert notes == ()
    assert checks.validate(candidate, ITEM) is None


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({"category": "gossip"}, "category", Category.GENERAL),
        ({"category": " Blocker "}, "category", Category.BLOCKER),
        ({"kind": "fact"}, "kind", Kind.ATTRIBUTE),
        ({"kind": ..., "form": "event"}, "kind", Kind.EVENT),
        ({"form": None}, "form", Form.STATE),
        ({"volatility": 3}, "volatility", Volatility.STABLE),
        ({"sensitivity": "secret"}, "sensitivity", None),
        ({"sensitivity": ...}, "sensitivity", None),
        ({"confidence": ...}, "confidence", candidates.DEFAULT_CONFIDENCE),
        ({"confidence": "high"}, "confidence", candidates.DEFAULT_CONFIDENCE),
        ({"confidence": True}, "confidence", candidates.DEFAULT_CONFIDENCE),
        ({"confidence": -1}, "confidence", candidates.DEFAULT_CONFIDENCE),
        ({"confidence": "85%"}, "confidence", 0.85),
        ({"confidence": 85}, "confidence", 0.85),
        ({"confidence": 0.2}, "confidence", 0.2),
        ({"statement": None}, "statement", ""),
        ({"statement": "x" * 601}, "statement", ""),
        ({"statement": "Ana\x00 lives."}, "statement", "Ana  lives."),
        ({"about": "Ana"}, "about", ""),
        ({"about": "Speaker"}, "about", ""),
        ({"about": "The team"}, "about", "team"),
        ({"about": "Bo"}, "about", "Bo"),
        ({"denies": "yes"}, "denies", False),
        ({"denies": True}, "denies", True),
        ({"update_marker": "instead"}, "update_marker", ""),
        ({"form": "event"}, "update_marker", ""),
        ({"predicate": "Home City"}, "predicate", "home_city"),
        ({"predicate": "maison/ville"}, "predicate", ""),
        ({"predicate": "maison/ville"}, "value", None),
        ({"predicate": ""}, "value", None),
        ({"value": None}, "predicate", ""),
        ({"value": ["Lyon"]}, "predicate", ""),
        ({"value": 3.5}, "value", {"value": 3.5}),
        ({"value": float("nan")}, "predicate", ""),
        ({"value": 10**400}, "predicate", ""),
        ({"value": {"value": "Lyon", "Zip Code": "69001"}}, "value", {"value": "Lyon", "zip_code": "69001"}),
        ({"details": [{"name": "due", "value": None}]}, "value", {"value": "Lyon", "due": None}),
        ({"value": None, "details": [{"name": "due", "value": "x"}]}, "value", {"value": None, "due": "x"}),
        ({"qualifiers": [{"name": "for", "value": "work"}, "junk", {"name": 3}]}, "qualifiers", {"for": "work"}),
        ({"qualifiers": {"for": "work"}}, "qualifiers", {"for": "work"}),
        ({"predicate": "", "qualifiers": {"for": "work"}}, "qualifiers", {}),
        ({"valid_from": "2026-03-03T10:00:00Z"}, "valid_from", datetime(2026, 3, 2, 23, tzinfo=UTC)),
        ({"valid_from": "2026-03-25"}, "valid_from", None),
        ({"valid_from": "3 March"}, "valid_from", None),
        ({"valid_to": "2031-01-01"}, "end_stated", False),
        ({"quote": 'I "live" in Lyon now'}, "quote", "I “live” in  Lyon now"),
        ({"quote": "I live in Oslo"}, "quote", "I live in Oslo"),
        ({"quote": ...}, "quote", ""),
        ({"quote": "I’m on antidepressants"}, "sensitivity", Sensitivity.RESTRICTED),
        ({"quote": "I’m on antidepressants", "sensitivity": "public"}, "sensitivity", Sensitivity.RESTRICTED),
    ],
)
def test_a_field_that_is_odd(fields: dict[str, Any], name: str, value: Any) -> None:
    candidate, _ = read(**fields)
    assert getattr(candidate, name) == value


def test_notes_name_the_fields_and_nothing_else() -> None:
    _, notes = read(category="gossip", kind="gossip", confidence="gossip", valid_from="gossip", update_marker="gossip")
    assert set(notes) == {"category", "kind", "confidence", "valid_from", "update_marker"}


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(GOOD, VALUES)))
def test_any_object_is_read_and_then_checked(row: dict[str, Any]) -> None:
    candidate, notes = candidates.read(row, ITEM)
    assert candidate.has_claim == bool(candidate.predicate)
    assert set(notes) <= {*GOOD, "value"}
    checks.validate(candidate, ITEM)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("in Lyon", "in  Lyon"),
        ("'live'", ""),
        ('"live"', "“live”"),
        ("I'm on", "I’m on"),
        ("I'm  on ", "I’m on"),
        ("   ", ""),
        ("in Lyo", "in  Lyo"),
        ("Marseille", ""),
    ],
)
def test_a_quote_is_found_whatever_its_typography(quote: str, found: str) -> None:
    assert locate(quote, TEXT) == found


def test_a_quote_is_found_where_the_message_holds_what_the_model_was_not_shown() -> None:
    text = "So: I live\u200b in \u2066Lyon\u2069, yes"
    assert locate("I live in Lyon", text) == "I live\u200b in \u2066Lyon"
    assert locate("I live in Rome", text) == ""
