"""How many of the nearest rows a search by vector finds, compared with distances computed outside of the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import corpora

if TYPE_CHECKING:
    from benchmarks.latency_stores import Store
    from retrieval.candidates import Question
    from retrieval.visibility import Visibility

LIMIT = 64
#: Distances this close are the same: facts that resemble each other this much are as good an answer.
TIE = 1e-4


def measure(store: Store, questions: Sequence[str], *, large: bool) -> dict[str, Any]:
    """Return the mean recall of the nearest 64 facts, of all and of the older half only (a filter on validity).

    ``large``: through the indexes of a large scope, otherwise by the exact search.
    """
    from facts import embedding
    from facts.audience import Posture, Reader
    from facts.clock import now
    from facts.models import IndexedUnit
    from facts.tenancy import account_transaction
    from retrieval import candidates, large_scopes
    from retrieval.embedders import registry
    from retrieval.visibility import Visibility

    embedder = registry.configured()
    space = embedding.space(embedder.identity)
    ids, starts, vectors = _stored(store, space.id, space.dimensions)
    everything = Visibility(
        account_id=store.account.id,
        scope_ids=(store.scope.id,),
        subject_id=store.subject.id,
        reader=Reader(posture=Posture.PEER, subject_id=store.subject.id),
        at=now(),
        now=now(),
    )
    half = replace(everything, at=datetime.fromtimestamp(float(np.median(starts)), everything.at.tzinfo))
    asked = [np.asarray(embedder.embed_query(question), dtype=np.float32) for question in questions]

    def found(question: Question, visible: Visibility) -> list[Any]:
        if large:
            return large_scopes.nearest(IndexedUnit.FACT, question, visible, large=visible.scope_ids, limit=LIMIT)
        return candidates.nearest(IndexedUnit.FACT, question, visible, limit=LIMIT)

    position = {row_id: number for number, row_id in enumerate(ids)}
    result: dict[str, Any] = {"path": "large scope" if large else "exact", "limit": LIMIT, "questions": len(asked)}
    with account_transaction(store.account.id):
        for name, visible, allowed in (
            ("all", everything, np.ones(len(ids), dtype=bool)),
            ("older half", half, starts <= half.at.timestamp()),
        ):
            shares = [
                _recall(
                    vector, vectors, allowed, [position[row_id] for row_id in found(_question(vector, space), visible)]
                )
                for vector in asked
            ]
            result[name] = round(float(np.mean(shares)), 4)
    return result


def _question(vector: np.ndarray, space: Any) -> Question:
    from retrieval.candidates import Question, vector_literal

    return Question(vector=vector_literal(vector), space=space)


def _recall(vector: np.ndarray, vectors: np.ndarray, allowed: np.ndarray, found: Sequence[int]) -> float:
    """Return the share of the best places that ``found`` fills, any of equally distant rows being right."""
    distances = np.where(allowed, 1 - vectors @ vector, np.inf)
    best = np.sort(distances)[: min(LIMIT, int(allowed.sum()))]
    return float(np.sum(distances[list(found)] <= best[-1] + TIE) / len(best))


def _stored(store: Store, space_id: int, dimensions: int) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """Return ids, starts (seconds since 1970) and unit vectors of the scope's facts, past every index."""
    from pgvector.psycopg import register_vector

    from facts import vector_tables

    with corpora.owner() as connection:
        register_vector(connection)
        with connection.cursor(binary=True) as cursor:
            cursor.execute(
                "SELECT fact_id, extract(epoch FROM valid_from)::float8, h"
                f" FROM {vector_tables.table('fact', dimensions)}"
                " WHERE account_id = %s AND scope_id = %s AND space_id = %s AND active",
                [store.account.id, store.scope.id, space_id],
            )
            rows = cursor.fetchall()
    vectors = np.array([row[2].to_numpy() for row in rows], dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [row[0] for row in rows], np.array([row[1] for row in rows]), vectors
