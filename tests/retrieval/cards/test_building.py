from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.cards.building import LIMITS, LINE_CHARACTERS, Line, build, dated, strictest
from retrieval.cards.sources import Source
from retrieval.models import CardKind

DAY = datetime(2026, 3, 1, tzinfo=UTC)
LATER = datetime(2026, 4, 1, tzinfo=UTC)


def _source(statement: str, number: int = 1, **fields: object) -> Source:
    given_ = {
        "id": uuid.UUID(int=number),
        "statement": statement,
        "sensitivity": "internal",
        "valid_from": None,
        "valid_to": None,
        "lasting": True,
        "weight": 1.0,
        "salience": 1.0,
        "changes_at": None,
        **fields,
    }
    return Source(**given_)


SOURCES = st.lists(
    st.builds(
        _source,
        st.text(min_size=1, max_size=200),
        st.integers(1, 60),
        lasting=st.booleans(),
        weight=st.floats(0, 3),
        salience=st.floats(0, 3),
        valid_from=st.none() | st.just(DAY),
        valid_to=st.none() | st.just(LATER),
    ),
    max_size=30,
    unique_by=lambda source: source.id,
)


@given(st.sampled_from(CardKind.values), SOURCES)
def test_every_line_quotes_a_fact_within_the_bounds(kind: str, sources: list[Source]) -> None:
    by_id = {source.id: source for source in sources}
    lines = build(kind, sources)
    assert sum(len(line.text) + 1 for line in lines) <= LIMITS[kind].characters
    assert all(len(line.text) <= LINE_CHARACTERS for line in lines)
    cited = [fact_id for line in lines for fact_id in line.facts]
    assert len(cited) == len(set(cited)) == len(lines)
    for line in lines:
        source = by_id[line.facts[0]]
        assert line.text == dated(source.statement, source.valid_from, source.valid_to)
        assert not line.edited


@given(st.sampled_from(CardKind.values), SOURCES, st.randoms())
def test_the_order_of_the_sources_decides_nothing(kind: str, sources: list[Source], random: object) -> None:
    shuffled = list(sources)
    random.shuffle(shuffled)
    assert build(kind, shuffled) == build(kind, sources)


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        (None, None, "Ana is on leave."),
        (DAY, None, "Ana is on leave. (2026-03-01)"),
        (None, LATER, "Ana is on leave. (until 2026-04-01)"),
        (DAY, LATER, "Ana is on leave. (2026-03-01 until 2026-04-01)"),
    ],
)
def test_a_statement_bears_its_days(start: datetime | None, end: datetime | None, text: str) -> None:
    assert dated("Ana is on leave.", start, end) == text


def test_lasting_facts_of_weight_come_before_what_is_new() -> None:
    old = [_source(f"Old {n}.", n, weight=2.0, salience=0.1) for n in range(1, 7)]
    new = [_source(f"New {n}.", 10 + n, weight=1.0, salience=0.9, lasting=False) for n in range(1, 4)]
    texts = [line.text for line in build(CardKind.SCOPE_CARD, [*new, *old])]
    assert texts == ["Old 1.", "Old 2.", "Old 3.", "Old 4.", "New 1.", "New 2.", "New 3.", "Old 5.", "Old 6."]


def test_a_statement_is_said_once() -> None:
    sources = [_source("Ana likes  TEA.", 1), _source("ana likes tea.", 2, valid_from=DAY), _source("Ｔea.", 3)]
    assert [line.facts for line in build(CardKind.SUBJECT_PROFILE, sources)] == [
        (uuid.UUID(int=1),),
    ]


def test_a_line_that_does_not_fit_makes_room_for_shorter_ones() -> None:
    sources = [
        _source("x" * (LINE_CHARACTERS + 1), 1, weight=9),
        *[_source(f"{n}" + "y" * 178, n, weight=8) for n in range(2, 6)],
        _source("Short.", 9),
    ]
    lines = build(CardKind.ENTITY_CARD, sources)
    assert [len(line.text) for line in lines] == [179, 179, 179, 6]


def test_what_a_person_wrote_stays_first_and_is_not_repeated() -> None:
    kept = [Line(text="Ana runs support.", facts=(uuid.UUID(int=1),), edited=True)]
    sources = [_source("Ana leads the support team.", 1), _source("Ana lives in Porto.", 2)]
    assert build(CardKind.SUBJECT_PROFILE, sources, kept=kept) == [
        *kept,
        Line(text="Ana lives in Porto.", facts=(uuid.UUID(int=2),), section="Role & Responsibilities"),
    ]


def test_lines_are_stored_and_read_again() -> None:
    line = Line(text="Ana likes tea.", facts=(uuid.UUID(int=7), uuid.UUID(int=8)), edited=True, section="Patterns")
    assert Line.stored(line.as_json()) == line


def test_a_card_is_as_strict_as_its_strictest_source() -> None:
    assert strictest([]) == "public"
    assert strictest([_source("a", sensitivity="internal"), _source("b", sensitivity="personal")]) == "personal"
