"""Which facts a card may rest on: those that everybody it may be served to can see, and that need no remark.

What is stale, unconfirmed, contested or possibly in conflict with something needs a remark that a card has no room
for, and is served as a fact. Restricted facts are copied into no card, also not into that of their own subject.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from facts.audience import Posture, Reader
from facts.freshness import HORIZON_DAYS
from facts.vocabulary import Category, Kind, Sensitivity, Status, Volatility
from retrieval.context.serving import INDIRECT_FACTOR
from retrieval.models import CardKind
from retrieval.visibility import Visibility

#: Facts fetched for a card, in each of the two orders: a few times of what its characters can hold.
FETCHED = 48
#: Longest line, its dates included. A statement that needs more is left to be served as a fact.
LINE_CHARACTERS = 180
#: Facts looked at for a compaction, those learned last, and the longest statement among them: a model says it shorter.
LATEST = 50
LATEST_CHARACTERS = 1_000
#: A peer whom no fact is about: sees what every peer that reads a scope sees.
_ANY_PEER = Reader(posture=Posture.PEER, subject_id=uuid.UUID(int=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class CardPlace:
    """What card it is: its kind, the scope it is in, the subject that it is for (if any), and its key."""

    account_id: uuid.UUID
    kind: str
    scope_id: uuid.UUID
    subject_id: uuid.UUID | None = None
    key: str = ""


class Source(NamedTuple):
    """A fact that a card may rest on.

    ``weight`` is what speaks for it at any time, ``salience`` what speaks for it now; ``lasting``: a state that
    changes slowly or not at all. ``changes_at`` is the instant from which time alone keeps it out of cards.
    """

    id: uuid.UUID
    statement: str
    sensitivity: str
    valid_from: datetime | None
    valid_to: datetime | None
    lasting: bool
    weight: float
    salience: float
    changes_at: datetime | None
    category: str = Category.GENERAL
    kind: str = Kind.ATTRIBUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best sources of a card, and of how many they are the best."""

    sources: list[Source]
    total: int


def find(place: CardPlace, *, at: datetime, among: Sequence[uuid.UUID] | None = None) -> Found:
    """Return what the card may say at ``at``, in no order; ``among`` narrows to these facts."""
    rows = _eligible(
        place,
        at=at,
        among=among,
        ranks=(
            "row_number() OVER (ORDER BY lasting DESC, weight DESC, statement) AS by_weight,"
            " row_number() OVER (ORDER BY salience DESC, statement) AS by_salience"
        ),
        which="WHERE by_weight <= %(fetched)s OR by_salience <= %(fetched)s",
        longest=LINE_CHARACTERS,
    )
    return Found(sources=[Source(*row[:-1]) for row in rows], total=rows[0][-1] if rows else 0)


def latest(place: CardPlace, *, at: datetime, most: int = LATEST) -> Found:
    """Return the facts learned last of those that the card may rest on at ``at``, the youngest first.

    Longer statements are among them than a line can quote.
    """
    rows = _eligible(
        place,
        at=at,
        among=None,
        ranks="row_number() OVER (ORDER BY recorded_from DESC, id DESC) AS by_age",
        which="WHERE by_age <= %(fetched)s ORDER BY by_age",
        longest=LATEST_CHARACTERS,
        fetched=most,
    )
    return Found(sources=[Source(*row[:-1]) for row in rows], total=rows[0][-1] if rows else 0)


def usable(place: CardPlace, fact_ids: Collection[uuid.UUID], *, at: datetime) -> dict[uuid.UUID, Source]:
    """Return those of these facts on which the card may rest at ``at``, by id."""
    if not fact_ids:
        return {}
    rows = _eligible(place, at=at, among=sorted(fact_ids), ranks="1 AS one", which="", longest=LATEST_CHARACTERS)
    return {row[0]: Source(*row[:-1]) for row in rows}


def _eligible(
    place: CardPlace,
    *,
    at: datetime,
    among: Sequence[uuid.UUID] | None,
    ranks: str,
    which: str,
    longest: int,
    fetched: int = FETCHED,
) -> list[tuple[Any, ...]]:
    """Return the columns of a :class:`Source`, and how many there are in all, of those that ``ranks`` chooses."""
    visible = audience_of(place, at=at)
    chosen = " AND f.id = ANY(%(among)s)" if among is not None else ""
    in_thread = _IN_THREAD if place.kind == CardKind.SESSION_SUMMARY else ""
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH eligible AS (SELECT f.id, f.statement, f.sensitivity, f.valid_from, f.valid_to,"
            f" (f.form = 'state' AND f.volatility IN ('stable', 'slow')) AS lasting, {_WEIGHT} AS weight,"
            f" {_WEIGHT} * {_RECENCY} AS salience, least(t.expires_at, t.valid_to, {_HORIZON}) AS changes_at,"
            f" f.category, f.kind, f.recorded_from FROM facts_facttext t JOIN facts_fact f ON f.id = t.fact_id"
            f" WHERE {visible.current('t')} AND {_UNREMARKABLE}{in_thread}{chosen}),"
            f" placed AS (SELECT *, count(*) OVER () AS total, {ranks} FROM eligible)"
            f" SELECT id, statement, sensitivity, {_within_reach('valid_from')}, {_within_reach('valid_to')}, lasting,"
            f" weight, salience, {_within_reach('changes_at')}, category, kind, total FROM placed {which}",
            {
                **visible.parameters(),
                "served": [Status.ACTIVE, Status.PROVISIONAL],
                "restricted": Sensitivity.RESTRICTED,
                "thread": place.key,
                "among": list(among) if among is not None else None,
                "fetched": fetched,
                "longest": longest,
            },
        )
        return cursor.fetchall()


def next_start(place: CardPlace, *, at: datetime) -> datetime | None:
    """Return when the next fact begins to hold that the card may then rest on."""
    visible = audience_of(place, at=at)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_within_reach('min(t.valid_from)')} FROM facts_facttext t"
            f" WHERE {visible.allowed('t')} AND t.active AND t.valid_from > %(at)s",
            visible.parameters(),
        )
        return cursor.fetchone()[0]


def audience_of(place: CardPlace, *, at: datetime) -> Visibility:
    """Return what everybody may see to whom the card may be served: its subject, or any peer that reads the scope."""
    reader = Reader(posture=Posture.PEER, subject_id=place.subject_id) if place.subject_id else _ANY_PEER
    about = {CardKind.SUBJECT_PROFILE: place.subject_id, CardKind.SHARED_PROFILE: _id(place.key)}
    return Visibility(
        account_id=place.account_id,
        scope_ids=(place.scope_id,),
        subject_id=about.get(place.kind),
        reader=reader,
        at=at,
        now=at,
    )


def _id(key: str) -> uuid.UUID | None:
    """Return the id that the key of a shared profile is; ``None`` for keys of other kinds."""
    try:
        return uuid.UUID(key)
    except ValueError:
        return None


def _within_reach(instant: str) -> str:
    """Return the SQL expression ``instant``, null where it is earlier or later than Python's instants."""
    return f"CASE WHEN {instant} >= '0001-01-02' AND {instant} < '9999-12-31' THEN {instant} END"


def _horizon() -> str:
    """Return the SQL expression of the instant at which a fact stops being fresh, null for one that never does."""
    days = " ".join(
        f"WHEN '{volatility}' THEN interval '{HORIZON_DAYS[volatility]} days'"
        for volatility in Volatility.values
        if HORIZON_DAYS[volatility] is not None
    )
    return f"coalesce(f.last_reinforced_at, f.valid_from, f.recorded_from) + CASE f.volatility {days} END"


_HORIZON = _horizon()
_UNREMARKABLE = (
    "f.status = ANY(%(served)s) AND f.withheld = '' AND NOT f.possibly_conflicting AND f.sensitivity <> %(restricted)s"
    f" AND length(f.statement) <= %(longest)s AND ({_HORIZON} >= %(at)s) IS NOT FALSE"
)
_WEIGHT = (
    f"f.confidence * CASE f.evidence_level WHEN 'indirect' THEN {INDIRECT_FACTOR} ELSE 1 END"
    " * (1 + ln(1 + f.corroboration))"
)
_RECENCY = (
    "exp(-least(700, greatest(0,"
    " extract(epoch FROM %(at)s - coalesce(f.valid_from, f.recorded_from))::float8 / 2592000)))"
)
_IN_THREAD = (
    " AND f.id IN (SELECT e.fact_id FROM facts_event v JOIN facts_evidence e"
    " ON e.account_id = v.account_id AND e.event_id = v.id"
    " WHERE v.account_id = %(account)s AND v.thread = %(thread)s AND v.withdrawn_at IS NULL)"
)
