"""Drawings: what is drawn says what is stored, inside the picture, for any times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from facts.models import Fact, FactRevision
from memory_site.admin_pages.bars import side_by_side
from memory_site.admin_pages.fact_timeline import lives, timeline
from tests.factories import JANUARY, JULY, MARCH, MAY

TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 1), timezones=st.just(UTC))


def _revision(version, status, start, end=None, **held):
    return FactRevision(version=version, status=status, recorded_from=start, recorded_to=end, **held)


def test_both_times_of_a_fact_are_drawn_on_one_axis():
    fact = Fact(status="superseded", recorded_from=JANUARY)
    revisions = [
        _revision(1, "candidate", JANUARY, MARCH, valid_from=JANUARY),
        _revision(2, "active", MARCH, MAY, valid_from=JANUARY),
        _revision(3, "active", MAY, JULY, valid_from=JANUARY),
        _revision(4, "superseded", JULY, valid_from=JANUARY, valid_to=MAY),
    ]
    drawn = timeline(fact, revisions, at=JULY + timedelta(days=30))
    assert [lane.text for lane in drawn.held] == [
        "from 2025-01-10 09:00 until 2025-05-10 09:00",
        "from 2025-01-10 09:00",
    ]
    assert [segment.part for segment in drawn.recorded.segments] == ["waiting", "current", "ended"]
    starts = [segment.start for segment in drawn.recorded.segments]
    assert starts == sorted(starts)
    first, second, _ = drawn.recorded.segments
    assert abs(first.start + first.width - second.start) <= 0.02
    assert drawn.held[0].segments[0].start == first.start


@given(TIMES, TIMES, st.one_of(st.none(), TIMES), st.one_of(st.none(), TIMES))
def test_nothing_is_drawn_outside_of_the_picture(recorded, at, start, end):
    fact = Fact(status="active", statement="x", recorded_from=recorded, valid_from=start, valid_to=end)
    drawn = timeline(fact, [_revision(1, "active", recorded, valid_from=start, valid_to=end)], at=at)
    lanes = [*drawn.held, drawn.recorded, *(lane for _, lane in lives([fact], at=at).rows)]
    for segment in (segment for lane in lanes for segment in lane.segments):
        assert 0 <= segment.start <= 100
        assert segment.width > 0
        assert segment.start + segment.width <= 100.02
    assert 0 <= drawn.now <= 100


def test_parts_of_a_bar_stand_side_by_side_and_never_pass_its_end():
    bar = side_by_side([("p0", "a", 1), ("p1", "b", 0), ("p2", "c", 2), ("p3", "d", 9)], whole=4)
    assert [(segment.part, segment.start, segment.width) for segment in bar] == [
        ("p0", 0.0, 25.0),
        ("p2", 25.0, 50.0),
        ("p3", 75.0, 25.0),
    ]
    assert side_by_side([("p0", "a", 1)], whole=0) == []
