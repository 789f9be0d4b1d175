"""What a fact rests on and what rests on it, as a small drawing: bounded, with a list that says the same in words.

What it rests on stands on its left, what came of it on its right. What the person may not list is a node without a
name, of which not even the relation is told; the walk does not go through it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Q

from facts.models import Event, Evidence, Fact, Relation
from facts.vocabulary import RelationKind
from memory_site.admin_pages.fact_display import words
from memory_site.admin_pages.sight import Sight

#: Steps from the fact, neighbours of one node, nodes in all, and relations read at one step.
STEPS, FAN_OUT, NODES, READ = 2, 8, 24, 200
#: The drawing, in its own units: a node, and the distance of two of them.
_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 118, 30, 168, 42, 10

#: How a relation is said from its source; and from its target.
_SAID = {
    RelationKind.SUPPORTS: ("supports", "supported by"),
    RelationKind.CONTRADICTS: ("contradicts", "contradicted by"),
    RelationKind.DERIVED_FROM: ("derived from", "led to"),
    RelationKind.SUPERSEDES: ("replaced", "replaced by"),
    RelationKind.PROMOTED_FROM: ("copied from", "copied as"),
}


@dataclass(slots=True)
class Node:
    """One thing of the drawing. ``fact`` or ``event`` is set where it may be listed; ``column``: 0 is the fact itself,
    below 0 what it rests on. ``said``: the relation to the node that it was reached from, whose number is ``of``."""

    number: int
    column: int
    fact: Fact | None = None
    event: Event | None = None
    said: str = ""
    of: int | None = None
    x: int = 0
    y: int = 0

    @property
    def label(self) -> str:
        """What is written into the drawing: never stored text, which the list beneath shows."""
        if self.fact is not None:
            return f"{self.number} · {words(self.fact.status)}"
        if self.event is not None:
            return f"{self.number} · said {self.event.occurred_at:%Y-%m-%d}"
        return f"{self.number} · hidden"

    @property
    def part(self) -> str:
        """Its class in the style sheet."""
        if self.column == 0:
            return "itself"
        return "fact" if self.fact is not None else "event" if self.event is not None else "hidden"

    @property
    def middle(self) -> tuple[int, int]:
        """The point in its middle."""
        return self.x + _WIDTH // 2, self.y + _HEIGHT // 2


@dataclass(slots=True)
class Graph:
    """The drawing with its size; ``more``: how many neighbours were left out because there are too many."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[tuple[int, int, int, int]] = field(default_factory=list)
    more: int = 0
    width: int = 0
    height: int = 0
    node_width: int = _WIDTH
    node_height: int = _HEIGHT

    def add(self, node: Node) -> bool:
        """Take a node in unless there are too many."""
        if len(self.nodes) == NODES:
            self.more += 1
            return False
        self.nodes.append(node)
        return True


def graph(eyes: Sight, fact: Fact) -> Graph:
    """Return the drawing around a fact that the person may read; at most two queries for facts and two for messages
    a step."""
    drawn = Graph()
    drawn.add(Node(1, 0, fact=fact))
    known = {fact.pk: drawn.nodes[0]}
    level = [drawn.nodes[0]]
    for _ in range(STEPS):
        level = _facts_beside(eyes, drawn, level, known)
        if not level:
            break
    _messages_behind(eyes, drawn, [node for node in drawn.nodes if node.fact is not None and node.column <= 0])
    _lay_out(drawn)
    return drawn


def _facts_beside(eyes: Sight, drawn: Graph, level: Sequence[Node], known: dict[uuid.UUID, Node]) -> list[Node]:
    """Add the facts that those of a level are related to, and return them."""
    from_level = {node.fact.pk: node for node in level if node.fact is not None}
    touching = Relation.objects.filter(
        Q(source__in=list(from_level)) | Q(target__in=list(from_level)), account_id=eyes.principal.account_id
    )
    relations = list(touching.order_by("-created_at", "-pk")[:READ])
    ends = {end for relation in relations for end in (relation.source_id, relation.target_id)} - known.keys()
    listed = eyes.facts().select_related("subject").in_bulk(ends)
    count: dict[uuid.UUID, int] = {}
    reached: list[Node] = []
    for relation in relations:
        for here, there, outward in (
            (relation.source_id, relation.target_id, True),
            (relation.target_id, relation.source_id, False),
        ):
            node = from_level.get(here)
            # From what it rests on the walk goes on to what that rests on, and on the other side alike.
            if node is None or there in known or (node.column != 0 and outward != (node.column < 0)):
                continue
            count[here] = count.get(here, 0) + 1
            if count[here] > FAN_OUT:
                drawn.more += 1
                continue
            other = listed.get(there)
            said = _SAID[RelationKind(relation.kind)][0 if outward else 1] if other is not None else ""
            column = node.column + (-1 if outward else 1)
            added = Node(len(drawn.nodes) + 1, column, fact=other, said=said, of=node.number)
            if drawn.add(added):
                known[there] = added
                reached += [added] if other is not None and other.readable else []
    return reached


def _messages_behind(eyes: Sight, drawn: Graph, behind: Iterable[Node]) -> None:
    """Add the messages that facts were read from."""
    facts = {node.fact.pk: node for node in behind if node.fact is not None and node.fact.readable}
    cited = Evidence.objects.filter(account_id=eyes.principal.account_id, fact__in=list(facts))
    rows = list(cited.order_by("-created_at", "-pk").values_list("fact_id", "event_id")[:READ])
    events = eyes.events().in_bulk({event_id for _, event_id in rows})
    count: dict[uuid.UUID, int] = {}
    # In the order of the facts, so that the lines cross as little as can be.
    for fact_id, event_id in sorted(rows, key=lambda row: facts[row[0]].number):
        count[fact_id] = count.get(fact_id, 0) + 1
        if count[fact_id] > FAN_OUT:
            drawn.more += 1
            continue
        node, event = facts[fact_id], events.get(event_id)
        said = "read from" if event is not None else ""
        drawn.add(Node(len(drawn.nodes) + 1, node.column - 1, event=event, said=said, of=node.number))


def _lay_out(drawn: Graph) -> None:
    """Give each node its place: columns from left to right, each from the top, and lines between them."""
    first = min(node.column for node in drawn.nodes)
    rows: dict[int, int] = {}
    for node in drawn.nodes:
        row = rows.get(node.column, 0)
        rows[node.column] = row + 1
        node.x = _MARGIN + (node.column - first) * _ACROSS
        node.y = _MARGIN + row * _DOWN
    by_number = {node.number: node for node in drawn.nodes}
    drawn.edges = [(*by_number[node.of].middle, *node.middle) for node in drawn.nodes if node.of is not None]
    columns = max(node.column for node in drawn.nodes) - first + 1
    drawn.width = 2 * _MARGIN + (columns - 1) * _ACROSS + _WIDTH
    drawn.height = 2 * _MARGIN + (max(rows.values()) - 1) * _DOWN + _HEIGHT
