"""Reads of the past over more facts than are ranked: which are kept, and that it is said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from facts.clock import now
from facts.models import IndexedUnit, Subject
from facts.vocabulary import Status
from retrieval import visibility
from tests.factories import FactFactory
from tests.retrieval.conftest import statements

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
#: By the time that each began to hold; the middle one was written down last, and one has no beginning.
DAYS = {"first": 1, "third": 3, "always": None, "second": 2}


@pytest.fixture
def four(ana: Subject) -> None:
    for word, day in DAYS.items():
        FactFactory(
            subject=ana,
            statement=f"Ana likes tea of the {word} day.",
            status=Status.SUPERSEDED,
            valid_from=None if day is None else JANUARY + timedelta(days=day),
            valid_to=JANUARY + timedelta(days=100),
        )


@pytest.mark.parametrize("query", ["tea", ""])
@pytest.mark.parametrize("known", [False, True])
def test_of_too_many_facts_those_that_began_last_are_ranked_and_it_is_said(
    four: None, ask: Callable[..., Any], query: str, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    then: dict[str, Any] = {"as_of": JANUARY + timedelta(days=50)} | ({"known_at": now()} if known else {})
    whole = ask(query, **then)
    assert (len(statements(whole)), whole.packet.warnings) == (4, [])
    monkeypatch.setattr(visibility, "HISTORY_LIMIT", 1)
    cut = ask(query, **then)
    assert sorted(statements(cut)) == ["Ana likes tea of the second day.", "Ana likes tea of the third day."]
    assert cut.packet.warnings == ["degraded_retrieval: without older_history (candidate_limit)"]
    assert cut.packet.status == "degraded"
    monkeypatch.setattr(visibility, "HISTORY_LIMIT", 4)
    assert ask(query, **then).packet.warnings == []


def test_a_search_says_it_too(four: None, find: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    then = JANUARY + timedelta(days=50)
    whole = find("tea", as_of=then, units=(IndexedUnit.FACT,))
    assert (whole.degraded_components, whole.warnings) == ([], [])
    monkeypatch.setattr(visibility, "HISTORY_LIMIT", 1)
    cut = find("tea", as_of=then, units=(IndexedUnit.FACT,))
    assert cut.degraded_components == ["older_history"]
    assert cut.warnings == ["degraded_retrieval: without older_history"]
    found = sorted(result.text for result in cut.results)
    assert found == ["Ana likes tea of the second day.", "Ana likes tea of the third day."]


def test_the_present_is_not_cut(ana: Subject, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visibility, "HISTORY_LIMIT", 1)
    for word in ("black", "green", "white"):
        FactFactory(subject=ana, statement=f"Ana likes {word} tea.")
    answer = ask("tea")
    assert (len(statements(answer)), answer.packet.warnings) == (3, [])
