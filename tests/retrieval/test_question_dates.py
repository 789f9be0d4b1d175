from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.text.question_dates import spelt_out

#: A Monday.
NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What did Ana say today?", "2 march 2026"),
        ("What did Ana say yesterday?", "1 march 2026"),
        ("And the day before yesterday?", "28 february 2026"),
        ("What was decided three days ago?", "27 february 2026"),
        ("What was decided 10 days ago?", "20 february 2026"),
        ("Who called last Friday?", "27 february 2026"),
        ("Who called last Monday?", "23 february 2026"),
        ("What came up last month?", "february 2026"),
        ("What came up this month and last year?", "march 2026 2025"),
        ("Yesterday or YESTERDAY", "1 march 2026"),
        ("Qu'a dit Ana hier ?", "1 march 2026"),
        ("Et avant-hier ?", "28 february 2026"),
        ("Il y a deux jours", "28 february 2026"),
        ("Aujourd’hui, le mois dernier, l'année dernière", "2 march 2026 february 2026 2025"),
        ("What does Ana like?", ""),
        ("Ana's todayish yesterdays", ""),
        ("999 days ago", ""),
        ("", ""),
    ],
)
def test_dates_are_spelt_out(question: str, words: str) -> None:
    assert spelt_out(question, at=NOW) == words


def test_the_day_is_that_of_utc() -> None:
    at = datetime(2026, 3, 2, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    assert spelt_out("today", at=at) == "1 march 2026"


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_instant_has_its_dates(at: datetime) -> None:
    spelt_out("today yesterday, 400 days ago, last month, last sunday, last year", at=at)
