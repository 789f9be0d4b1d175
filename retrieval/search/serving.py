"""From a fused order to results: everything is read again under the audience rule, and each gets a decision."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from facts.models import Fact, IndexedUnit, Passage, Scope, Subject
from retrieval import candidates
from retrieval.candidates import FactRow, PassageRow, Question
from retrieval.context import serving
from retrieval.context.gate import Gate
from retrieval.context.packet import ServedFact, ServedPassage
from retrieval.context.rendering import fact_line, passage_line
from retrieval.context.serving import Ranked
from retrieval.fusion import Fused
from retrieval.search.answer import Found
from retrieval.strategies.base import Hit, Item
from retrieval.text import tokens
from retrieval.traces.reasons import Reason
from retrieval.traces.writing import Decision
from retrieval.visibility import Visibility


@dataclass(slots=True)
class Served:
    """What is served, best first, and a decision about everything that was considered and may still be seen."""

    items: list[Ranked] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Estimated tokens of everything served."""
        return sum(item.decision.tokens or 0 for item in self.items)


def serve(
    order: Sequence[Fused[Item]],
    questions: Mapping[IndexedUnit, Question],
    visible: Visibility,
    *,
    limit: int,
    limits: Gate,
    past: bool,
    known_at: datetime | None,
) -> Served:
    """Return the first ``limit`` of ``order`` that nothing stands against, each text of a date once.

    What the reader may not see any more is not even considered. Runs in the transaction that writes the trace.
    """
    ids = {unit: [entry.item.id for entry in order if entry.item.unit is unit] for unit in IndexedUnit}
    facts = candidates.fetch_facts(
        ids[IndexedUnit.FACT], questions[IndexedUnit.FACT], visible, current=not past, known_at=known_at
    )
    asked = questions[IndexedUnit.PASSAGE]
    passages = candidates.fetch_passages(ids[IndexedUnit.PASSAGE], asked, visible, known_at=known_at)
    best = {
        IndexedUnit.FACT: limits.best(row for row in facts if not serving.withheld(row, visible)),
        IndexedUnit.PASSAGE: limits.best(row for row in passages if not serving.withheld_passage(row)),
    }
    rows = {Item(IndexedUnit.FACT, row.id): row for row in facts}
    rows |= {Item(IndexedUnit.PASSAGE, row.id): row for row in passages}
    served = Served()
    lines: set[str] = set()
    for entry in order:
        row = rows.get(entry.item)
        if row is None:
            continue
        item = _ranked(entry, row, rank=len(served.decisions) + 1)
        served.decisions.append(item.decision)
        reason = _obstacle(row, visible) or limits.refuses(row, best=best[entry.item.unit])
        if reason is None and item.line in lines:
            reason = Reason.DUPLICATE_OF_SERVED
        elif reason is None and len(served.items) < limit:
            reason = Reason.TOP_SCORE
            lines.add(item.line)
            served.items.append(item)
        item.decision.reason = reason or Reason.OVER_BUDGET
    return served


def results(
    served: Served,
    order: Mapping[Item, Fused[Item]],
    hits: Mapping[Item, Sequence[Hit]],
    visible: Visibility,
    *,
    scopes: Sequence[Scope],
    subject: Subject | None,
) -> list[Found]:
    """Return what is served with everything that an answer tells of it, in the same order."""
    paths = {scope.id: scope.path for scope in scopes}
    facts = [item for item in served.items if item.decision.unit is IndexedUnit.FACT]
    passages = [item for item in served.items if item.decision.unit is IndexedUnit.PASSAGE]
    content: dict[Item, ServedFact | ServedPassage] = {
        Item(IndexedUnit.FACT, fact.id): fact for fact in serving.facts(facts, visible, scopes=scopes, subject=subject)
    }
    content |= {Item(IndexedUnit.PASSAGE, passage.id): passage for passage in serving.passages(passages)}
    further = _further(visible.account_id, facts, passages)
    found = []
    for ranked in served.items:
        item = Item(ranked.decision.unit, ranked.decision.id)
        about = further[item]
        found.append(
            Found(
                unit=item.unit,
                id=item.id,
                fusion_score=order[item].score,
                strategies=order[item].scores,
                detail={key: value for hit in hits[item] for key, value in hit.detail.items()},
                scope=paths[about["scope_id"]],
                content=content[item],
                **about,
            )
        )
    return found


def _ranked(entry: Fused[Item], row: FactRow | PassageRow, *, rank: int) -> Ranked:
    """Return a row with a decision that is still open."""
    if isinstance(row, FactRow):
        line, revision = fact_line(row.statement, row.valid_from), row.version
    else:
        line, revision = passage_line(row.text, row.speaker, row.occurred_at), None
    decision = Decision(
        unit=entry.item.unit,
        id=row.id,
        reason=Reason.OVER_BUDGET,
        revision=revision,
        rank=rank,
        similarity=row.similarity,
        text_score=row.text_score,
        fusion_score=entry.score,
        tokens=tokens.estimate(line),
        scores=entry.scores,
    )
    return Ranked(row=row, line=line, decision=decision)


def _obstacle(row: FactRow | PassageRow, visible: Visibility) -> Reason | None:
    """Return what keeps a row from every reader although it may be seen."""
    return serving.withheld(row, visible) if isinstance(row, FactRow) else serving.withheld_passage(row)


_PLACE = ("scope_id", "subject_id", "sensitivity", "level")
_ORIGIN = ("corroboration", "extractor_provider", "extractor_model", "prompt_version")


def _further(account_id: uuid.UUID, facts: Sequence[Ranked], passages: Sequence[Ranked]) -> dict[Item, dict[str, Any]]:
    """Return where each result belongs and, of facts, where they come from."""
    found: dict[Item, dict[str, Any]] = {}
    for unit, model, columns, items in (
        (IndexedUnit.FACT, Fact, (*_PLACE, *_ORIGIN), facts),
        (IndexedUnit.PASSAGE, Passage, _PLACE, passages),
    ):
        if items:
            rows = model.objects.filter(account_id=account_id, pk__in=[item.row.id for item in items])
            for row in rows.values("pk", "subject__key", *columns):
                item, subject = Item(unit, row.pop("pk")), row.pop("subject__key")
                found[item] = {**row, "subject": subject}
    return found
