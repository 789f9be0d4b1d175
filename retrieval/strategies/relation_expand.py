"""One step from what the other strategies found: along relations, shared entities and links between scopes.

Where a step leads is filtered by the same bounds as everything else; a linked scope is one that the caller may read
(``retrieval.scope_links``), and an entity that is in most facts leads nowhere.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from facts import embedding, vector_tables
from facts.models import IndexedUnit
from facts.vocabulary import RelationKind
from retrieval.candidates import vector_literal
from retrieval.context.serving import INDIRECT_FACTOR
from retrieval.models import Mention
from retrieval.strategies import mentioning, rows
from retrieval.strategies.base import Hit, Stage, StrategyQuestion, in_order

#: Facts from which steps are taken, the first ones that the seeds found.
FRONTIER = 10
#: Facts that each step leads to from one fact.
NEIGHBOURS = 10
#: Entities of the frontier that are followed, the rarest.
MAX_ENTITIES = 10
#: Facts that these entities may be in, together: more of them tell little and cost much.
EXAMINED = 5_000
#: Relations that lead to something of use. What contradicts waits for a decision; what was superseded is history.
FOLLOWED = (RelationKind.SUPPORTS, RelationKind.DERIVED_FROM, RelationKind.PROMOTED_FROM)
FOLLOWED_IN_THE_PAST = (*FOLLOWED, RelationKind.SUPERSEDES)

_CONFIDENCE = "f.confidence * CASE f.evidence_level WHEN 'indirect' THEN %(indirect)s ELSE 1 END"
#: Cuts what each seed leads to; equal scores by content.
_PLACE = 'row_number() OVER (PARTITION BY seed ORDER BY score DESC, statement COLLATE "C", valid_from, id) AS place'


class RelationExpand:
    """Scores a neighbour by the strength of the step, 0 to 1, times the fact's confidence; the best step counts."""

    name = "relation_expand"
    stage = Stage.EXPAND
    needs_vector = False
    reads_text = False

    @property
    def version(self) -> str:
        """Nothing beside the store and the seeds changes what is found."""
        return ""

    def applies(self, question: StrategyQuestion) -> bool:
        """Tell whether facts are looked for."""
        return IndexedUnit.FACT in rows.units(question)

    def find(self, question: StrategyQuestion, *, seeds: Sequence[Hit]) -> list[Hit]:
        """Return the neighbours of the first facts among ``seeds``, each once with its best step."""
        frontier = [hit.item.id for hit in seeds if hit.item.unit is IndexedUnit.FACT and not hit.withheld][:FRONTIER]
        if not frontier:
            return []
        reach = (*question.visible.scope_ids, *question.linked)
        wide = replace(question, visible=replace(question.visible, scope_ids=reach))
        best: dict[uuid.UUID, Hit] = {}
        for hit in (*_related(wide, frontier), *_sharing(wide, frontier), *_linked(question)):
            known = best.get(hit.item.id)
            if known is None or hit.score > known.score:
                best[hit.item.id] = hit
        return in_order(best.values())[: question.limit]


def _related(question: StrategyQuestion, frontier: Sequence[uuid.UUID]) -> Iterator[Hit]:
    """Yield the facts that a relation joins with one of the frontier, in either direction."""
    kinds = FOLLOWED if question.past is None else FOLLOWED_IN_THE_PAST
    found = (
        "SELECT id, score, step FROM (SELECT x.*, " + _PLACE + " FROM ("
        f"  SELECT e.seed, t.fact_id AS id, e.kind AS step, {_CONFIDENCE} AS score, f.statement, f.valid_from FROM ("
        "   SELECT r.source_id AS seed, r.target_id AS other, r.kind FROM facts_relation r"
        "   WHERE r.account_id = %(account)s AND r.source_id = ANY(%(frontier)s) AND r.kind = ANY(%(kinds)s)"
        "   UNION ALL SELECT r.target_id, r.source_id, r.kind FROM facts_relation r"
        "   WHERE r.account_id = %(account)s AND r.target_id = ANY(%(frontier)s) AND r.kind = ANY(%(kinds)s)) e"
        "  JOIN facts_facttext t ON t.fact_id = e.other JOIN facts_fact f ON f.id = e.other"
        f" WHERE {rows.condition(question, IndexedUnit.FACT, 't')}) x) p WHERE place <= %(neighbours)s"
    )
    yield from _hits(found, {**_parameters(question, frontier), "kinds": [str(kind) for kind in kinds]})


def _sharing(question: StrategyQuestion, frontier: Sequence[uuid.UUID]) -> Iterator[Hit]:
    """Yield the facts that name an entity that one of the frontier names too; the less sure mention counts."""
    named = _entities_of(question, frontier)
    corpus = mentioning.corpus_size(question) if named else 0
    known = mentioning.frequencies(question, sorted(named), corpus=corpus)
    telling = sorted(
        (frequency.facts, entity)
        for entity, frequency in known.items()
        if frequency.facts > 1 and not mentioning.too_common(frequency.facts, corpus=corpus)
    )
    if not telling:
        return
    # Facts of the frontier that name an entity equally surely lead to the same facts, but for themselves.
    found = (
        "WITH named AS MATERIALIZED ("
        f"  SELECT n.*, f.statement, f.valid_from, {_CONFIDENCE} AS worth FROM ("
        "     SELECT e.id AS entity, m.fact_id AS id, max(m.confidence) AS sure"
        "     FROM unnest(%(entities)s::uuid[]) AS e(id)"
        "     JOIN retrieval_entityalias a ON a.account_id = %(account)s AND a.entity_id = e.id"
        f"    CROSS JOIN LATERAL ({mentioning.mentions(question, 'a.id')}) m GROUP BY e.id, m.fact_id) n"
        "   JOIN facts_fact f ON f.id = n.id),"
        " starts AS MATERIALIZED (SELECT entity, sure, id FROM named WHERE id = ANY(%(frontier)s)),"
        " nearest AS MATERIALIZED (SELECT * FROM (SELECT x.*, row_number() OVER (PARTITION BY entity, sure"
        '   ORDER BY score DESC, statement COLLATE "C", valid_from, id) AS rank FROM ('
        "     SELECT s.entity, s.sure, n.id, least(s.sure, n.sure) * n.worth AS score, n.statement, n.valid_from"
        "     FROM (SELECT DISTINCT entity, sure FROM starts) s JOIN named n USING (entity)) x) y"
        "   WHERE rank <= %(neighbours)s + 1)"
        " SELECT id, score, 'shared_entity' AS step FROM (SELECT x.*, " + _PLACE + " FROM ("
        "  SELECT s.id AS seed, n.id, max(n.score) AS score, n.statement, n.valid_from"
        "  FROM starts s JOIN nearest n ON n.entity = s.entity AND n.sure = s.sure AND n.id <> s.id"
        "  GROUP BY s.id, n.id, n.statement, n.valid_from) x) p WHERE place <= %(neighbours)s"
    )
    examined = accumulate(facts for facts, _ in telling)
    within = zip(telling[:MAX_ENTITIES], examined, strict=False)
    entities = [entity for (_, entity), together in within if together <= EXAMINED]
    yield from _hits(found, {**_parameters(question, frontier), "entities": entities})


def _entities_of(question: StrategyQuestion, frontier: Sequence[uuid.UUID]) -> set[uuid.UUID]:
    mentions = Mention.objects.filter(account_id=question.visible.account_id, fact_id__in=frontier)
    return set(mentions.values_list("alias__entity_id", flat=True))


def _linked(question: StrategyQuestion) -> Iterator[Hit]:
    """Yield the facts of linked scopes that are nearest to the question; a link is a step of full strength."""
    if not question.linked or question.vector is None:
        return
    there = replace(question, visible=replace(question.visible, scope_ids=question.linked))
    space = embedding.space(question.vector.identity)
    table = vector_tables.table(IndexedUnit.FACT, space.dimensions)
    found = (
        f"SELECT n.id, {_CONFIDENCE} AS score, 'scope_link' AS step FROM ("
        f"  SELECT v.fact_id AS id FROM {table} v WHERE {rows.condition(there, IndexedUnit.FACT, 'v')}"
        "   AND v.space_id = %(space)s"
        "   ORDER BY (v.h <=> %(vector)s::halfvec) + 0, v.valid_from, v.fact_id LIMIT %(neighbours)s) n"
        " JOIN facts_fact f ON f.id = n.id"
    )
    vector = vector_literal(question.vector.numbers)
    yield from _hits(found, {**_parameters(there, ()), "space": space.id, "vector": vector})


def _parameters(question: StrategyQuestion, frontier: Sequence[uuid.UUID]) -> dict[str, Any]:
    return {
        **rows.parameters(question),
        "frontier": list(frontier),
        "neighbours": NEIGHBOURS,
        "indirect": INDIRECT_FACTOR,
    }


def _hits(found: str, values: dict[str, Any]) -> Iterator[Hit]:
    for row_id, score, step, text, moment, withheld in rows.read(IndexedUnit.FACT, found, values):
        yield replace(rows.hit(IndexedUnit.FACT, row_id, score, text, moment, withheld), detail={"step": step})
