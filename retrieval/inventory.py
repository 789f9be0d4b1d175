"""What there is: the scopes that a caller reads as projects, and facts with what they are about and rest on as a graph.

Counted and shown is what the reader may see now, and nothing else.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max
from django.db.models.functions import Coalesce

from facts.audience import Reader
from facts.models import Fact, Relation, Scope
from facts.models.evidence import Withheld
from facts.vocabulary import Status
from governance.access import Principal
from retrieval import candidates
from retrieval.traces import selectors
from retrieval.visibility import of_reader

#: Facts of one graph unless asked otherwise, and at most; events of one fact.
GRAPH_FACTS = 100
MAX_GRAPH_FACTS = 500
GRAPH_EVENTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A scope with the facts in it that hold and may be seen, and how many subjects those are about."""

    path: str
    active_facts: int
    subjects: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSubject:
    """A subject with the number of facts about it that hold and may be seen, and when the newest was last stated."""

    id: uuid.UUID
    kind: str
    key: str
    name: str
    facts: int
    last_seen: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Facts, the events behind each, the relations among them, and whether there were more facts than fitted."""

    facts: tuple[Fact, ...]
    events: dict[uuid.UUID, tuple[uuid.UUID, ...]]
    relations: tuple[Relation, ...]
    truncated: bool


def projects(principal: Principal, reader: Reader, scopes: Sequence[Scope]) -> list[Project]:
    """Return the scopes with their figures, in order of their paths; two queries at most."""
    rows = (
        _current(principal, reader, scopes)
        .order_by()
        .values("scope_id")
        .annotate(facts=Count("pk"), subjects=Count("subject_id", distinct=True))
    )
    figures: dict[uuid.UUID, dict[str, Any]] = {row["scope_id"]: row for row in rows}
    nothing = {"facts": 0, "subjects": 0}
    return [
        Project(path=scope.path, active_facts=found["facts"], subjects=found["subjects"])
        for scope in sorted(scopes, key=lambda scope: scope.path)
        for found in [figures.get(scope.pk, nothing)]
    ]


def subjects(
    principal: Principal,
    reader: Reader,
    scopes: Sequence[Scope],
    *,
    after: str = "",
    only: uuid.UUID | None = None,
    limit: int,
) -> list[KnownSubject]:
    """Return whom and what the current facts that may be seen are about, in the order of their keys; one query."""
    current = _current(principal, reader, scopes)
    rows = (
        (current.filter(subject__key__gt=after) if only is None else current.filter(subject_id=only))
        .order_by()
        .values("subject_id", "subject__kind", "subject__key", "subject__name")
        .annotate(facts=Count("pk"), last_seen=Max(Coalesce("last_reinforced_at", "valid_from", "recorded_from")))
        .order_by("subject__key", "subject__kind")
    )
    return [
        KnownSubject(
            id=row["subject_id"],
            kind=row["subject__kind"],
            key=row["subject__key"],
            name=row["subject__name"],
            facts=row["facts"],
            last_seen=row["last_seen"],
        )
        for row in rows[:limit]
    ]


def graph(
    principal: Principal, reader: Reader, scopes: Sequence[Scope], *, subject_id: uuid.UUID | None, limit: int
) -> Graph:
    """Return the newest facts that hold or were superseded, with what they rest on; four queries."""
    found = selectors.facts(principal, reader, scopes=scopes).filter(
        status__in=[Status.ACTIVE, Status.SUPERSEDED], withheld=Withheld.NOTHING
    )
    if subject_id is not None:
        found = found.filter(subject_id=subject_id)
    rows = list(found[: limit + 1])
    shown = rows[:limit]
    ids = [fact.pk for fact in shown]
    visible = of_reader(reader, scopes, account_id=principal.account_id)
    events = candidates.sources(visible, ids) if ids else {}
    relations = Relation.objects.filter(account_id=principal.account_id, source__in=ids, target__in=ids)
    return Graph(
        facts=tuple(shown),
        events={fact_id: listed[:GRAPH_EVENTS] for fact_id, listed in events.items()},
        relations=tuple(relations.order_by("created_at", "pk")),
        truncated=len(rows) > limit,
    )


def _current(principal: Principal, reader: Reader, scopes: Sequence[Scope]) -> Any:
    return selectors.facts(principal, reader, scopes=scopes).filter(status=Status.ACTIVE, withheld=Withheld.NOTHING)
