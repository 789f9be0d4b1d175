from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from retrieval.candidates import PassageRow
from retrieval.context.surroundings import SILENCE, lifted, seeds
from retrieval.profiles.shipped import Surroundings

START = datetime(2026, 5, 1, tzinfo=UTC)
SCOPE, SUBJECT = uuid.UUID(int=1), uuid.UUID(int=2)
HALVES = Surroundings(seeds=2, before=0.5, after=0.25, sitting=0.0)
SITTING = Surroundings(seeds=0, before=0.0, after=0.0, sitting=0.5)


def _rows(
    *, threads: Sequence[str] = ("", "", ""), gap: timedelta = timedelta(minutes=1), channel: str = ""
) -> list[PassageRow]:
    return [
        PassageRow(
            id=uuid.UUID(int=10 + number),
            event_id=uuid.UUID(int=20 + number),
            scope_id=SCOPE,
            subject_id=uuid.UUID(int=30 + number) if channel else SUBJECT,
            channel_id=channel,
            thread=thread,
            withheld="",
            speaker="",
            text=f"turn {number}",
            evidential=True,
            kind="",
            origin_trust="",
            similarity=None,
            text_score=0.0,
            occurred_at=START + number * gap,
        )
        for number, thread in enumerate(threads)
    ]


def _pairs(rows: Sequence[PassageRow]) -> list[tuple[uuid.UUID, uuid.UUID]]:
    return [(before.id, after.id) for before, after in pairwise(rows)]


def test_the_best_rows_are_seeds() -> None:
    rows = _rows()
    assert seeds(rows, [0.2, 0.9, 0.2], count=2) == [rows[1].id, rows[0].id]


def test_a_passage_lifts_what_stands_beside_it() -> None:
    rows = _rows()
    scores = lifted(rows, [0.0, 0.7, 0.0], pairs=_pairs(rows), surroundings=HALVES)
    assert scores == pytest.approx([0.175, 0.7, 0.35])


def test_another_thread_is_not_beside() -> None:
    rows = _rows(threads=("a", "b", "b"))
    scores = lifted(rows, [0.7, 0.0, 0.0], pairs=_pairs(rows), surroundings=HALVES)
    assert scores == pytest.approx([0.7, 0.0, 0.0])


def test_a_neighbour_that_is_not_there_lifts_nobody() -> None:
    rows = _rows()
    scores = lifted(rows[1:], [0.7, 0.0], pairs=_pairs(rows)[:1], surroundings=HALVES)
    assert scores == pytest.approx([0.7, 0.0])


def test_a_sitting_lifts_all_of_its_passages() -> None:
    scores = lifted(_rows(), [0.6, 0.3, 0.0], pairs=[], surroundings=SITTING)
    assert scores == pytest.approx([0.75, 0.45, 0.15])


def test_a_channel_is_one_conversation_of_many() -> None:
    scores = lifted(_rows(channel="C1"), [0.6, 0.3, 0.0], pairs=[], surroundings=SITTING)
    assert scores == pytest.approx([0.75, 0.45, 0.15])


@pytest.mark.parametrize(
    "rows", [_rows(gap=SILENCE + timedelta(seconds=1)), _rows(threads=("a", "b", "c"))], ids=["silence", "threads"]
)
def test_a_sitting_ends_with_a_silence_and_a_thread(rows: list[PassageRow]) -> None:
    scores = lifted(rows, [0.6, 0.3, 0.0], pairs=[], surroundings=SITTING)
    assert scores == pytest.approx([0.7, 0.35, 0.0])


def test_scores_stay_within_bounds() -> None:
    every = Surroundings(seeds=3, before=0.3, after=0.2, sitting=0.4)
    rows = _rows()
    assert lifted(rows, [1.0, 1.0, 1.0], pairs=_pairs(rows), surroundings=every) == pytest.approx(
        [1.6 / 1.9, 1.0, 1.7 / 1.9]
    )


def test_no_rows() -> None:
    assert lifted([], [], pairs=[], surroundings=SITTING) == []
