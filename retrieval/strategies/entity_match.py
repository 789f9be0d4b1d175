"""Facts that name what the question names.

The rarer an entity is among the facts that this reader may see, the more it counts; one in most of them counts
for nothing, and if that is all there is, nothing is found, on purpose. Other names of an entity help only a reader
who sees a fact with the name that was asked by, or where the name is a subject's own: otherwise the answer would tell
that two names belong together.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence

from facts.models import IndexedUnit
from retrieval.context.serving import INDIRECT_FACTOR
from retrieval.entities import names
from retrieval.entities.names import Gram
from retrieval.models import EntityAlias
from retrieval.strategies import mentioning, rows
from retrieval.strategies.base import Hit, Stage, StrategyQuestion

#: Facts that one entity contributes at most.
PER_ENTITY = 25
#: Entities that one question is taken to name, the first ones in it.
MAX_ENTITIES = 8


class EntityMatch:
    """Ranks facts by how many of the question's entities they name, weighed by how rare each is here."""

    name = "entity_match"
    stage = Stage.SEED
    needs_vector = False
    reads_text = True

    @property
    def version(self) -> str:
        """The rules by which names are found."""
        return f"names-{names.RECIPE}"

    def applies(self, question: StrategyQuestion) -> bool:
        """Tell whether facts are looked for and the question has words that may name something."""
        return IndexedUnit.FACT in rows.units(question) and bool(names.asked_in(question.text))

    def find(self, question: StrategyQuestion, *, seeds: Sequence[Hit]) -> list[Hit]:
        """Return the facts that name an entity of the question.

        The score is the sum over the named entities of idf × confidence of the mention, divided by the sum of idf
        over all entities asked about, times the fact's confidence; idf = ln(1 + N/n), n of the N facts that this
        reader may find.
        """
        weights = self._weights(question)
        if not weights:
            return []
        return rows.hits(
            IndexedUnit.FACT,
            "SELECT DISTINCT fact_id AS id, score FROM ("
            "  SELECT x.*, row_number() OVER (PARTITION BY entity"
            '   ORDER BY score DESC, statement COLLATE "C", valid_from, fact_id) AS place FROM ('
            "    SELECT n.entity, n.fact_id, f.statement, f.valid_from, f.confidence"
            "     * CASE f.evidence_level WHEN 'indirect' THEN %(indirect)s ELSE 1 END"
            "     * sum(n.weight * n.sure) OVER (PARTITION BY n.fact_id) / %(total)s AS score"
            "    FROM ("
            "      SELECT e.id AS entity, e.weight, m.fact_id, max(m.confidence) AS sure"
            "      FROM unnest(%(entities)s::uuid[], %(weights)s::float8[]) AS e(id, weight)"
            "      JOIN retrieval_entityalias a ON a.account_id = %(account)s AND a.entity_id = e.id"
            f"     CROSS JOIN LATERAL ({mentioning.mentions(question, 'a.id')}) m"
            "      GROUP BY e.id, e.weight, m.fact_id) n"
            "    JOIN facts_fact f ON f.id = n.fact_id) x) placed WHERE place <= %(each)s",
            {
                **rows.parameters(question),
                "entities": list(weights),
                "weights": list(weights.values()),
                "total": sum(weights.values()),
                "indirect": INDIRECT_FACTOR,
                "each": PER_ENTITY,
            },
        )[: question.limit]

    def _weights(self, question: StrategyQuestion) -> dict[uuid.UUID, float]:
        """Return the idf of each entity that the question names and that is not too common here."""
        asked = names.asked_in(question.text)
        found = {
            alias.folded: alias
            for alias in EntityAlias.objects.filter(
                account_id=question.visible.account_id, folded__in=sorted({gram.folded for gram in asked})
            ).only("id", "folded", "entity_id", "claimed")
        }
        if not found:
            return {}
        corpus = mentioning.corpus_size(question)
        known = mentioning.frequencies(question, sorted({alias.entity_id for alias in found.values()}), corpus=corpus)

        def may_be_asked_by(gram: Gram) -> bool:
            alias = found.get(gram.folded)
            if alias is None or alias.entity_id not in known:
                return False
            return alias.claimed or alias.id in known[alias.entity_id].aliases

        named = [found[gram.folded].entity_id for gram in names.longest([g for g in asked if may_be_asked_by(g)])]
        entities = list(dict.fromkeys(named))[:MAX_ENTITIES]
        return {
            entity: math.log(1 + corpus / known[entity].facts)
            for entity in entities
            if not mentioning.too_common(known[entity].facts, corpus=corpus)
        }
