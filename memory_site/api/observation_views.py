"""Observations over HTTP: the facts of this system as a bot's adapter lists, states, ends and forgets them."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.models import Fact
from facts.tenancy import ROOT, account_transaction
from governance import ending, forgetting
from governance.access import (
    Delegation,
    Principal,
    Right,
    all_readable_scopes,
    readable_scopes,
    require_right,
    resolve_reader,
)
from governance.http import body_of, principal_of, query_of, subject_named
from governance.idempotency import Answer, answer_once
from governance.pagination import cursor_for, page, paging, place_of
from ingest import manual
from ingest.manual import Statement
from memory_site.api import observation_shapes as shapes
from retrieval import observations
from retrieval.api.fact_views import FactView
from retrieval.api.views import FactsView
from retrieval.observations import ENTITY_KINDS, SHOWN, Sight

TAG = "observations"


class StatsView(APIView):
    """Figures."""

    @extend_schema(
        operation_id="context_stats",
        summary="Count observations",
        description="Those that hold and that the caller may see.",
        tags=[TAG],
        parameters=[shapes.SightQuery],
        responses=shapes.StatsShape,
    )
    def get(self, request: Request) -> Response:
        """Show the figures."""
        principal = principal_of(request)
        values = query_of(request, shapes.SightQuery)
        with account_transaction(principal.account_id):
            found = observations.counts(_sight(principal, values))
        return Response(
            {
                "totalObservations": found["total"],
                "observationsByCategory": found["by_category"],
                "observationsByEntityType": found["by_entity"],
            }
        )


class ObservationsView(APIView):
    """Observations."""

    @extend_schema(
        operation_id="context_observations_list",
        summary="List observations",
        description="Facts that hold, as far as the caller may see them, newest first; with `includeSuperseded` those "
        "that have ended as well.",
        tags=[TAG],
        parameters=[shapes.ObservationsQuery],
        responses=shapes.ObservationPage,
    )
    def get(self, request: Request) -> Response:
        """List a page."""
        principal = principal_of(request)
        values = query_of(request, shapes.ObservationsQuery)
        with account_transaction(principal.account_id):
            entity = {"entity_type": values.get("entityType") or "", "entity_id": values.get("entityId") or ""}
            sight = _sight(principal, values, **entity)
            found = observations.find(
                sight,
                **entity,
                category=values.get("category") or "",
                source_type=values.get("sourceType") or "",
                since=values.get("since"),
                until=values.get("until"),
                ended=values["includeSuperseded"],
            )
            rows, cursor = page(found, listing="observations", **paging(values))
            return Response({"observations": shapes.observations(sight, rows), "next_cursor": cursor})

    @extend_schema(
        operation_id="context_observations_create",
        summary="State an observation by hand",
        description="Through the gates like everything else. For people, and for keys to which one delegated "
        "`observe`. Kept in the named scope, else in the one to which the key is confined, else at the root.",
        tags=[TAG],
        request=shapes.ObservationStated,
        responses={201: shapes.StatedShape},
    )
    def post(self, request: Request) -> Response:
        """State it."""
        return state(request)


class ObservationView(APIView):
    """One observation."""

    @extend_schema(
        operation_id="context_observations_delete",
        summary="Forget an observation",
        description="Hides it from everybody and keeps it from being extracted again, until that is lifted. For its "
        "subject and for curators, and keys to which one delegated `forget`.",
        tags=[TAG],
        responses={200: shapes.ForgottenShape},
    )
    def delete(self, request: Request, observation_id: uuid.UUID) -> Response:
        """Forget it."""
        return forget(request, observation_id)


class SupersedeView(APIView):
    """Taking an observation out of what is current."""

    @extend_schema(
        operation_id="context_observations_supersede",
        summary="Supersede an observation",
        description="It stays in the history. For curators, and keys to which one delegated `observe`.",
        tags=[TAG],
        request=shapes.Superseding,
        responses=shapes.ObservationShape,
    )
    def post(self, request: Request, observation_id: uuid.UUID) -> Response:
        """Supersede it."""
        return supersede(request, observation_id)


class SummariesView(APIView):
    """Summaries of entities."""

    @extend_schema(
        operation_id="context_summaries_list",
        summary="List summaries of entities",
        description="Line by line, as far as the caller may see every observation that a line rests on. A page may "
        "hold fewer than `limit`, even none, while `next_cursor` leads on. With `query` those closest in meaning come "
        "first, `limit` of them without further pages; what was said today counts from the next night on.",
        tags=[TAG],
        parameters=[shapes.SummariesQuery],
        responses=shapes.SummaryPage,
    )
    def get(self, request: Request) -> Response:
        """List a page; what says nothing to the caller is left out of it."""
        principal = principal_of(request)
        require_right(principal, Right.READ)  # before anything is embedded for the caller
        values = query_of(request, shapes.SummariesQuery)
        wanted = {"entity_type": values.get("entityType") or "", "limit": values["limit"]}
        query = (values.get("query") or "").strip()
        vector = observations.vector_of(principal.account_id, query) if query else None
        with account_transaction(principal.account_id):
            sight = _sight(principal, values)
            if vector is not None:
                found = observations.summaries_like(sight, **wanted, vector=vector)
                return Response({"summaries": [shapes.summary(row) for row in found], "next_cursor": None})
            after = place_of(values["cursor"], listing="summaries") if values.get("cursor") else None
            listed = observations.summaries(sight, **wanted, after=after)
            on = cursor_for(listed.stopped_at, listing="summaries") if listed.stopped_at is not None else None
            return Response({"summaries": [shapes.summary(row) for row in listed.summaries], "next_cursor": on})


class EntityView(APIView):
    """What is known about an entity."""

    @extend_schema(
        operation_id="context_entity",
        summary="Get what is known about an entity",
        description=f"Its summary and its {SHOWN} newest observations.",
        tags=[TAG],
        parameters=[shapes.SightQuery],
        responses=shapes.EntityShape,
    )
    def get(self, request: Request, entity_type: str, entity_id: str) -> Response:
        """Show it."""
        principal = principal_of(request)
        values = query_of(request, shapes.SightQuery)
        with account_transaction(principal.account_id):
            sight = _sight(principal, values, entity_type=entity_type, entity_id=entity_id)
            summary = observations.summary(sight, entity_type=entity_type, entity_id=entity_id)
            rows = list(observations.find(sight, entity_type=entity_type, entity_id=entity_id)[:SHOWN])
            return Response(
                {
                    "entityType": entity_type,
                    "entityId": entity_id,
                    "summary": shapes.summary(summary) if summary else None,
                    "observations": shapes.observations(sight, rows),
                }
            )


class EntityTimelineView(APIView):
    """The history of an entity."""

    @extend_schema(
        operation_id="context_entity_timeline",
        summary="Get the timeline of an entity",
        description="Every observation that holds or has ended, newest first.",
        tags=[TAG],
        parameters=[shapes.TimelinePageQuery],
        responses=shapes.EntityTimeline,
    )
    def get(self, request: Request, entity_type: str, entity_id: str) -> Response:
        """Show a page."""
        principal = principal_of(request)
        values = query_of(request, shapes.TimelinePageQuery)
        with account_transaction(principal.account_id):
            sight = _sight(principal, values, entity_type=entity_type, entity_id=entity_id)
            found = observations.find(sight, entity_type=entity_type, entity_id=entity_id, ended=True)
            rows, cursor = page(found, listing="entity_timeline", **paging(values))
            return Response(
                {
                    "entityType": entity_type,
                    "entityId": entity_id,
                    "timeline": shapes.observations(sight, rows),
                    "next_cursor": cursor,
                }
            )


class StatedFactsView(FactsView):
    """Facts, which are listed, and stated by hand."""

    @extend_schema(
        operation_id="facts_create",
        summary="State a fact by hand",
        description="The same as `POST /v1/context/observations`.",
        tags=["facts"],
        request=shapes.ObservationStated,
        responses={201: shapes.StatedShape},
    )
    def post(self, request: Request) -> Response:
        """State it."""
        return state(request)


class HeldFactView(FactView):
    """One fact, which is read, and forgotten."""

    @extend_schema(
        operation_id="facts_delete",
        summary="Forget a fact",
        description="The same as `POST /v1/forget` with its `fact_id`.",
        tags=["facts"],
        responses={200: shapes.ForgottenShape},
    )
    def delete(self, request: Request, fact_id: uuid.UUID) -> Response:
        """Forget it."""
        return forget(request, fact_id)


class EndView(APIView):
    """Saying that a fact is over."""

    @extend_schema(
        operation_id="facts_end",
        summary="End a fact",
        description="It was true and is no more. For curators, and keys to which one delegated `observe`.",
        tags=["facts"],
        request=shapes.Ending,
        responses=shapes.ObservationShape,
    )
    def post(self, request: Request, fact_id: uuid.UUID) -> Response:
        """End it."""
        principal = principal_of(request)
        values = body_of(request, shapes.Ending)

        def work() -> Answer:
            fact = ending.end(principal, fact_id, at=values.get("at"), reason=values.get("reason") or "")
            return 200, _shown(principal, fact)

        return answer_once(request, work)


class SupersedeFactView(APIView):
    """Taking a fact out of what is current."""

    @extend_schema(
        operation_id="facts_supersede",
        summary="Supersede a fact",
        description="The same as `POST /v1/context/observations/{observation_id}/supersede`.",
        tags=["facts"],
        request=shapes.Superseding,
        responses=shapes.ObservationShape,
    )
    def post(self, request: Request, fact_id: uuid.UUID) -> Response:
        """Supersede it."""
        return supersede(request, fact_id)


def supersede(request: Request, fact_id: uuid.UUID) -> Response:
    """Supersede the fact of a request."""
    principal = principal_of(request)
    values = body_of(request, shapes.Superseding)

    def work() -> Answer:
        fact = ending.supersede(principal, fact_id, by=values.get("supersededBy"), reason=values.get("reason") or "")
        return 200, _shown(principal, fact)

    return answer_once(request, work)


def state(request: Request) -> Response:
    """State the observation of a request."""
    principal = principal_of(request)
    values = body_of(request, shapes.ObservationStated)
    scope = values["call_scope"].path if values["call_scope"] else principal.scope_limit or ROOT
    statement = Statement(
        scope=scope,
        subject_kind=ENTITY_KINDS[values["entityType"]][0],
        subject=values["entityId"],
        words=values["observation"],
        category=values["category"],
        confidence=values["confidence"],
        source_url=values.get("sourceUrl") or "",
        stated_on=values.get("sourceDate"),
    )

    def work() -> Answer:
        stated = manual.state(principal, statement)
        shown = _shown(principal, stated.fact) if stated.fact is not None else None
        return 201, {"result": stated.placement.result, "reason": stated.placement.reason, "observation": shown}

    return answer_once(request, work)


def forget(request: Request, fact_id: uuid.UUID) -> Response:
    """Forget the fact of a request, for whoever can forget anything at all."""
    principal = principal_of(request)
    if not principal.is_person and principal.subject_id is None and Delegation.FORGET not in principal.delegated:
        raise ending.human_required()
    receipt = forgetting.disable(principal, fact_id=fact_id)
    return Response({"id": fact_id, "status": "forgotten", "forget_id": receipt.id})


def _sight(principal: Principal, values: dict[str, Any], *, entity_type: str = "", entity_id: str = "") -> Sight:
    """Return as whom and where a call reads; whom it asks about is its subject where it names no other one."""
    require_right(principal, Right.READ)
    named = values["call_scope"]
    subject = subject_named(principal, values["subject_key"])
    if subject is None and entity_type and entity_id:
        asked_about = observations.entities(principal.account_id, entity_type, entity_id)[:2]
        subject = asked_about[0] if len(asked_about) == 1 else None
    reader = resolve_reader(principal, peer_key=values["reader_key"] or "", subject=subject)
    scopes = (
        readable_scopes(principal, named.path, exact=named.exact)
        if named is not None
        else all_readable_scopes(principal)
    )
    return Sight(principal=principal, reader=reader, scopes=scopes)


def _shown(principal: Principal, fact: Fact) -> dict[str, Any]:
    """Return a fact that the caller itself has stated or decided about."""
    sight = Sight(principal=principal, reader=resolve_reader(principal), scopes=all_readable_scopes(principal))
    return shapes.observations(sight, [fact])[0]
