"""The lineage of a fact, an event or a passage: a bounded walk over evidence and typed relations.

It shows what rests on what, never why a model thought so: nothing of the kind is stored. A visible fact gives no right
to its sources: what the reader may not see is an opaque reference without id, relation or text.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from facts.errors import NotFound
from facts.vocabulary import RelationKind
from retrieval import lineage_queries
from retrieval.lineage_queries import NodeKey, NodeType, Reference, References, ReferenceStatus, Sight

CONTRACT = "evidence-lineage-v1"

#: Causes for which a walk does not go on, in the order of reports. The first three are budgets, and make the lineage
#: ``truncated``; the others say what there is.
CAUSES = ("depth", "fan_out", "nodes", "cycle", "missing", "lifecycle_hidden", "authorization_hidden")
_BUDGETS = frozenset({"depth", "fan_out", "nodes"})

#: How a node came about when nothing that it refers to tells.
_PLAIN_OPERATION = {NodeType.EVENT: "observed", NodeType.PASSAGE: "excerpted", NodeType.FACT: "extracted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far a walk goes: steps from the target, references of one node, nodes of the lineage."""

    max_depth: int = 3
    max_fan_out: int = 8
    max_nodes: int = 40


@dataclass(slots=True, kw_only=True)
class Node:
    """One thing of a lineage.

    ``derivation_level`` is 0 for what was observed, 1 for a fact read out of it, and one more for each step of
    deduction. ``derived_references`` are the facts that cite a target that is a source itself; empty elsewhere.
    """

    key: NodeKey
    traversal_depth: int
    operation: str = ""
    derivation_level: int = 0
    source_references: tuple[Reference, ...] = ()
    derived_references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The nodes in the order in which they were reached, the target first, and why the walk ended where it did."""

    nodes: tuple[Node, ...]
    terminations: Mapping[str, int]

    @property
    def truncated(self) -> bool:
        """Whether a budget cut anything off."""
        return any(self.terminations[cause] for cause in _BUDGETS)


@dataclass(slots=True)
class _Walk:
    """A walk under way. ``above`` holds, for each node, those from which references led to it."""

    bounds: Bounds
    nodes: dict[NodeKey, Node] = field(default_factory=dict)
    above: dict[NodeKey, set[NodeKey]] = field(default_factory=dict)
    ends: Counter[str] = field(default_factory=Counter)

    def enter(self, key: NodeKey, *, depth: int, above: Iterable[NodeKey] = ()) -> None:
        self.nodes[key] = Node(key=key, traversal_depth=depth)
        self.above[key] = set(above)

    def follow(self, node: Node, found: References, *, downwards: bool) -> list[NodeKey]:
        """Return the nodes that the references of ``node`` lead to for the first time; count what they do not.

        ``downwards``: from a source to what cites it, which closes no circle when that refers back.
        """
        reached = []
        self.ends["fan_out"] += found.total - len(found.listed)
        above = set() if downwards else {node.key, *self.above[node.key]}
        for reference in found.listed:
            if reference.key is None:
                self.ends[reference.status] += 1
            elif reference.key in above:
                self.ends["cycle"] += 1
            elif reference.key in self.nodes:
                self.above[reference.key] |= above
            elif node.traversal_depth == self.bounds.max_depth:
                self.ends["depth"] += 1
            elif len(self.nodes) == self.bounds.max_nodes:
                self.ends["nodes"] += 1
            else:
                self.enter(reference.key, depth=node.traversal_depth + 1, above=above)
                reached.append(reference.key)
        return reached


def lineage(*, target: NodeKey, sight: Sight, bounds: Bounds) -> Lineage:
    """Return the lineage of ``target``, inside the running account transaction: one query a step, and two.

    Raises ``NotFound`` alike for what is hidden, has ended, or does not exist.
    """
    if lineage_queries.status_of(target, sight) is not ReferenceStatus.VISIBLE:
        raise NotFound("There is no such thing, or none that you may see.", field="target_id")
    walk = _Walk(bounds)
    walk.enter(target, depth=0)
    level = [target]
    while level:
        found = lineage_queries.references(level, sight, fan_out=bounds.max_fan_out)
        reached: list[NodeKey] = []
        for key in level:
            node = walk.nodes[key]
            rests_on = found.get(key, References())
            node.source_references = rests_on.listed
            node.operation = rests_on.operation or _PLAIN_OPERATION[key.type]
            reached += walk.follow(node, rests_on, downwards=False)
        if level == [target] and target.type is not NodeType.FACT:
            cited = lineage_queries.cited_by(target, sight, fan_out=bounds.max_fan_out)
            walk.nodes[target].derived_references = cited.listed
            reached += walk.follow(walk.nodes[target], cited, downwards=True)
        level = reached
    _set_levels(walk.nodes)
    return Lineage(nodes=tuple(walk.nodes.values()), terminations={cause: walk.ends[cause] for cause in CAUSES})


def facts_of(found: Lineage) -> list[uuid.UUID]:
    """Return the facts of a lineage in the order in which they were reached."""
    return [node.key.id for node in found.nodes if node.key.type is NodeType.FACT]


def _set_levels(nodes: Mapping[NodeKey, Node]) -> None:
    """Give each fact its distance from what was observed, by the premises that are known; circles end where they
    began."""
    levels: dict[NodeKey, int] = {}

    def level(key: NodeKey) -> int:
        if key.type is not NodeType.FACT:
            return 0
        if key not in levels:
            levels[key] = 1
            node = nodes[key]
            premises = [
                reference.key
                for reference in node.source_references
                if reference.key in nodes and reference.relation == RelationKind.DERIVED_FROM
            ]
            deduced = node.operation == "derived"
            levels[key] = 1 + max((level(premise) for premise in premises), default=1 if deduced else 0)
        return levels[key]

    for key, node in nodes.items():
        node.derivation_level = level(key)
