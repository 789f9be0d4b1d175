"""Writing a trace, and reading its packed decisions."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db.models import Field, JSONField

from facts.models import IndexedUnit
from facts.statements import execute
from governance.access import Principal
from retrieval.models import Trace
from retrieval.places import Place
from retrieval.traces.reasons import MEANING, Action, Reason

#: The order of the values in a packed decision, of which a trace holds one or two hundred. The last is there for
#: searches only, and not in what was written before there were any.
FIELDS = (
    "unit",
    "id",
    "reason",
    "revision",
    "rank",
    "similarity",
    "text_score",
    "recency",
    "fusion_score",
    "tokens",
    "scores",
)


@dataclass(slots=True, kw_only=True)
class Decision:
    """What happened to one thing considered.

    ``rank`` counts from 1 in the fused order of its unit. Scores are the strategies' own; those that were not
    computed are ``None``, as is the revision of what was only seen by its id. A context call has its three scores,
    a search one in ``scores`` for each strategy that found the row.
    """

    unit: IndexedUnit
    id: uuid.UUID
    reason: Reason
    revision: int | None = None
    rank: int | None = None
    similarity: float | None = None
    text_score: float | None = None
    recency: float | None = None
    fusion_score: float | None = None
    tokens: int | None = None
    scores: Mapping[str, float] | None = None

    def packed(self) -> list[Any]:
        """Return the form that is stored as JSON: the values of ``FIELDS``, scores to four digits."""
        values = [
            self.unit,
            self.id,
            self.reason,
            self.revision,
            self.rank,
            self.similarity and round(self.similarity, 4),
            self.text_score and round(self.text_score, 4),
            self.recency and round(self.recency, 4),
            self.fusion_score and round(self.fusion_score, 4),
            self.tokens,
        ]
        if self.scores is not None:
            values.append({strategy: round(score, 4) for strategy, score in self.scores.items()})
        return values


def asked_by(principal: Principal, place: Place, *, subject_key: str) -> dict[str, Any]:
    """Return the columns of a trace that say who read where, about whom and as whom.

    ``subject_key`` is what the call named, kept where there is no such subject.
    """
    return {
        "account_id": principal.account_id,
        "scope_id": place.scope.id if place.scope else None,
        "scope_path": place.path,
        "subject_id": place.subject.id if place.subject else None,
        "subject_key": place.subject.key if place.subject else subject_key[:200],
        "reader_posture": place.reader.posture.value,
        "reader_id": place.reader.subject_id,
        "credential_id": principal.pk,
        "credential_name": principal.name[:200],
    }


def decided(decisions: Sequence[Decision]) -> dict[str, Any]:
    """Return the columns of a trace that hold and count its decisions."""
    return {
        "decisions": [decision.packed() for decision in decisions],
        "reasons": dict(Counter(decision.reason.value for decision in decisions)),
        "considered": len(decisions),
        "withheld": sum(MEANING[decision.reason][0] is Action.BLOCKED for decision in decisions),
    }


def write(trace: Trace) -> None:
    """Insert ``trace`` in the running transaction; its JSON is written by the fast encoder."""
    columns = Trace._meta.concrete_fields
    execute(
        f"INSERT INTO {Trace._meta.db_table} ({', '.join(column.column for column in columns)})"
        f" VALUES ({', '.join(f'%({column.attname})s' for column in columns)})",
        {column.attname: _stored(column, getattr(trace, column.attname)) for column in columns},
    )


def _stored(column: Field, value: Any) -> Any:
    return orjson.dumps(value).decode() if isinstance(column, JSONField) else value


def unpack(decisions: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return packed decisions as objects, each with its action and the sentence that explains its reason."""
    unpacked = []
    for packed in decisions:
        decision = dict.fromkeys(FIELDS) | dict(zip(FIELDS, packed, strict=False))
        action, sentence = MEANING[Reason(decision["reason"])]
        unpacked.append({**decision, "action": action.value, "meaning": sentence})
    return unpacked
