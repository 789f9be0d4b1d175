"""The endpoints of reading."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.audience import Reader
from facts.clock import now
from facts.models import Scope, Subject
from facts.tenancy import account_transaction
from governance.access import (
    Principal,
    Right,
    all_readable_scopes,
    check_limit,
    curated_scopes,
    readable_scopes,
    require_right,
    resolve_reader,
)
from governance.http import body_of, principal_of, query_of, subject_named
from governance.pagination import page, paging
from governance.visible_conflicts import open_figures, visible_conflicts
from retrieval import candidates, fact_reads, statistics, work_figures
from retrieval.api import presenting, shapes
from retrieval.context.assembly import ContextRequest, assemble
from retrieval.traces import selectors
from retrieval.visibility import of_reader


class ContextView(APIView):
    """Context for a question."""

    @extend_schema(
        operation_id="context_create",
        summary="Get context for a question",
        description="Serves the facts and passages that fit the question, the reader and the budget, and keeps a trace "
        "of every decision. With `project_id`: exactly that scope, about the subject. With `scope`: it and its "
        "ancestors.",
        tags=["context"],
        request=shapes.ContextCall,
        responses=shapes.ContextShape,
    )
    def post(self, request: Request) -> Response:
        """Assemble a packet."""
        principal = principal_of(request)
        values = body_of(request, shapes.ContextCall)
        answer = assemble(principal=principal, request=_context_request(values))
        return Response(presenting.context_answer(answer, render=values["render"]))


class InspectView(APIView):
    """Why a packet was as it was."""

    @extend_schema(
        operation_id="inspect_retrieve",
        summary="Inspect a trace",
        description="For whoever made the call and for curators of its scope. The packet is rendered again from the "
        "revisions that were served, without what was forgotten since or may not be shown to the caller now.",
        tags=["context"],
        responses=shapes.InspectionShape,
    )
    def get(self, request: Request, trace_id: uuid.UUID) -> Response:
        """Show one trace."""
        principal = principal_of(request)
        require_right(principal, Right.READ)
        with account_transaction(principal.account_id):
            trace = selectors.get_trace(principal, trace_id)
            return Response(presenting.inspection(trace, selectors.packet_of(principal, trace)))


class TracesView(APIView):
    """Reads that were made."""

    @extend_schema(
        operation_id="traces_list",
        summary="List traces",
        description="Those of the caller's own calls, and those of the scopes that the caller curates; newest first.",
        tags=["context"],
        parameters=[shapes.TracesQuery],
        responses=shapes.TraceShapes,
    )
    def get(self, request: Request) -> Response:
        """List a page of traces."""
        principal = principal_of(request)
        values = query_of(request, shapes.TracesQuery)
        require_right(principal, Right.READ)
        with account_transaction(principal.account_id):
            named = values["call_scope"]
            if named is not None:
                check_limit(principal, named.path)
            found = selectors.traces(
                principal, path=named.path if named else None, subject_key=values["subject_key"] or ""
            )
            rows, cursor = page(found, listing="traces", **paging(values))
            return Response({"traces": [presenting.trace_summary(row) for row in rows], "next_cursor": cursor})


class FactsView(APIView):
    """What is stored about a subject or in a scope."""

    @extend_schema(
        operation_id="facts_list",
        summary="List facts",
        description="Current and ended facts under the audience rule; those in other states to their subject and to "
        "curators. Newest first. With `as_of` or `known_at` those that held then, or were believed then.",
        tags=["facts"],
        parameters=[shapes.FactsQuery],
        responses=shapes.StoredFactShapes,
    )
    def get(self, request: Request) -> Response:
        """List a page of facts."""
        principal = principal_of(request)
        values = query_of(request, shapes.FactsQuery)
        require_right(principal, Right.READ)
        with account_transaction(principal.account_id):
            scopes, subject, reader = _place(principal, values)
            found = fact_reads.believed(
                selectors.facts(principal, reader, scopes=scopes, subject=subject),
                as_of=values.get("as_of"),
                known_at=values.get("known_at"),
                status=values.get("status") or "",
            )
            if values["subject_key"] and subject is None:
                found = found.none()
            rows, cursor = page(found, listing="facts", **paging(values))
            rows = fact_reads.as_known(rows, values.get("known_at"))
            visible = of_reader(reader, scopes, account_id=principal.account_id)
            sources = candidates.sources(visible, [row.id for row in rows])
            listed = [presenting.stored_fact(row, sources=sources.get(row.id, ())) for row in rows]
            return Response({"facts": listed, "next_cursor": cursor})


class TimelineView(APIView):
    """What was said."""

    @extend_schema(
        operation_id="timeline_list",
        summary="List events",
        description="What was said, as far as the reader may see it, newest first. What is withheld by a conflict or "
        "was forgotten is left out. With `as_of` what was said by then, with `known_at` what was recorded by then.",
        tags=["facts"],
        parameters=[shapes.TimelineQuery],
        responses=shapes.EventShapes,
    )
    def get(self, request: Request) -> Response:
        """List a page of events."""
        principal = principal_of(request)
        values = query_of(request, shapes.TimelineQuery)
        require_right(principal, Right.READ)
        with account_transaction(principal.account_id):
            scopes, subject, reader = _place(principal, values)
            found = selectors.events(
                principal,
                reader,
                scopes=scopes,
                subject=subject,
                as_of=values.get("as_of"),
                known_at=values.get("known_at"),
            )
            if values["subject_key"] and subject is None:
                found = found.none()
            rows, cursor = page(found, listing="timeline", **paging(values))
            return Response({"events": [presenting.event(row) for row in rows], "next_cursor": cursor})


class OverviewView(APIView):
    """Figures about reading."""

    @extend_schema(
        operation_id="stats_overview_retrieve",
        summary="Show an overview",
        description="For a scope and everything below it, or for all scopes that the caller may read. What was "
        "decided, read for facts and rated is told for the scopes in which a person is a curator, and to keys with the "
        "right `diagnostics`; costs to those who see all of the account, without a subject.",
        tags=["statistics"],
        parameters=[shapes.OverviewQuery],
        responses=shapes.OverviewShape,
    )
    def get(self, request: Request) -> Response:
        """Show the figures."""
        principal = principal_of(request)
        values = query_of(request, shapes.OverviewQuery)
        require_right(principal, Right.READ)
        with account_transaction(principal.account_id):
            scopes = _scopes_below(principal, values)
            subject = subject_named(principal, values["subject_key"])
            reader = resolve_reader(principal, peer_key=values["reader_key"] or "", subject=subject)
            if values["subject_key"] and (subject is None or subject.id != reader.subject_id):
                # How much was said and read about somebody is for that subject and for curators.
                scopes = curated_scopes(principal, scopes) if subject else []
            conflicts = visible_conflicts(principal, reader, scopes)
            figures = open_figures(conflicts.filter(subject=subject) if subject else conflicts)
            overview = statistics.overview(
                account_id=principal.account_id,
                scopes=scopes,
                reader=reader,
                subject_id=subject.id if subject else None,
                window_days=values["days"],
            )
            return Response(
                presenting.overview(
                    overview,
                    open_conflicts=figures.count,
                    oldest_open=figures.oldest,
                    behind=None if values["subject_key"] else work_figures.behind(principal, scopes, values["days"]),
                    at=now(),
                )
            )


def _context_request(values: dict[str, Any]) -> ContextRequest:
    alias = values.get("subject_alias")
    in_characters = "budget_chars" in values
    return ContextRequest(
        scope_path=values["call_scope"].path,
        exact=values["call_scope"].exact,
        subject_key=values["subject_key"] or "",
        subject_alias=(alias["kind"], alias["value"]) if alias else None,
        peer_key=values["reader_key"] or "",
        query=values["query"],
        purpose=values.get("purpose") or "",
        budget=values["budget_chars"] if in_characters else values.get("budget_tokens", shapes.DEFAULT_BUDGET),
        budget_unit="chars" if in_characters else "tokens",
        as_of=values.get("as_of"),
        known_at=values.get("known_at"),
        thread=values["thread_key"] or "",
        with_profile=values["render"] == "compact",
    )


def _place(principal: Principal, values: dict[str, Any]) -> tuple[list[Scope], Subject | None, Reader]:
    """Return the scopes that a listing covers, the subject it names, and as whom it is read."""
    named = values["call_scope"]
    subject = subject_named(principal, values["subject_key"])
    reader = resolve_reader(principal, peer_key=values["reader_key"] or "", subject=subject)
    return readable_scopes(principal, named.path, exact=named.exact), subject, reader


def _scopes_below(principal: Principal, values: dict[str, Any]) -> list[Scope]:
    named = values["call_scope"]
    if named is None:
        return all_readable_scopes(principal)
    if named.exact:
        return readable_scopes(principal, named.path, exact=True)
    check_limit(principal, named.path)
    return selectors.readable_below(principal, named.path)
