"""Reading one fact: as it is or was, its history, and its explanation."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.audience import Reader
from facts.models import FactRevision
from facts.tenancy import account_transaction
from governance.access import Principal, Right, all_readable_scopes, require_right, resolve_reader
from governance.http import principal_of, query_of, subject_named
from retrieval import candidates, fact_reads
from retrieval.api import fact_shapes, presenting
from retrieval.api.shapes import StoredFactShape
from retrieval.fact_reads import Explained
from retrieval.visibility import of_reader


class FactView(APIView):
    """One fact."""

    @extend_schema(
        operation_id="facts_retrieve",
        summary="Read a fact",
        description="As it is, or with `known_at` as it was believed then. A fact that did not hold at `as_of`, or "
        "that the caller may not see, is not there.",
        tags=["facts"],
        parameters=[fact_shapes.FactQuery],
        responses=StoredFactShape,
    )
    def get(self, request: Request, fact_id: uuid.UUID) -> Response:
        """Show one fact."""
        principal = principal_of(request)
        values = query_of(request, fact_shapes.FactQuery)
        with account_transaction(principal.account_id):
            reader = _reader(principal, values)
            fact = fact_reads.get(
                principal, reader, fact_id, as_of=values.get("as_of"), known_at=values.get("known_at")
            )
            visible = of_reader(reader, all_readable_scopes(principal), account_id=principal.account_id)
            sources = candidates.sources(visible, [fact.id])
            return Response(presenting.stored_fact(fact, sources=sources.get(fact.id, ())))


class FactHistoryView(APIView):
    """How a fact came to be what it is."""

    @extend_schema(
        operation_id="facts_history_retrieve",
        summary="Read the history of a fact",
        description="Its revisions, oldest first. Those in which it was neither current nor ended, and who decided "
        "and why, are for its subject and curators.",
        tags=["facts"],
        parameters=[fact_shapes.FactReaderQuery],
        responses=fact_shapes.FactHistoryShape,
    )
    def get(self, request: Request, fact_id: uuid.UUID) -> Response:
        """Show the revisions."""
        principal = principal_of(request)
        values = query_of(request, fact_shapes.FactReaderQuery)
        with account_transaction(principal.account_id):
            reader = _reader(principal, values)
            fact, revisions = fact_reads.history(principal, reader, fact_id)
            told_all = fact_reads.is_told_all(principal, reader, fact)
            return Response(
                {
                    "fact_id": fact.id,
                    "statement": fact.statement,
                    "revisions": [_revision(row, told_all=told_all) for row in revisions],
                }
            )


class FactExplanationView(APIView):
    """Why a fact is known, and who sees it."""

    @extend_schema(
        operation_id="facts_explain_retrieve",
        summary="Explain a fact",
        description="Its status and audience in words, who sees it and why, the words it rests on, what it is related "
        "to, and what keeps it from being remembered again.",
        tags=["facts"],
        parameters=[fact_shapes.FactReaderQuery],
        responses=fact_shapes.FactExplanationShape,
    )
    def get(self, request: Request, fact_id: uuid.UUID) -> Response:
        """Explain one fact."""
        principal = principal_of(request)
        values = query_of(request, fact_shapes.FactReaderQuery)
        with account_transaction(principal.account_id):
            found = fact_reads.explain(principal, _reader(principal, values), fact_id)
            return Response(_explained(found))


def _reader(principal: Principal, values: dict[str, Any]) -> Reader:
    require_right(principal, Right.READ)
    subject = subject_named(principal, values["subject_key"])
    return resolve_reader(principal, peer_key=values["reader_key"] or "", subject=subject)


def _revision(row: FactRevision, *, told_all: bool) -> dict[str, Any]:
    return {
        "version": row.version,
        "status": row.status,
        "action": row.action,
        "scope": row.scope.path,
        "level": row.level,
        "sensitivity": row.sensitivity,
        "memory_form": row.form,
        "value": row.value,
        "qualifiers": row.qualifiers,
        "confidence": row.confidence,
        "volatility": row.volatility,
        "corroboration": row.corroboration,
        "valid_from": row.valid_from,
        "valid_to": row.valid_to,
        "expires_at": row.expires_at,
        "last_reinforced_at": row.last_reinforced_at,
        "recorded_from": row.recorded_from,
        "recorded_to": row.recorded_to,
        "actor": row.actor if told_all else None,
        "reason": row.reason if told_all else None,
        "decision_id": row.group if told_all else None,
    }


def _explained(found: Explained) -> dict[str, Any]:
    shown = tuple(quote.event_id for quote in found.quotes if quote.event_id is not None)
    return {
        "fact": presenting.stored_fact(found.fact, sources=shown),
        "status": found.status,
        "audience": found.audience,
        "readers": [{"reader": sight.reader, "sees": sight.sees, "why": sight.why} for sight in found.sights],
        "evidence": [
            {
                "event_id": quote.event_id,
                "quote": quote.words,
                "occurred_at": quote.occurred_at,
                "human": quote.human,
                "withdrawn": quote.withdrawn,
            }
            for quote in found.quotes
        ],
        "relations": [
            {
                "kind": edge.kind,
                "direction": "outgoing" if edge.outgoing else "incoming",
                "fact_id": edge.other.pk if edge.other else None,
                "statement": edge.other.statement if edge.other else None,
                "since": edge.since,
            }
            for edge in found.edges
        ],
        "suppressions": [
            {
                "id": row.pk,
                "cause": row.cause,
                "evidence_until": row.evidence_until,
                "created_at": row.created_at,
                "lifted_at": row.lifted_at,
            }
            for row in found.suppressions
        ],
    }
