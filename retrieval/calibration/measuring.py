"""Asking the store each question as a context call would, and noting how far away what is found lies."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from facts import embedding
from facts.audience import Posture, Reader
from facts.clock import now
from facts.models import IndexedUnit, Scope, Subject
from facts.tenancy import account_transaction, ancestor_paths, get_scope, get_subject
from retrieval import candidates
from retrieval.calibration.questions import OFF_TOPIC, Labelled, sample
from retrieval.calibration.report import Measured
from retrieval.candidates import FactRow, PassageRow, Question
from retrieval.context.gate import OFF
from retrieval.embedders import registry
from retrieval.profiles.shipped import CONTEXT
from retrieval.text import common_lexemes, lexical
from retrieval.visibility import Visibility

#: Seconds to wait for a question's vector: nobody waits for an answer here.
EMBED_SECONDS = 60.0
#: Closeness as the gate sees it; the limits are what is looked for.
_CLOSENESS = OFF


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate of one question: its distance, its closeness, and what it says."""

    id: uuid.UUID
    distance: float
    closeness: float
    text: str


def _untold(done: int, total: int) -> None:
    """Tell nobody."""


def measure_store(
    account_id: uuid.UUID, *, scope_path: str, limit: int, note: Callable[[int, int], None] = _untold
) -> Measured:
    """Measure by questions made of the store: of up to ``limit`` items, and as many about nothing in it.

    Each is asked in the scope of its item and as its item's subject. ``scope_path`` narrows to one scope, empty for
    all. ``note`` is told, after each, how many of how many items are done. Raises ``EmbeddingUnavailable``.
    """
    measured = Measured()
    with account_transaction(account_id):
        scopes = {scope.id: scope.path for scope in Scope.objects.filter(account_id=account_id)}
        wanted = [scope_id for scope_id, path in scopes.items() if scope_path in {"", path}]
        items = sample(account_id, scope_ids=wanted, limit=limit)
    for number, item in enumerate(items):
        path = scopes[item.scope_id]
        found = _ask(account_id, item.question, path=path, reader=item.subject_id)
        _note_right(measured, found, right=[one for one in found if one.id == item.id])
        strangers = [one.distance for one in found if one.id not in item.kin]
        measured.strangers += [min(strangers)] if strangers else []
        about_nothing = OFF_TOPIC[number % len(OFF_TOPIC)]
        _note_nearest(measured.off_topic, _ask(account_id, about_nothing, path=path, reader=item.subject_id))
        note(number + 1, len(items))
    return measured


def measure_labelled(
    account_id: uuid.UUID,
    questions: Sequence[Labelled],
    *,
    scope_path: str,
    note: Callable[[int, int], None] = _untold,
) -> Measured:
    """Measure by the questions of a file. Those without an answer count as questions about nothing.

    ``note`` is told, before each, how many of how many are done. Raises ``EmbeddingUnavailable``.
    """
    measured = Measured()
    for number, asked in enumerate(questions):
        note(number, len(questions))
        with account_transaction(account_id):
            subject: Subject | None = get_subject(account_id, key=asked.subject_key) if asked.subject_key else None
        path = asked.scope_path or scope_path or "/"
        found = _ask(account_id, asked.question, path=path, reader=subject.id if subject else None)
        if not asked.answer:
            _note_nearest(measured.off_topic, found)
            continue
        wanted = asked.answer.casefold()
        _note_right(measured, found, right=[one for one in found if wanted in one.text.casefold()])
    return measured


def _note_right(measured: Measured, found: Sequence[Found], *, right: Sequence[Found]) -> None:
    if not right:
        measured.not_found += 1
        return
    nearest = min(right, key=lambda one: one.distance)
    best = max(one.closeness for one in found)
    measured.right.append(nearest.distance)
    measured.shares.append(nearest.closeness / best if best > 0 else 1.0)


def _note_nearest(distances: list[float], found: Sequence[Found]) -> None:
    if found:
        distances.append(min(one.distance for one in found))


def _ask(account_id: uuid.UUID, text: str, *, path: str, reader: uuid.UUID | None) -> list[Found]:
    """Return the candidates of a question, asked in the scope at ``path`` and its ancestors."""
    vector = registry.embed_query(account_id=account_id, text=text, seconds=EMBED_SECONDS)
    with account_transaction(account_id):
        scopes = [get_scope(account_id, one) for one in (path, *ancestor_paths(path))]
        moment = now()
        visible = Visibility(
            account_id=account_id,
            scope_ids=tuple(scope.id for scope in scopes if scope is not None),
            subject_id=None,
            reader=Reader(Posture.PEER, reader) if reader else Reader(Posture.INTERNAL),
            at=moment,
            now=moment,
        )
        if not visible.scope_ids:
            return []
        analysis = common_lexemes.analyse(
            lexical.searchable(text, at=moment), account_id=account_id, scope_ids=visible.scope_ids, subject_id=None
        )
        rows: list[FactRow | PassageRow] = []
        for unit in IndexedUnit:
            counted = analysis.common[unit]
            weights = lexical.weights(analysis.lexemes[: lexical.MAX_LEXEMES], counts=counted.counts, rows=counted.rows)
            question = Question(
                weights=weights,
                vector=candidates.vector_literal(vector.numbers),
                space=embedding.space(vector.identity),
            )
            ids = candidates.nearest(unit, question, visible, limit=CONTEXT.top)
            if weights:
                match = lexical.rarer(weights, counts=counted.counts, rows=counted.rows)
                ids += candidates.matching(unit, question, visible, match=match, limit=CONTEXT.top)
            rows += _rows(unit, ids, question, visible)
    return [_found(row) for row in rows if row.similarity is not None and not row.withheld]


def _rows(
    unit: IndexedUnit, ids: Sequence[uuid.UUID], question: Question, visible: Visibility
) -> Sequence[FactRow | PassageRow]:
    unique = list(dict.fromkeys(ids))
    if unit is IndexedUnit.FACT:
        return candidates.fetch_facts(unique, question, visible, current=True)
    return candidates.fetch_passages(unique, question, visible, known_at=None)


def _found(row: FactRow | PassageRow) -> Found:
    text = row.statement if isinstance(row, FactRow) else row.text
    return Found(row.id, 1 - (row.similarity or 0.0), _CLOSENESS.closeness(row), text)
