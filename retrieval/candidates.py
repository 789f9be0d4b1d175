"""The queries of a context call: which rows come nearest, and what is known of them.

A search stays in its covering index (or reads its narrow table, where one scope is most of that), so that a plan that
was made without knowing the question is as good as any and can be kept (``facts.statements``). ``+ 0`` keeps any
approximate index out of the exact search.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from facts import textindex, vector_tables
from facts.embedding import Space
from facts.models import IndexedUnit
from facts.statements import id_array, rows
from retrieval.embedders.base import Vector
from retrieval.sources import audience as event_audience
from retrieval.text import keyed
from retrieval.text.lexical import any_of
from retrieval.visibility import Visibility

TEXT = {IndexedUnit.FACT: "facts_facttext", IndexedUnit.PASSAGE: "facts_passagetext"}
KEY = {IndexedUnit.FACT: "fact_id", IndexedUnit.PASSAGE: "passage_id"}
#: The passage next to ``s``, one way; where two claim that place, none.
_NEXT = (
    "SELECT q.id, {later} AS later FROM (SELECT p.id, row_number() OVER (ORDER BY p.occurred_at {way}, p.ordinal {way})"
    " AS place, count(*) OVER (PARTITION BY p.occurred_at, p.ordinal) AS claims FROM ("
    "SELECT p.id, p.occurred_at, p.ordinal FROM facts_passage p"
    " WHERE p.account_id = %(account)s AND p.scope_id = s.scope_id AND p.subject_id = s.subject_id"
    " AND (p.occurred_at, p.ordinal) {step} (s.occurred_at, s.ordinal) AND p.occurred_at {bound}= s.occurred_at {sign}"
    " %(silence)s::interval ORDER BY p.occurred_at {way}, p.ordinal {way} LIMIT 2) p) q"
    " WHERE q.place = 1 AND q.claims = 1"
)
_BEFORE = _NEXT.format(later="false", way="DESC", step="<", bound=">", sign="-")
_AFTER = _NEXT.format(later="true", way="ASC", step=">", bound="<", sign="+")
#: The revision of ``f`` that was open at ``known_at``.
_REVISION = (
    " JOIN facts_factrevision r ON r.account_id = f.account_id AND r.fact_id = f.id"
    " AND r.recorded_from <= %(known_at)s AND (r.recorded_to IS NULL OR r.recorded_to > %(known_at)s)"
)
#: Seconds are read many times faster than a written date; microseconds survive.
_EPOCH = "date_part('epoch', {})"
#: Room for lexemes in a statement grows by this many; an empty one costs nothing that could be measured.
SLOTS = 8


#: Facts that are compared when nothing is asked: of 20,000 in a scope, all took 180 ms and 2,000 take 65.
SALIENT_AMONG = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is searched for in one unit: weighted lexemes, and a vector of the space ``space``, if there is one.

    ``rows`` is about how many there are to search, 0 for an unknown, small number.
    """

    weights: Mapping[str, int] = field(default_factory=dict)
    vector: str | None = None
    space: Space | None = None
    rows: int = 0

    def parameters(self) -> dict[str, Any]:
        """Return what the queries refer to."""
        values = self.vector_parameters()
        if self.weights:
            lexemes: list[str | None] = [any_of([lexeme]) for lexeme in self.weights]
            weights = list(self.weights.values())
            empty = self._slots() - len(weights)
            values |= {f"lexeme{slot}": lexeme for slot, lexeme in enumerate(lexemes + [None] * empty)}
            values |= {f"weight{slot}": weight for slot, weight in enumerate(weights + [0] * empty)}
            values["weights"] = sum(weights)
        return values

    def vector_parameters(self) -> dict[str, Any]:
        """Return what a search by vector alone refers to."""
        return {"vector": self.vector, "space": self.space.id if self.space else None}

    def text_score(self, table: str) -> str:
        """Return the SQL expression of the weight that a row of ``table`` holds of the question, 0 to 1."""
        return _text_score(table, self._slots()) if self.weights else "0::float8"

    @property
    def size(self) -> str:
        """Return a comment that differs with the number of digits of ``rows``.

        A kept plan is made for the average of its uses. Where a table holds one large scope and a few small ones, that
        would be a scan of the whole table, for the small ones as well: scopes of different size share no plan.
        """
        return f"/* {len(str(self.rows))} */"

    def _slots(self) -> int:
        """Return for how many lexemes the statement has room: few numbers, so that few statements are prepared."""
        return -(-len(self.weights) // SLOTS) * SLOTS


@lru_cache
def _text_score(table: str, slots: int) -> str:
    held = " + ".join(
        f"CASE WHEN {table}.tsv @@ %(lexeme{slot})s::tsquery THEN %(weight{slot})s::int ELSE 0 END"
        for slot in range(slots)
    )
    return f"({held}) / %(weights)s::float8"


class FactRow(NamedTuple):
    """A candidate fact as packing and serving need it; ``similarity`` is 1 − cosine distance."""

    id: uuid.UUID
    version: int
    scope_id: uuid.UUID
    subject_id: uuid.UUID
    status: str
    withheld: str
    possibly_conflicting: bool
    statement: str
    predicate: str
    value: str | None
    qualifiers: str
    category: str
    kind: str
    form: str
    sensitivity: str
    confidence: float
    evidence_level: str
    origin_trust: str
    volatility: str
    similarity: float | None
    text_score: float
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_from: datetime
    last_reinforced_at: datetime | None


class PassageRow(NamedTuple):
    """A candidate passage as packing and serving need it."""

    id: uuid.UUID
    event_id: uuid.UUID
    scope_id: uuid.UUID
    subject_id: uuid.UUID
    channel_id: str
    thread: str
    withheld: str
    speaker: str
    text: str
    evidential: bool
    kind: str
    origin_trust: str
    similarity: float | None
    text_score: float
    occurred_at: datetime


def vector_literal(vector: Vector) -> str:
    """Return the vector as PostgreSQL reads it; half precision keeps four digits."""
    return "[" + ",".join([f"{number:.5g}" for number in vector.tolist()]) + "]"


def nearest(
    unit: IndexedUnit, question: Question, visible: Visibility, *, limit: int, among: Sequence[uuid.UUID] | None = None
) -> list[uuid.UUID]:
    """Return the ids of the visible rows nearest to the question's vector, nearest first.

    ``among`` replaces the test of being current by membership in these ids.
    """
    table, key = vector_tables.table(unit, question.space.dimensions), KEY[unit]
    return _ids(
        f"SELECT v.{key} FROM {table} v WHERE {_condition(visible, 'v', key, among)} AND v.space_id = %(space)s"
        f" ORDER BY (v.h <=> %(vector)s::halfvec) + 0, v.{key} LIMIT %(limit)s {question.size}",
        {**visible.parameters(), **question.vector_parameters(), "limit": limit, **_members(among)},
    )


def matching(
    unit: IndexedUnit,
    question: Question,
    visible: Visibility,
    *,
    match: Iterable[str],
    limit: int,
    among: Sequence[uuid.UUID] | None = None,
) -> list[uuid.UUID]:
    """Return the ids of the visible rows with any of the lexemes ``match``, best text score first.

    By the keys of the lexemes where that is possible, otherwise among all rows of the scopes. ``among`` replaces the
    test of being current by membership in these ids.
    """
    key, lexemes = KEY[unit], list(match)
    held = keyed.holding(
        unit,
        columns=f"SELECT t.{key}, {question.text_score('t')} AS score",
        condition=_condition(visible, "t", key, among),
        by_keys=among is None and keyed.applies(lexemes, visible),
    )
    return _ids(
        f"SELECT {key} FROM ({held}) x ORDER BY score DESC, {key} LIMIT %(limit)s {question.size}",
        {
            **visible.parameters(),
            **question.parameters(),
            **keyed.parameters(lexemes),
            "match": any_of(lexemes),
            "limit": limit,
            **_members(among),
        },
    )


def naming(
    names: Sequence[str],
    visible: Visibility,
    *,
    beside: Sequence[uuid.UUID],
    limit: int,
    among: Sequence[uuid.UUID] | None = None,
) -> list[tuple[str, uuid.UUID]]:
    """Return up to ``limit`` current facts for each name that has it in its text and is not in ``beside``.

    Equally good ones come by their words, which are in the index, so that ids decide of none that differ.
    ``among`` replaces the test of being current by membership in these ids.
    """
    parameters: dict[str, Any] = {
        **visible.parameters(),
        **_members(among),
        "beside": id_array(beside),
        "limit": limit,
    }
    parts = []
    for number, name in enumerate(names):
        parameters |= {f"name{number}": name, f"stem{number}": textindex.phrase(name)}
        stem = f"'english', %(stem{number})s::text"
        query, searched = f"plainto_tsquery({stem})", TEXT[IndexedUnit.FACT]
        if among is None:  # rows that hold all lexemes of the name are among those that hold any
            searched = keyed.rows(IndexedUnit.FACT, lexemes=f"tsvector_to_array(to_tsvector({stem}))")
        parts.append(
            f"(SELECT %(name{number})s::text AS name, t.fact_id, t.tsv, {number} AS hop,"
            f" ts_rank_cd(t.tsv, {query}) AS rank FROM {searched} t"
            f" WHERE {_condition(visible, 't', 'fact_id', among)} AND t.tsv @@ {query}"
            " AND NOT t.fact_id = ANY(%(beside)s::uuid[]) ORDER BY rank DESC, t.tsv, t.fact_id LIMIT %(limit)s)"
        )
    return rows(
        f"SELECT name, fact_id FROM ({' UNION ALL '.join(parts)}) x ORDER BY hop, rank DESC, tsv, fact_id", parameters
    )


def salient(visible: Visibility, *, limit: int, among: Sequence[uuid.UUID] | None = None) -> list[uuid.UUID]:
    """Return the current facts that say most without a question: confident, corroborated, recent.

    ``among`` replaces the test of being current by membership in these ids. Of more facts than
    :data:`SALIENT_AMONG` the newest are compared, which are found in the index alone.
    """
    parameters = {**visible.parameters(), "limit": limit, "newest": SALIENT_AMONG, **_members(among)}
    # Two statements: the ids go into the second one as a value, which is looked up by the primary key whatever the
    # planner knows of the tables. In one statement, fresh tables got a plan of a minute.
    found = rows(
        "SELECT array_agg(x.fact_id)::text FROM (SELECT t.fact_id FROM facts_facttext t"
        f" WHERE {_condition(visible, 't', 'fact_id', among)}"
        f" ORDER BY t.valid_from DESC NULLS FIRST, t.fact_id DESC{' LIMIT %(newest)s' if among is None else ''}) x",
        parameters,
    )
    if found[0][0] is None:
        return []
    current = " AND f.status IN ('active', 'provisional')" if among is None else ""
    return _ids(
        f"SELECT f.id FROM facts_fact f WHERE f.id = ANY(%(found)s::uuid[]){current}"
        " ORDER BY f.confidence * (1 + ln(1 + f.corroboration)) * exp(-least(700, greatest(0, extract(epoch FROM"
        " %(at)s - coalesce(f.valid_from, f.recorded_from))::float8 / 2592000))) DESC,"
        ' f.statement COLLATE "C", f.valid_from, f.id LIMIT %(limit)s',
        {**parameters, "found": found[0][0]},
    )


def fetch_facts(
    ids: Sequence[uuid.UUID],
    question: Question,
    visible: Visibility,
    *,
    current: bool,
    known_at: datetime | None = None,
) -> list[FactRow]:
    """Return the rows of ``ids`` that the reader may still see, with both scores for each of them.

    With ``known_at`` what changes of a fact is as it was believed then: what was learned later is not told.
    """
    condition = visible.current("t") if current else visible.allowed("t")
    b, revision = ("f", "") if known_at is None else ("r", _REVISION)
    found = rows(
        f"SELECT f.id, {b}.version, f.scope_id, f.subject_id, {b}.status, f.withheld, f.possibly_conflicting,"
        f" f.statement, f.predicate, {b}.value, {b}.qualifiers, f.category, f.kind, {b}.form, {b}.sensitivity,"
        f" {b}.confidence, f.evidence_level, f.origin_trust, {b}.volatility, {_scores(question)},"
        f" {_EPOCH.format(f'{b}.valid_from')}, {_EPOCH.format(f'{b}.valid_to')}, {_EPOCH.format('f.recorded_from')},"
        f" {_EPOCH.format(f'{b}.last_reinforced_at')}"
        f" FROM facts_facttext t JOIN facts_fact f ON f.id = t.fact_id{revision}"
        f" {_vector_join(question, 'fact')}"
        f" WHERE t.fact_id = ANY(%(ids)s::uuid[]) AND {condition}",
        {**visible.parameters(), **question.parameters(), "ids": id_array(ids), "known_at": known_at},
    )
    return [FactRow(*row[:-4], *map(_instant, row[-4:])) for row in found]


def fetch_passages(
    ids: Sequence[uuid.UUID], question: Question, visible: Visibility, *, known_at: datetime | None
) -> list[PassageRow]:
    """Return the passages of ``ids`` that the reader may still see, with both scores for each of them.

    ``known_at`` leaves out what was recorded later.
    """
    found = rows(
        f"SELECT {_passage_columns(question)} FROM facts_passagetext t {_passage_joins(question)}"
        f" WHERE t.passage_id = ANY(%(ids)s::uuid[]) AND {_known_passages(visible)}",
        {**visible.parameters(), **question.parameters(), "ids": id_array(ids), "known_at": known_at},
    )
    return [PassageRow(*row[:-1], _instant(row[-1])) for row in found]


def beside(
    ids: Sequence[uuid.UUID],
    question: Question,
    visible: Visibility,
    *,
    silence: timedelta,
    known_at: datetime | None,
) -> list[tuple[uuid.UUID, bool, PassageRow]]:
    """Return what was said right before and right after each passage of ``ids``, as :func:`fetch_passages` does.

    Each neighbour comes with the passage it stands beside, and whether it came later. It is of the same scope and
    subject, with at most ``silence`` between them. Where several passages have the same time and place in their
    messages, none of them is next to anything.
    """
    found = rows(
        f"SELECT {_passage_columns(question)}, s.id, n.later"
        f" FROM facts_passage s CROSS JOIN LATERAL (({_BEFORE}) UNION ALL ({_AFTER})) n"
        f" JOIN facts_passagetext t ON t.passage_id = n.id {_passage_joins(question)}"
        " WHERE s.account_id = %(account)s AND s.id = ANY(%(ids)s::uuid[])"
        f" AND {_known_passages(visible)}",
        {
            **visible.parameters(),
            **question.parameters(),
            "ids": id_array(ids),
            "known_at": known_at,
            "silence": silence,
        },
    )
    return [(row[-2], row[-1], PassageRow(*row[:-3], _instant(row[-3]))) for row in found]


class Source(NamedTuple):
    """What a fact was taken from: an event, and the passage of it, where that is known.

    ``readable`` tells whether the reader may read it, and so know of it.
    """

    event_id: uuid.UUID
    passage_id: uuid.UUID | None
    readable: bool


def sources(visible: Visibility, fact_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, tuple[uuid.UUID, ...]]:
    """Return the events in evidence of each fact that the reader may know of."""
    found = origins(visible, fact_ids)
    return {fact_id: tuple(known.event_id for known in listed if known.readable) for fact_id, listed in found.items()}


def origins(visible: Visibility, fact_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, tuple[Source, ...]]:
    """Return what is in evidence of each fact, in the order of the events.

    A visible fact may rest on what its reader may not see: somebody's private message, or an event of the scope it
    was promoted from. Whose facts are asked about does not narrow whose words may be read.
    """
    anybody = replace(visible, subject_id=None)
    found = rows(
        "SELECT ev.fact_id, ev.event_id, ev.passage_id, CASE WHEN ev.passage_id IS NULL"
        f" THEN EXISTS (SELECT FROM facts_event e, {event_audience('e', 'ea')}"
        f" WHERE e.id = ev.event_id AND {anybody.allowed('ea')})"
        " ELSE EXISTS (SELECT FROM facts_passagetext pt WHERE pt.passage_id = ev.passage_id"
        f" AND {anybody.allowed('pt')}) END"
        " FROM facts_evidence ev WHERE ev.account_id = %(account)s AND ev.fact_id = ANY(%(ids)s::uuid[])"
        " ORDER BY ev.fact_id, ev.event_id",
        {**anybody.parameters(), "ids": id_array(fact_ids)},
    )
    known: dict[uuid.UUID, list[Source]] = {}
    for fact_id, *source in found:
        known.setdefault(fact_id, []).append(Source(*source))
    return {fact_id: tuple(listed) for fact_id, listed in known.items()}


def anything_stored(visible: Visibility) -> bool:
    """Tell whether the reader may currently see any fact or passage of these scopes at all."""
    found = rows(
        f"SELECT EXISTS (SELECT FROM facts_facttext t WHERE {visible.current('t')})"
        f" OR EXISTS (SELECT FROM facts_passagetext t WHERE {visible.current('t')})",
        visible.parameters(),
    )
    return found[0][0]


def _condition(visible: Visibility, table: str, key: str, among: Sequence[uuid.UUID] | None) -> str:
    if among is None:
        return visible.current(table)
    return f"{visible.allowed(table)} AND {table}.{key} = ANY(%(among)s::uuid[])"


def _members(among: Sequence[uuid.UUID] | None) -> dict[str, str]:
    return {} if among is None else {"among": id_array(among)}


def _scores(question: Question) -> str:
    similarity = "1 - (v.h <=> %(vector)s::halfvec)" if question.vector else "NULL::float8"
    return f"{similarity}, {question.text_score('t')}"


def _passage_columns(question: Question) -> str:
    """Return the columns of a :class:`PassageRow` in their order."""
    return (
        "p.id, p.event_id, p.scope_id, p.subject_id, e.channel_id, e.thread, p.withheld, p.speaker_name, p.text,"
        f" p.evidential, e.kind, e.origin_trust, {_scores(question)}, {_EPOCH.format('p.occurred_at')}"
    )


def _passage_joins(question: Question) -> str:
    return (
        "JOIN facts_passage p ON p.id = t.passage_id JOIN facts_event e ON e.id = p.event_id"
        f" {_vector_join(question, 'passage')}"
    )


def _known_passages(visible: Visibility) -> str:
    recorded = "%(known_at)s::timestamptz IS NULL OR e.recorded_at <= %(known_at)s::timestamptz"
    return f"{visible.current('t')} AND ({recorded})"


def _vector_join(question: Question, unit: str) -> str:
    if not question.vector or question.space is None:
        return ""
    table = vector_tables.table(unit, question.space.dimensions)
    return f"LEFT JOIN {table} v ON v.{unit}_id = t.{unit}_id AND v.space_id = %(space)s"


def _ids(statement: str, parameters: Mapping[str, Any]) -> list[uuid.UUID]:
    return [row[0] for row in rows(statement, parameters)]


def _instant(seconds: float | None) -> datetime | None:
    """Return the instant; the database knows earlier and later ones than Python does, and those come as its bounds."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)
