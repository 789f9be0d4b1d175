"""Questions to calibrate by: made of the store itself, without a model or labels, or read from a file.

A stored text becomes something like a question about it by leaving out what a question would ask for: of a fact with a
claim the words of its value; of anything else every other word that means something. What is left is as short as a
question, names what it is about, and does not repeat the text. Real questions are worded more freely, so that their
answers lie somewhat farther away: a file of real ones is the better measure.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from facts import textindex
from facts.models import IndexedUnit

#: Words of a made question.
MOST_WORDS, LEAST_WORDS = 8, 2

#: Questions that hardly any store of an organisation's memory answers, in the languages of the extractor.
OFF_TOPIC = (
    "How many moons does Saturn have?",
    "What is the boiling point of mercury?",
    "Who painted the ceiling of the Sistine Chapel?",
    "When did the Western Roman Empire fall?",
    "What do giant pandas eat?",
    "How deep is the Mariana Trench?",
    "Which gland produces insulin?",
    "Who composed the Brandenburg Concertos?",
    "What is the square root of 1764?",
    "How long does light travel from the sun to the earth?",
    "Which acid is in vinegar?",
    "Who discovered penicillin?",
    "What is the tallest mountain of Africa?",
    "How many players are in a water polo team?",
    "What causes the northern lights?",
    "Quelle est la formule chimique de l'ozone ?",
    "Qui a écrit Les Misérables ?",
    "En quelle année la Bastille a-t-elle été prise ?",
    "Combien de pattes une araignée a-t-elle ?",
    "Quel est le plus long fleuve d'Asie ?",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A stored fact or passage, the question made of it, and what else could answer that (``kin``, itself too)."""

    unit: IndexedUnit
    id: uuid.UUID
    scope_id: uuid.UUID
    subject_id: uuid.UUID
    question: str
    kin: frozenset[uuid.UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A question of a file. ``answer`` is a piece of the right answer's text, empty when the store knows nothing."""

    question: str
    answer: str = ""
    subject_key: str = ""
    scope_path: str = ""


def sample(account_id: uuid.UUID, *, scope_ids: Sequence[uuid.UUID], limit: int) -> list[Item]:
    """Return up to ``limit`` items of these scopes, half of them facts, always the same ones of the same store."""
    facts = _facts(account_id, scope_ids, limit=limit)
    passages = _passages(account_id, scope_ids, limit=limit)
    share = max(limit // 2, limit - len(passages))
    return [*facts[:share], *passages[: limit - len(facts[:share])]]


def read(lines: Iterable[str]) -> list[Labelled]:
    """Return the questions of a file, one JSON object a line.

    Raises ``ValueError``, naming the line, for what is none.
    """
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            question = Labelled(
                question=row["question"],
                answer=row.get("answer") or "",
                subject_key=row.get("subject_id") or "",
                scope_path=row.get("scope") or "",
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"line {number} is no JSON object with a 'question'") from None
        if not all(isinstance(value, str) for value in (question.question, question.answer)):
            raise ValueError(f"line {number}: 'question' and 'answer' are texts")
        found.append(question)
    return found


def without_value(statement: str, value: str) -> str:
    """Return the words of a statement that are not those of its value, or a thinned statement if too few are left."""
    answered = {word.folded for word in textindex.words(value)}
    left = [word.folded for word in textindex.words(statement) if word.folded not in answered]
    meaning = [word for word in left if word not in textindex.STOP_WORDS]
    return " ".join(left[: 2 * MOST_WORDS]) if len(meaning) >= LEAST_WORDS else thinned(statement)


def thinned(text: str) -> str:
    """Return every other word of a text that means something, at most eight."""
    meaning = [word.folded for word in textindex.words(text) if word.folded not in textindex.STOP_WORDS]
    kept = meaning[::2][:MOST_WORDS]
    return " ".join(kept) if len(kept) >= LEAST_WORDS else ""


def _words_of(value: str) -> str:
    """Return what a claim's value says, without the names of its parts."""

    def leaves(part: Any) -> Iterator[str]:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else None
        if inner is None:
            yield str(part)
            return
        for one in inner:
            yield from leaves(one)

    return " ".join(leaves(json.loads(value)))


def _facts(account_id: uuid.UUID, scope_ids: Sequence[uuid.UUID], *, limit: int) -> list[Item]:
    """Kin of a fact: facts of the same subject and predicate, and what its evidence and theirs says."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT f.id, f.scope_id, f.subject_id, f.statement, f.value,"
            " ARRAY(SELECT k.id FROM facts_fact k WHERE k.account_id = f.account_id AND k.scope_id = f.scope_id"
            "   AND k.subject_id = f.subject_id AND k.predicate = f.predicate AND f.predicate <> '')"
            " || ARRAY(SELECT o.fact_id FROM facts_evidence e JOIN facts_evidence o ON o.account_id = e.account_id"
            "   AND o.event_id = e.event_id WHERE e.account_id = f.account_id AND e.fact_id = f.id)"
            " || ARRAY(SELECT p.id FROM facts_evidence e JOIN facts_passage p ON p.account_id = e.account_id"
            "   AND p.event_id = e.event_id WHERE e.account_id = f.account_id AND e.fact_id = f.id)"
            " FROM facts_facttext t JOIN facts_fact f ON f.id = t.fact_id"
            " WHERE t.account_id = %s AND t.scope_id = ANY(%s) AND t.active AND f.withheld = ''"
            " ORDER BY md5(f.statement), f.id LIMIT %s",
            [account_id, list(scope_ids), limit],
        )
        rows = cursor.fetchall()
    made = [
        Item(
            unit=IndexedUnit.FACT,
            id=row_id,
            scope_id=scope_id,
            subject_id=subject_id,
            question=without_value(statement, _words_of(value)) if value else thinned(statement),
            kin=frozenset([row_id, *kin]),
        )
        for row_id, scope_id, subject_id, statement, value, kin in rows
    ]
    return [item for item in made if item.question]


def _passages(account_id: uuid.UUID, scope_ids: Sequence[uuid.UUID], *, limit: int) -> list[Item]:
    """Kin of a passage: the passages of its event, and the facts that the event is in evidence of."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.id, p.scope_id, p.subject_id, p.text,"
            " ARRAY(SELECT k.id FROM facts_passage k WHERE k.account_id = p.account_id AND k.event_id = p.event_id)"
            " || ARRAY(SELECT e.fact_id FROM facts_evidence e"
            "   WHERE e.account_id = p.account_id AND e.event_id = p.event_id)"
            " FROM facts_passagetext t JOIN facts_passage p ON p.id = t.passage_id"
            " WHERE t.account_id = %s AND t.scope_id = ANY(%s) AND t.active AND p.withheld = ''"
            " ORDER BY md5(p.text), p.id LIMIT %s",
            [account_id, list(scope_ids), limit],
        )
        rows = cursor.fetchall()
    made = [
        Item(
            unit=IndexedUnit.PASSAGE,
            id=row_id,
            scope_id=scope_id,
            subject_id=subject_id,
            question=thinned(text),
            kin=frozenset([row_id, *kin]),
        )
        for row_id, scope_id, subject_id, text, kin in rows
    ]
    return [item for item in made if item.question]
