"""Dates in text: what is read, in whose time zone, and what is left alone."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.extraction import dates

WEDNESDAY = datetime(2026, 3, 25, 10, tzinfo=UTC)


def only(text: str, *, timezone: str = "UTC", occurred_at: datetime = WEDNESDAY) -> tuple[str, str, str]:
    """Return first day, day after and role of the one date in the text."""
    (mention,) = dates.find(text, occurred_at=occurred_at, timezone=timezone)
    return mention.first.isoformat(), mention.after.isoformat(), mention.role


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-05-04", ("2026-05-04", "2026-05-05", "at")),
        ("on 12 March 2027", ("2027-03-12", "2027-03-13", "at")),
        ("March 12th, 2027", ("2027-03-12", "2027-03-13", "at")),
        ("le 12 avril", ("2026-04-12", "2026-04-13", "at")),
        ("since 2019", ("2019-01-01", "2020-01-01", "since")),
        ("depuis 2019", ("2019-01-01", "2020-01-01", "since")),
        ("until June", ("2026-06-01", "2026-07-01", "until")),
        ("jusqu'au 3 avril", ("2026-04-03", "2026-04-04", "until")),
        ("by Friday", ("2026-03-27", "2026-03-28", "by")),
        ("d'ici vendredi", ("2026-03-27", "2026-03-28", "by")),
        ("starting Monday", ("2026-03-30", "2026-03-31", "since")),
        ("à partir du 1er avril", ("2026-04-01", "2026-04-02", "since")),
        ("tomorrow", ("2026-03-26", "2026-03-27", "at")),
        ("demain", ("2026-03-26", "2026-03-27", "at")),
        ("yesterday", ("2026-03-24", "2026-03-25", "at")),
        ("après-demain", ("2026-03-27", "2026-03-28", "at")),
        ("the day after tomorrow", ("2026-03-27", "2026-03-28", "at")),
        ("in 3 weeks", ("2026-04-15", "2026-04-16", "at")),
        ("dans deux jours", ("2026-03-27", "2026-03-28", "at")),
        ("two months ago", ("2026-01-25", "2026-01-26", "at")),
        ("il y a un an", ("2025-03-25", "2025-03-26", "at")),
        ("next Friday", ("2026-03-27", "2026-03-28", "at")),
        ("next Wednesday", ("2026-04-01", "2026-04-02", "at")),
        ("vendredi prochain", ("2026-03-27", "2026-03-28", "at")),
        ("last Monday", ("2026-03-23", "2026-03-24", "at")),
        ("next week", ("2026-03-30", "2026-04-06", "at")),
        ("la semaine prochaine", ("2026-03-30", "2026-04-06", "at")),
        ("last month", ("2026-02-01", "2026-03-01", "at")),
        ("end of the month", ("2026-03-31", "2026-04-01", "at")),
        ("fin du mois", ("2026-03-31", "2026-04-01", "at")),
        ("in January", ("2027-01-01", "2027-02-01", "at")),
        ("Q3", ("2026-07-01", "2026-10-01", "at")),
        ("Q1 2027", ("2027-01-01", "2027-04-01", "at")),
        ("since March 3, 1990", ("1990-03-03", "1990-03-04", "since")),
    ],
)
def test_one_reading(text: str, expected: tuple[str, str, str]) -> None:
    assert only(text) == expected


@pytest.mark.parametrize(
    "text",
    ["12/03", "12/03/2026", "soon", "bientôt", "31 February", "2026-02-30", "2019", "May I", "mars", "version 3.2"],
)
def test_nothing_to_read(text: str) -> None:
    assert dates.find(text, occurred_at=WEDNESDAY, timezone="UTC") == []


def test_tomorrow_is_the_speakers_tomorrow() -> None:
    late = datetime(2026, 3, 25, 23, 30, tzinfo=UTC)

    assert only("tomorrow", timezone="Asia/Tokyo", occurred_at=late)[0] == "2026-03-27"
    assert only("tomorrow", timezone="America/New_York", occurred_at=late)[0] == "2026-03-26"


def test_an_unknown_time_zone_reads_as_utc() -> None:
    assert only("tomorrow", timezone="Nowhere/Land")[0] == "2026-03-26"


def test_an_instant_is_midnight_there_in_utc() -> None:
    assert dates.instant(date(2026, 7, 1), "Europe/Paris") == datetime(2026, 6, 30, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["du 2 au 6 avril", "from 2 to 6 April", "from April 2 to April 6", "du 2 avril au 6 avril"]
)
def test_a_range_has_a_start_and_an_end(text: str) -> None:
    start, end = dates.find(text, occurred_at=WEDNESDAY, timezone="UTC")

    assert (start.first, start.role) == (date(2026, 4, 2), "since")
    assert (end.after, end.role) == (date(2026, 4, 7), "until")


def test_a_range_over_the_end_of_a_month() -> None:
    start, end = dates.find("du 30 au 3 avril", occurred_at=WEDNESDAY, timezone="UTC")

    assert (start.first, end.first) == (date(2026, 3, 30), date(2026, 4, 3))


@given(st.text(max_size=200), st.datetimes(timezones=st.just(UTC)))
def test_any_text_at_any_time_is_read_without_error(text: str, occurred_at: datetime) -> None:
    for mention in dates.find(text, occurred_at=occurred_at, timezone="Europe/Paris"):
        assert mention.first < mention.after
        assert text[mention.start : mention.end].strip()
