"""The endpoint of searches."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.models import IndexedUnit
from governance.http import body_of, principal_of
from retrieval.api.profile_views import profile_body
from retrieval.api.search_shapes import SearchCall, SearchShape
from retrieval.context.packet import ServedFact, ServedPassage
from retrieval.outcomes import Outcome
from retrieval.search.answer import Found, SearchAnswer
from retrieval.search.request import DEFAULT_PROFILE, SearchRequest
from retrieval.search.searching import search
from retrieval.strategies.base import SourceFilters


class SearchView(APIView):
    """Facts and passages that answer a question, ranked."""

    @extend_schema(
        operation_id="search_create",
        summary="Search facts and passages",
        description="Runs the strategies of a retrieval profile side by side under its deadline, merges their lists "
        "and keeps a trace. Each strategy looks only at what the reader may see; one that is late or fails is dropped "
        'and reported. Any of the words may match; `"phrase"`, `-term` and `or` between key words ask for more. '
        "Strategies cannot be chosen.",
        tags=["context"],
        request=SearchCall,
        responses=SearchShape,
    )
    def post(self, request: Request) -> Response:
        """Search."""
        principal = principal_of(request)
        values = body_of(request, SearchCall)
        return Response(search_body(search(principal=principal, request=search_request(values))))


def search_request(values: dict[str, Any]) -> SearchRequest:
    """Return the request that a validated call makes."""
    alias = values.get("subject_alias")
    filters = values.get("source_filters") or {}
    return SearchRequest(
        scope_path=values["call_scope"].path,
        exact=values["call_scope"].exact,
        subject_key=values["subject_key"] or "",
        subject_alias=(alias["kind"], alias["value"]) if alias else None,
        peer_key=values["reader_key"] or "",
        query=values["query"],
        purpose=values.get("purpose") or "",
        profile=values.get("profile") or DEFAULT_PROFILE,
        limit=values["limit"],
        min_score=values.get("min_score"),
        filters=SourceFilters(
            provider=filters.get("provider") or "",
            model=filters.get("model") or "",
            prompt_version=filters.get("prompt_version") or "",
            minimum_corroboration=filters.get("minimum_corroboration", 0),
            event_id=filters.get("event_id"),
        ),
        units=tuple(unit for unit in IndexedUnit if unit in values.get("types", IndexedUnit.values)),
        include_cross_links=values["include_cross_links"],
        include_identity_profile=values["include_identity_profile"],
        as_of=values.get("as_of"),
        known_at=values.get("known_at"),
    )


def search_body(answer: SearchAnswer) -> dict[str, Any]:
    """Return the answer to a search."""
    identity = answer.identity_profile
    return {
        "candidates": [candidate(found) for found in answer.results],
        "profile": answer.profile,
        "profile_version": answer.profile_version,
        "ranker": answer.ranker,
        "contributed_strategies": answer.contributed,
        "empty_strategies": answer.empty,
        "dropped_strategies": answer.dropped,
        "retrieval_outcomes": [_outcome(outcome) for outcome in answer.outcomes],
        "reader_posture": answer.reader_posture,
        "degraded": answer.degraded,
        "degraded_components": answer.degraded_components,
        "disagreement": {
            "strategy_count": answer.disagreement.strategy_count,
            "disjoint": answer.disagreement.disjoint,
            "low_score": answer.disagreement.low_score,
            "query_dependent_empty": answer.disagreement.query_dependent_empty,
        },
        "pre_rerank_remaining_ms": answer.pre_rerank_remaining_ms,
        "reserved_rerank_ms": answer.reserved_rerank_ms,
        "warnings": answer.warnings,
        "empty_reason": answer.empty_reason,
        "identity_profile_status": answer.identity_profile_status,
        "identity_profile": profile_body(identity, subject_key=answer.identity_subject) if identity else None,
        "trace_id": answer.trace_id,
    }


def candidate(found: Found) -> dict[str, Any]:
    """Return one result; all have the same members."""
    common = {
        "candidate_type": found.unit,
        "id": found.id,
        "text": found.text,
        "fusion_score": found.fusion_score,
        "strategies": list(found.strategies),
        "strategy_scores": found.strategies,
        "detail": found.detail,
        "scope": found.scope,
        "scope_id": found.scope_id,
        "subject_id": found.subject,
        "level": found.level,
        "sensitivity": found.sensitivity,
        "origin_trust": found.content.origin_trust,
        "kind": found.content.kind,
        "source_event_ids": found.source_event_ids,
    }
    if isinstance(found.content, ServedFact):
        return {**common, **_fact(found, found.content), **_NO_PASSAGE}
    return {**common, **_NO_FACT, **_passage(found.content)}


def _fact(found: Found, fact: ServedFact) -> dict[str, Any]:
    return {
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "statement": fact.statement,
        "version": fact.version,
        "predicate": fact.predicate or "statement",
        "value": fact.value if fact.value is not None else {"text": fact.statement},
        "qualifiers": fact.qualifiers,
        "category": fact.category,
        "memory_form": fact.form,
        "status": fact.status,
        "confidence": fact.confidence,
        "evidence_level": fact.evidence_level,
        "corroboration": found.corroboration,
        "extractor": {
            "provider": found.extractor_provider,
            "model": found.extractor_model,
            "prompt_version": found.prompt_version,
        },
        "volatility": fact.volatility,
        "freshness": fact.freshness,
        "last_confirmed": fact.last_confirmed,
        "possibly_conflicting": fact.possibly_conflicting,
    }


def _passage(passage: ServedPassage) -> dict[str, Any]:
    return {
        "valid_from": passage.occurred_at,
        "speaker": passage.speaker,
        "evidential": passage.evidential,
    }


#: What only passages have.
_NO_PASSAGE = {"speaker": None, "evidential": None}
#: What only facts have.
_NO_FACT = dict.fromkeys(
    (
        "valid_to",
        "statement",
        "version",
        "predicate",
        "value",
        "qualifiers",
        "category",
        "memory_form",
        "status",
        "confidence",
        "evidence_level",
        "corroboration",
        "extractor",
        "volatility",
        "freshness",
        "last_confirmed",
        "possibly_conflicting",
    )
)


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "component": outcome.component,
        "status": outcome.status,
        "reason_class": outcome.reason_class,
        "elapsed_ms": outcome.elapsed_ms,
        "budget_remaining_ms": outcome.budget_remaining_ms,
        "version": outcome.version or None,
    }
