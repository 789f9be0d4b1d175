"""The stable profile: the few lasting facts by which a reader is known, read from the ledger at every call.

There is no store behind it and no model, so that what ends, is forgotten or falls into a conflict is gone from it at
once. Only what the reader said of itself counts, and only in six categories.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson
from django.db import connection

from facts.freshness import Freshness, freshness, last_confirmed
from facts.models import IndexedUnit
from facts.models.evidence import Withheld
from facts.vocabulary import Category, EvidenceLevel, Form, Kind, Sensitivity, Status, Volatility
from retrieval import identity_text, sources
from retrieval.text import tokens
from retrieval.traces.reasons import MEANING, Action, Reason
from retrieval.traces.writing import Decision
from retrieval.visibility import Visibility

CONTRACT = "stable-identity-v1"

#: Bounds of a profile, from the system that it follows; characters are those of the statements.
MAX_ITEMS = 16
MAX_PER_CATEGORY = 4
MAX_CHARACTERS_EACH = 240
MAX_CHARACTERS = 1_600
#: Facts that are looked at, the newest first: a reader with more claims about its identity is none.
MAX_CONSIDERED = 200
#: Below this an extractor only infers (``ingest.extraction.providers.prompt`` and the rules grade alike).
LEAST_CONFIDENCE = 0.7

#: The predicates of each category, most telling first. Where somebody comes from is left out: it is a sensitive trait.
CATEGORIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "name": ("preferred_name", "name", "full_name", "nickname"),
        "pronouns": ("pronouns",),
        "occupation": ("occupation", "job_title", "employer"),
        "location": ("home_city", "lives_in", "location", "home_country"),
        "language": ("native_language", "speaks", "language"),
        "timezone": ("timezone", "time_zone"),
    }
)
#: What somebody wants to be called is their name, although it is a preference.
_NAMES_BY_CHOICE = frozenset({"preferred_name", "nickname"})
_CATEGORY_OF = {predicate: category for category, predicates in CATEGORIES.items() for predicate in predicates}
_PLACE_OF = {predicate: position for predicates in CATEGORIES.values() for position, predicate in enumerate(predicates)}


class Row(NamedTuple):
    """A current fact of the reader under one of the predicates; ``sources`` are the events it may be told of."""

    id: uuid.UUID
    version: int
    scope_id: uuid.UUID
    scope_path: str
    status: str
    withheld: str
    possibly_conflicting: bool
    statement: str
    predicate: str
    value: str
    qualifiers: str
    identity_key: str
    value_key: str
    category: str
    kind: str
    form: str
    denies: bool
    sensitivity: str
    confidence: float
    evidence_level: str
    volatility: str
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_from: datetime
    last_reinforced_at: datetime | None
    derived: bool
    sources: Sequence[uuid.UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileItem:
    """One line of a profile. Items of one ``conflict_group`` make the same claim with different values."""

    category: str
    predicate: str
    statement: str
    value: Mapping[str, Any]
    qualifiers: Mapping[str, Any]
    fact_id: uuid.UUID
    version: int
    scope: str
    confidence: float
    freshness: Freshness
    valid_from: datetime | None
    possibly_conflicting: bool
    source_event_ids: tuple[uuid.UUID, ...]
    conflict_group: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StableProfile:
    """A profile and how it came about.

    ``status`` is ``ready``, ``empty``, or ``unavailable`` where the call reads as nobody or as somebody else than
    it names. ``excluded`` counts what was left out, by class (:func:`_exclusion`). ``digest`` is equal exactly for
    the same items in the same order. ``decisions`` are those about facts of the reader's identity, for the trace.
    """

    status: str
    subject_id: uuid.UUID | None = None
    items: tuple[ProfileItem, ...] = ()
    considered: int = 0
    excluded: Mapping[str, int] = field(default_factory=dict)
    digest: str
    decisions: tuple[Decision, ...] = ()

    @property
    def characters(self) -> int:
        """Characters of the statements together."""
        return sum(len(item.statement) for item in self.items)


def unavailable() -> StableProfile:
    """Return the answer to a call that reads as nobody in particular."""
    return StableProfile(status="unavailable", digest=_digest(None, ()))


def stable_profile(visible: Visibility, *, past: bool = False, known_at: datetime | None = None) -> StableProfile:
    """Return the profile of the reader of ``visible``, inside the running account transaction.

    ``past`` asks for the facts that held at ``visible.at`` instead of the current ones, ``known_at`` for those that
    were believed then. Whatever subject ``visible`` is narrowed to, the profile is the reader's.
    """
    reader = visible.reader.subject_id
    if reader is None:
        return unavailable()
    own = replace(visible, subject_id=reader)
    among = own.past_facts(known_at=known_at) if past or known_at else None
    rows = _rows(own, among=among, known_at=known_at) if own.scope_ids else []
    excluded: Counter[str] = Counter(_others(own, among=among) if own.scope_ids else {})
    considered = len(rows) + excluded.total()
    eligible, disputed = [], set()
    for row in rows:
        reason = _exclusion(row, own, current=among is None)
        if reason is None:
            eligible.append(row)
        else:
            excluded[reason] += 1
            disputed |= {row.id} if reason == Withheld.CONFLICT else set()
    distinct = list(_distinct(eligible, own.scope_ids))
    excluded["duplicate"] += len(eligible) - sum(len(group) for group in distinct)
    taken = _within_bounds(distinct)
    excluded["over_limit"] += sum(len(group) for group in distinct) - sum(len(group) for group in taken)
    items = tuple(_item(row, own, group) for group in taken for row in group)
    return StableProfile(
        status="ready" if items else "empty",
        subject_id=reader,
        items=items,
        considered=considered,
        excluded=dict(sorted((+excluded).items())),
        digest=_digest(reader, items),
        decisions=_decisions(rows, items, disputed),
    )


def decided_with(decisions: Sequence[Decision], profile: StableProfile | None) -> list[Decision]:
    """Return the decisions of a read that tells a profile too: each fact once, as told when either tells it."""
    together = {(decision.unit, decision.id): decision for decision in decisions}
    for decision in profile.decisions if profile else ():
        known = together.setdefault((decision.unit, decision.id), decision)
        if decision.reason is Reason.STABLE_PROFILE and MEANING[known.reason][0] is not Action.INCLUDED:
            together[decision.unit, decision.id] = replace(known, reason=Reason.STABLE_PROFILE)
    return list(together.values())


def _rows(own: Visibility, *, among: Sequence[uuid.UUID] | None, known_at: datetime | None) -> list[Row]:
    """Return the facts of the reader that claim something about its identity."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT f.id, f.version, f.scope_id, sc.path, f.status, f.withheld, f.possibly_conflicting, f.statement,"
            " f.predicate, f.value::text, f.qualifiers::text, f.identity_key, f.value_key, f.category, f.kind, f.form,"
            " f.denies, f.sensitivity, f.confidence, f.evidence_level, f.volatility, f.valid_from, f.valid_to,"
            " f.recorded_from, f.last_reinforced_at,"
            " EXISTS (SELECT 1 FROM facts_relation r WHERE r.account_id = f.account_id AND r.source_id = f.id"
            "   AND r.kind = 'derived_from'),"
            " ARRAY(SELECT e.event_id FROM facts_evidence e JOIN facts_event ev ON ev.id = e.event_id"
            f"   CROSS JOIN {sources.audience('ev', 'a')}"
            "   WHERE e.account_id = f.account_id AND e.fact_id = f.id"
            f"   AND {sources.allowed(replace(own, subject_id=None), 'ev', 'a')} AND {sources.standing('ev')}"
            "   ORDER BY ev.occurred_at, e.event_id)"
            " FROM facts_facttext t JOIN facts_fact f ON f.id = t.fact_id JOIN facts_scope sc ON sc.id = f.scope_id"
            f" WHERE {_current(own, among)} AND f.predicate = ANY(%(predicates)s)"
            f" ORDER BY f.recorded_from DESC, f.id DESC LIMIT {MAX_CONSIDERED}",
            {**_parameters(own, among), "known_at": known_at},
        )
        return [Row(*row) for row in cursor.fetchall()]


def _others(own: Visibility, *, among: Sequence[uuid.UUID] | None) -> dict[str, int]:
    """Return how many other facts of the reader are none of its identity, by class; never what they say.

    A reader sees all that is about itself, so there is no audience to look up in the index: at 10,000 facts the look at
    their rows alone takes a tenth of the time.
    """
    current = f"f.status IN ('active', 'provisional') AND {own.window('f')}"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT CASE WHEN f.kind IN ('preference', 'instruction') THEN 'preference'"
            " WHEN f.kind IN ('skill', 'event') OR f.form = 'event' OR f.category <> 'general' THEN 'behavioural'"
            " WHEN f.volatility IN ('volatile', 'ephemeral') THEN 'transient'"
            " WHEN f.evidence_level <> 'direct' THEN 'inferred'"
            " ELSE 'not_identity' END AS class, count(*) FROM facts_fact f"
            " WHERE f.account_id = %(account)s AND f.scope_id = ANY(%(scopes)s) AND f.subject_id = %(subject)s"
            f" AND {current if among is None else 'f.id = ANY(%(among)s)'}"
            " AND NOT f.predicate = ANY(%(predicates)s) GROUP BY 1",
            _parameters(own, among),
        )
        return dict(cursor.fetchall())


def _current(own: Visibility, among: Sequence[uuid.UUID] | None) -> str:
    return own.current("t") if among is None else f"{own.allowed('t')} AND t.fact_id = ANY(%(among)s)"


def _parameters(own: Visibility, among: Sequence[uuid.UUID] | None) -> dict[str, Any]:
    return {**own.parameters(), "among": among, "predicates": list(_CATEGORY_OF)}


def _exclusion(row: Row, own: Visibility, *, current: bool) -> str | None:
    """Return the class for which a fact is left out, or ``None``: the first that applies, the strongest first."""
    named = _CATEGORY_OF[row.predicate] == "name"
    told = row.statement.replace(_text_of(row.value), " ") if named else row.statement
    checks = (
        (Withheld.CONFLICT.value, row.withheld == Withheld.CONFLICT),
        ("not_active", current and row.status != Status.ACTIVE),
        ("inferred", row.evidence_level != EvidenceLevel.DIRECT or row.derived),
        ("inferred", row.confidence < LEAST_CONFIDENCE or identity_text.is_supposed(told)),
        ("unsourced", not row.sources),
        ("sensitive_trait", row.sensitivity == Sensitivity.RESTRICTED or identity_text.is_sensitive(told)),
        ("behavioural", row.form == Form.EVENT or row.category != Category.GENERAL),
        ("preference", _is_preference(row)),
        ("transient", row.volatility in {Volatility.VOLATILE, Volatility.EPHEMERAL}),
        ("transient", (current and row.valid_to is not None) or identity_text.is_passing(told)),
        ("denial", row.denies),
        ("too_long", len(row.statement) > MAX_CHARACTERS_EACH),
    )
    return next((reason for reason, applies in checks if applies), None)


def _is_preference(row: Row) -> bool:
    return row.kind in {Kind.PREFERENCE, Kind.INSTRUCTION} and row.predicate not in _NAMES_BY_CHOICE


def _text_of(value: str) -> str:
    """Return the words of a value: a name may be spelled like something that it does not mean."""
    held = orjson.loads(value).get("value")
    return held if isinstance(held, str) and held else "\0"


def _distinct(rows: Sequence[Row], scope_ids: Sequence[uuid.UUID]) -> Iterator[list[Row]]:
    """Yield the facts of each claim, each value once: the nearest scope first, then the newest."""
    groups: dict[str, dict[str, Row]] = {}
    nearness = {scope_id: position for position, scope_id in enumerate(scope_ids)}

    def order(row: Row) -> tuple[Any, ...]:
        started = row.valid_from or row.recorded_from
        return nearness[row.scope_id], -started.timestamp(), -row.confidence, row.statement

    for row in sorted(rows, key=order):
        groups.setdefault(row.identity_key, {}).setdefault(row.value_key, row)
    for group in groups.values():
        yield list(group.values())


def _within_bounds(groups: Sequence[list[Row]]) -> list[list[Row]]:
    """Return the groups that fit, one of each category in turn, so that no category crowds out another.

    A group is taken whole or not at all: one side of a contradiction alone would pass for the truth.
    """
    waiting: dict[str, list[list[Row]]] = {category: [] for category in CATEGORIES}
    for group in sorted(groups, key=lambda group: _PLACE_OF[group[0].predicate]):
        waiting[_CATEGORY_OF[group[0].predicate]].append(group)
    taken: dict[str, list[list[Row]]] = {category: [] for category in CATEGORIES}
    items = characters = 0
    for turn in range(max(len(queue) for queue in waiting.values())):
        for category, queue in waiting.items():
            if turn >= len(queue):
                continue
            group = queue[turn]
            size = sum(len(row.statement) for row in group)
            of_category = sum(len(each) for each in taken[category]) + len(group)
            if of_category > MAX_PER_CATEGORY or items + len(group) > MAX_ITEMS or characters + size > MAX_CHARACTERS:
                continue
            taken[category].append(group)
            items, characters = items + len(group), characters + size
    return [group for category in CATEGORIES for group in taken[category]]


def _item(row: Row, own: Visibility, group: Sequence[Row]) -> ProfileItem:
    confirmed = last_confirmed(
        last_reinforced_at=row.last_reinforced_at, valid_from=row.valid_from, recorded_from=row.recorded_from
    )
    return ProfileItem(
        category=_CATEGORY_OF[row.predicate],
        predicate=row.predicate,
        statement=row.statement,
        value=orjson.loads(row.value),
        qualifiers=orjson.loads(row.qualifiers),
        fact_id=row.id,
        version=row.version,
        scope=row.scope_path,
        confidence=round(row.confidence, 4),
        freshness=freshness(volatility=row.volatility, confirmed_at=confirmed, at=own.at),
        valid_from=row.valid_from,
        possibly_conflicting=row.possibly_conflicting,
        source_event_ids=tuple(row.sources),
        conflict_group=row.identity_key[:12] if len(group) > 1 else None,
    )


def _decisions(
    rows: Sequence[Row], items: Sequence[ProfileItem], disputed: Container[uuid.UUID]
) -> tuple[Decision, ...]:
    """Return what happened to each fact about the reader's identity, in the order of the profile."""
    ranks = {item.fact_id: rank for rank, item in enumerate(items, start=1)}

    def reason(row: Row) -> Reason:
        if row.id in ranks:
            return Reason.STABLE_PROFILE
        return Reason.CONFLICT_OPEN if row.id in disputed else Reason.NOT_STABLE_PROFILE

    return tuple(
        Decision(
            unit=IndexedUnit.FACT,
            id=row.id,
            reason=reason(row),
            revision=row.version,
            rank=ranks.get(row.id),
            tokens=tokens.estimate(row.statement),
        )
        for row in sorted(rows, key=lambda row: ranks.get(row.id, len(rows)))
    )


def _digest(subject_id: uuid.UUID | None, items: Sequence[ProfileItem]) -> str:
    listed = [[item.fact_id, item.version, item.conflict_group, list(item.source_event_ids)] for item in items]
    return hashlib.sha256(orjson.dumps([CONTRACT, subject_id, listed])).hexdigest()
