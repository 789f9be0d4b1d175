"""The queries of a lineage: what facts, passages and events rest on, each reference with what the reader may know.

Status is decided inside the query, from who may see a thing first: of what the reader may not see, nothing more is
said, not even whether it is still there. Ids of hidden things never leave this module.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection

from facts.freshness import HORIZON_DAYS
from facts.vocabulary import RelationKind, Volatility
from retrieval import sources
from retrieval.visibility import Visibility


class NodeType(StrEnum):
    """What a lineage connects."""

    FACT = "fact"
    PASSAGE = "passage"
    EVENT = "event"


class ReferenceStatus(StrEnum):
    """What the reader may know of what a node refers to. Only what is visible has an id."""

    VISIBLE = "visible"
    MISSING = "missing"
    LIFECYCLE_HIDDEN = "lifecycle_hidden"
    AUTHORIZATION_HIDDEN = "authorization_hidden"


class NodeKey(NamedTuple):
    """What a node is known by."""

    type: NodeType
    id: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One thing that a node refers to. ``relation`` and ``key`` are ``None`` unless it is visible."""

    status: ReferenceStatus
    relation: str | None = None
    key: NodeKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """The first references of a node, visible ones first, the number of all of them, and how the node came about."""

    listed: tuple[Reference, ...] = ()
    total: int = 0
    operation: str = ""


#: Relations that a fact is the source of and rests on, or stands against.
_OUTWARD = [
    RelationKind.DERIVED_FROM,
    RelationKind.PROMOTED_FROM,
    RelationKind.SUPERSEDES,
    RelationKind.CONTRADICTS,
]
#: Relations that a fact is the target of and that bear on it.
_INWARD = [RelationKind.SUPPORTS, RelationKind.CONTRADICTS]

EVIDENCE = "evidence"
SLICE_OF = "slice_of"
CITED_BY = "cited_by"
#: The order of references of one node, most telling first.
_ORDER = [RelationKind.DERIVED_FROM, RelationKind.PROMOTED_FROM, EVIDENCE, SLICE_OF, CITED_BY]

#: How a node came about, by what it refers to: the first that applies.
_OPERATIONS = (
    (f"relation = '{RelationKind.DERIVED_FROM}'", "derived"),
    (f"relation = '{RelationKind.PROMOTED_FROM}'", "promoted"),
    (f"relation = '{RelationKind.SUPERSEDES}'", "superseding"),
    ("entered", "entered"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What the reader may see, and of which time: ``past`` asks for facts that held at ``visible.at``."""

    visible: Visibility
    past: bool = False
    known_at: datetime | None = None

    def parameters(self) -> dict[str, Any]:
        """Return what every condition refers to."""
        return {**self.visible.held_parameters(known_at=self.known_at), "outward": _OUTWARD, "inward": _INWARD}

    def fact(self) -> str:
        """Return the status of the fact ``f`` with its index row ``t``."""
        held = self.visible.held(known_at=self.known_at)
        there = held if self.past else f"{self.visible.current('t')} AND f.status IN ('active', 'provisional')"
        return (
            f"CASE WHEN t.fact_id IS NULL THEN 'missing'"
            f" WHEN NOT ({self.visible.allowed('t')}) THEN 'authorization_hidden'"
            f" WHEN f.status = 'deleted' THEN 'missing'"
            f" WHEN NOT ({there} AND f.withheld = '' AND {_fresh('f')}) THEN 'lifecycle_hidden'"
            f" ELSE 'visible' END"
        )

    def passage(self) -> str:
        """Return the status of the passage ``p`` with its index row ``pt`` and its event ``ev``."""
        return (
            f"CASE WHEN pt.passage_id IS NULL THEN 'missing'"
            f" WHEN NOT ({self.visible.allowed('pt')}) THEN 'authorization_hidden'"
            f" WHEN NOT (pt.active AND p.withheld = '' AND {sources.said('ev')}) THEN 'lifecycle_hidden'"
            f" ELSE 'visible' END"
        )

    def event(self) -> str:
        """Return the status of the event ``ev`` with its audience ``a``."""
        return (
            f"CASE WHEN NOT {sources.allowed(self.visible, 'ev', 'a')} THEN 'authorization_hidden'"
            f" WHEN NOT {sources.standing('ev')} THEN 'lifecycle_hidden' ELSE 'visible' END"
        )


def status_of(key: NodeKey, sight: Sight) -> ReferenceStatus:
    """Return what the reader may know of one thing; what is in no account of the caller's is missing."""
    row = _one(
        {
            NodeType.FACT: f"SELECT {sight.fact()} FROM facts_fact f LEFT JOIN facts_facttext t ON t.fact_id = f.id"
            " WHERE f.account_id = %(account)s AND f.id = %(id)s",
            NodeType.PASSAGE: f"SELECT {sight.passage()} FROM facts_passage p JOIN facts_event ev ON ev.id = p.event_id"
            " LEFT JOIN facts_passagetext pt ON pt.passage_id = p.id"
            " WHERE p.account_id = %(account)s AND p.id = %(id)s",
            NodeType.EVENT: f"SELECT {sight.event()} FROM facts_event ev CROSS JOIN {sources.audience('ev', 'a')}"
            " WHERE ev.account_id = %(account)s AND ev.id = %(id)s",
        }[key.type],
        {**sight.parameters(), "id": key.id},
    )
    return ReferenceStatus(row[0]) if row else ReferenceStatus.MISSING


def references(keys: Sequence[NodeKey], sight: Sight, *, fan_out: int) -> dict[NodeKey, References]:
    """Return what each of the nodes rests on, at most ``fan_out`` references each, in one query."""
    edges = " UNION ALL ".join((_evidence(sight), _relations(sight), _slices(sight)))
    named = {f"{kind}s": [key.id for key in keys if key.type is kind] for kind in (NodeType.FACT, NodeType.PASSAGE)}
    return _read(edges, {**sight.parameters(), **named, "fan_out": fan_out})


def cited_by(key: NodeKey, sight: Sight, *, fan_out: int) -> References:
    """Return the facts that cite an event or a passage, at most ``fan_out`` of them."""
    column = "passage_id" if key.type is NodeType.PASSAGE else "event_id"
    edges = (
        f"SELECT '{key.type}' AS node_type, e.{column} AS node, '{CITED_BY}' AS relation, 'fact' AS type, f.id,"
        f" {sight.fact()} AS status, f.recorded_from AS moment, false AS entered"
        " FROM facts_evidence e JOIN facts_fact f ON f.id = e.fact_id LEFT JOIN facts_facttext t ON t.fact_id = f.id"
        f" WHERE e.account_id = %(account)s AND e.{column} = %(id)s"
    )
    found = _read(edges, {**sight.parameters(), "id": key.id, "fan_out": fan_out})
    return found.get(key, References())


def _evidence(sight: Sight) -> str:
    """Facts rest on the passages they quote, or on the event where the passage is gone."""
    return (
        f"SELECT 'fact' AS node_type, e.fact_id AS node, '{EVIDENCE}' AS relation,"
        " CASE WHEN e.passage_id IS NULL THEN 'event' ELSE 'passage' END AS type,"
        " coalesce(e.passage_id, e.event_id) AS id,"
        f" CASE WHEN e.passage_id IS NULL THEN {sight.event()} ELSE {sight.passage()} END AS status,"
        " ev.occurred_at AS moment, ev.source_type = 'admin_input' AS entered"
        f" FROM facts_evidence e JOIN facts_event ev ON ev.id = e.event_id CROSS JOIN {sources.audience('ev', 'a')}"
        " LEFT JOIN facts_passage p ON p.id = e.passage_id LEFT JOIN facts_passagetext pt ON pt.passage_id = p.id"
        " WHERE e.account_id = %(account)s AND e.fact_id = ANY(%(facts)s)"
    )


def _relations(sight: Sight) -> str:
    """Facts rest on, replace or stand against other facts."""
    return (
        f"SELECT 'fact', x.node, x.kind, 'fact', x.other, {sight.fact()}, f.recorded_from, false FROM ("
        " SELECT source_id AS node, kind, target_id AS other FROM facts_relation"
        " WHERE account_id = %(account)s AND source_id = ANY(%(facts)s) AND kind = ANY(%(outward)s)"
        " UNION SELECT target_id, kind, source_id FROM facts_relation"
        " WHERE account_id = %(account)s AND target_id = ANY(%(facts)s) AND kind = ANY(%(inward)s)) x"
        " LEFT JOIN facts_fact f ON f.id = x.other AND f.account_id = %(account)s"
        " LEFT JOIN facts_facttext t ON t.fact_id = f.id"
    )


def _slices(sight: Sight) -> str:
    """Passages are slices of their event."""
    return (
        f"SELECT 'passage', sp.id, '{SLICE_OF}', 'event', ev.id, {sight.event()}, ev.occurred_at, false"
        " FROM facts_passage sp JOIN facts_event ev ON ev.id = sp.event_id"
        f" CROSS JOIN {sources.audience('ev', 'a')}"
        " WHERE sp.account_id = %(account)s AND sp.id = ANY(%(passages)s)"
    )


def _read(edges: str, parameters: dict[str, Any]) -> dict[NodeKey, References]:
    operation = " ".join(
        f"WHEN bool_or({condition}) OVER (PARTITION BY node) THEN '{name}'" for condition, name in _OPERATIONS
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT node_type, node, relation, type, id, status, total, operation FROM ("
            " SELECT edges.*, count(*) OVER (PARTITION BY node) AS total,"
            f" CASE {operation} ELSE '' END AS operation,"
            " row_number() OVER (PARTITION BY node ORDER BY array_position(%(statuses)s::text[], status),"
            " coalesce(array_position(%(order)s::text[], relation), 99), relation, moment, id) AS position"
            f" FROM ({edges}) edges) ranked WHERE position <= %(fan_out)s ORDER BY node, position",
            {**parameters, "order": _ORDER, "statuses": list(ReferenceStatus)},
        )
        rows = cursor.fetchall()
    listed: dict[NodeKey, list[Reference]] = {}
    totals: dict[NodeKey, tuple[int, str]] = {}
    for node_type, node, relation, kind, found, status, total, how in rows:
        key = NodeKey(NodeType(node_type), node)
        visible = status == ReferenceStatus.VISIBLE
        listed.setdefault(key, []).append(
            Reference(
                status=ReferenceStatus(status),
                relation=relation if visible else None,
                key=NodeKey(NodeType(kind), found) if visible else None,
            )
        )
        totals[key] = (total, how)
    return {
        key: References(listed=tuple(listed[key]), total=total, operation=how) for key, (total, how) in totals.items()
    }


def _fresh(fact: str) -> str:
    """Return the condition that ageing keeps the fact from nobody (``facts.freshness``)."""
    if settings.SERVE_STALE_FACTS:
        return "true"
    confirmed = f"coalesce({fact}.last_reinforced_at, {fact}.valid_from, {fact}.recorded_from)"
    ageing = " ".join(
        f"WHEN '{name}' THEN %(at)s - {confirmed} <= interval '{days} days'"
        for name, days in HORIZON_DAYS.items()
        if days is not None and name != Volatility.SLOW
    )
    return f"(CASE {fact}.volatility {ageing} ELSE true END)"


def _one(statement: str, parameters: dict[str, Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()
