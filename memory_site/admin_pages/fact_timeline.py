"""The two times of a fact, drawn: when it held, and what was recorded about it when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from facts.models import Fact, FactRevision
from facts.vocabulary import Status
from memory_site.admin_pages.bars import Segment
from memory_site.admin_pages.fact_display import moment, validity, words

#: Which part of the style sheet stands for a status.
_PARTS = {
    Status.ACTIVE: "current",
    Status.CANDIDATE: "waiting",
    Status.PROVISIONAL: "waiting",
    Status.HELD: "waiting",
    Status.NEEDS_REVALIDATION: "waiting",
    Status.DISPUTED: "waiting",
    Status.SUPERSEDED: "ended",
    Status.EXPIRED: "ended",
    Status.REJECTED: "ended",
}
_GONE = "gone"
#: Beliefs about when it held that are drawn, the last ones.
BELIEFS = 5
#: Shortest stretch that can be seen, in hundredths.
_LEAST = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One line of the drawing, with the words that say the same."""

    title: str
    segments: Sequence[Segment]
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The drawing: from ``start`` to ``end``, both as shown; ``now`` is a place in hundredths."""

    start: str
    end: str
    now: float
    held: Sequence[Lane]
    recorded: Lane


@dataclass(frozen=True, slots=True)
class _Axis:
    """From the first to the last time that is known, with a little ``room`` at both ends."""

    start: datetime
    end: datetime
    room: timedelta

    def at(self, value: datetime) -> float:
        share = (value - self.start + self.room) / (self.end - self.start + 2 * self.room)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def segment(self, part: str, label: str, start: datetime | None, end: datetime | None) -> Segment:
        begins = 0.0 if start is None else self.at(start)
        ends = 100.0 if end is None else self.at(end)
        width = max(ends - begins, _LEAST)
        return Segment(part, label, 0.0, min(begins, 100 - width), round(width, 2))


def timeline(fact: Fact, revisions: Sequence[FactRevision], *, at: datetime) -> Timeline:
    """Return the drawing of a fact with these revisions, the oldest first and at least one; ``at`` is the present.

    When it held is drawn as it is believed now, and below as it was believed before, where that was different.
    """
    axis = _axis(fact, revisions, at)
    beliefs = list(dict.fromkeys((row.valid_from, row.valid_to, row.start_assumed) for row in reversed(revisions)))
    held = [
        Lane(
            title="Held" if number == 0 else "Believed before",
            segments=[axis.segment("current" if number == 0 else "ended", "", start, end)],
            text=validity(start, end, assumed=assumed),
        )
        for number, (start, end, assumed) in enumerate(beliefs[:BELIEFS])
    ]
    stretches = list(_stretches(revisions))
    recorded = Lane(
        title="Status",
        segments=[axis.segment(_part(status), words(status), start, end or at) for status, start, end in stretches],
        text="; ".join(f"{words(status)} {validity(start, end)}" for status, start, end in stretches),
    )
    return Timeline(start=moment(axis.start), end=moment(axis.end), now=axis.at(at), held=held, recorded=recorded)


def _axis(fact: Fact, revisions: Sequence[FactRevision], at: datetime) -> _Axis:
    """Return an axis on which everything known has its place, with a little room at both ends."""
    known = [at, fact.recorded_from, *(row.recorded_from for row in revisions)]
    known += [time for row in revisions for time in (row.valid_from, row.valid_to) if time is not None]
    return _with_room(known)


def _with_room(known: Sequence[datetime]) -> _Axis:
    start, end = min(known), max(known)
    return _Axis(start, end, max((end - start) * 0.04, timedelta(hours=1)))


def _stretches(revisions: Iterable[FactRevision]) -> Iterable[tuple[str, datetime, datetime | None]]:
    """Yield each status with the record time it stood for, revisions that kept it taken together."""
    status, start, end = "", None, None
    for row in revisions:
        if row.status != status:
            if start is not None:
                yield status, start, row.recorded_from
            status, start = row.status, row.recorded_from
        end = row.recorded_to
    if start is not None:
        yield status, start, end


@dataclass(frozen=True, slots=True, kw_only=True)
class Lives:
    """When several facts held, one under the other: each fact with its line, on one axis."""

    start: str
    end: str
    now: float
    rows: Sequence[tuple[Fact, Lane]]


def lives(facts: Sequence[Fact], *, at: datetime) -> Lives:
    """Return the drawing of facts (at least one) in the order in which they began; ``at`` is the present."""
    known = [time for fact in facts for time in (fact.valid_from, fact.valid_to) if time is not None]
    axis = _with_room([at, *known, *(fact.recorded_from for fact in facts if fact.valid_from is None)])
    ordered = sorted(facts, key=lambda fact: (fact.valid_from or axis.start, fact.pk))
    rows = [
        (
            fact,
            Lane(
                title=fact.statement,
                segments=[axis.segment(_part(fact.status), words(fact.status), fact.valid_from, fact.valid_to)],
                text=validity(fact.valid_from, fact.valid_to),
            ),
        )
        for fact in ordered
    ]
    return Lives(start=moment(axis.start), end=moment(axis.end), now=axis.at(at), rows=rows)


def _part(status: str) -> str:
    return _PARTS.get(Status(status), _GONE)
