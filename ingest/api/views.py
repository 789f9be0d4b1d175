"""Ingestion over HTTP: capture, processing on request, and what became of it."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.clock import now
from facts.errors import DomainError, NotFound
from facts.models import Subject
from facts.tenancy import account_transaction, get_scope
from governance.access import Right, check_limit, require_right
from governance.http import principal_of, query_of, subject_named
from governance.idempotency import Answer, answer_once
from ingest import outcomes, processing, usage_report
from ingest.api import shapes
from ingest.capture import capture
from ingest.line import Part
from ingest.observations import read_batch

TAG = "capture"
#: Longest time a call may process. Published clients give up after 10 to 30 seconds.
CONSOLIDATE_SECONDS = 20.0


class CaptureView(APIView):
    """Taking in what was said."""

    @extend_schema(
        operation_id="capture",
        summary="Capture events",
        description="Keeps a batch of observations, all or none, and queues them for extraction. A repeat is "
        "recognised by its key, or by its content. NUL, lone surrogates and control characters are replaced, with a "
        "note. Scope and subject are created on first use.",
        tags=[TAG],
        request=shapes.CaptureRequest,
        responses={202: shapes.Accepted},
    )
    def post(self, request: Request) -> Response:
        """Accept the batch."""
        principal = principal_of(request)
        require_right(principal, Right.CAPTURE)
        observations, batch_key = read_batch(request.data, at=now())

        def work() -> Answer:
            return 202, shapes.accepted(capture(principal, observations, batch_key=batch_key))

        return answer_once(request, work)


class ConsolidateView(APIView):
    """Processing what waits in the account."""

    @extend_schema(
        operation_id="consolidate",
        summary="Process the waiting events now",
        description="Those of the account, or of the scope to which a key is confined. Works for at most about "
        f"{CONSOLIDATE_SECONDS:.0f} seconds.",
        tags=[TAG],
        request=None,
        responses=shapes.Processed,
    )
    def post(self, request: Request) -> Response:
        """Process and say how far it came."""
        principal = principal_of(request)
        require_right(principal, Right.CAPTURE)
        part = Part(account_id=principal.account_id, under=principal.scope_limit)
        done = processing.drain(part, seconds=CONSOLIDATE_SECONDS)
        return Response({"processed": done.processed, "pending": done.pending})


class ConsolidateSubjectView(APIView):
    """Processing what waits for one subject."""

    @extend_schema(
        operation_id="consolidate_subject",
        summary="Process one subject's waiting events now",
        description="Returns when that subject's queued and claimed events are done, or after about "
        f"{CONSOLIDATE_SECONDS:.0f} seconds.",
        tags=[TAG],
        parameters=[shapes.SubjectLine],
        request=None,
        responses=shapes.Processed,
    )
    def post(self, request: Request) -> Response:
        """Process and say how far it came; nothing waits for a scope or subject that is unknown."""
        principal = principal_of(request)
        query = query_of(request, shapes.SubjectLine)
        require_right(principal, Right.CAPTURE)
        path = query["call_scope"].path
        check_limit(principal, path)
        if not query["subject_key"]:
            raise DomainError("Name a subject.", code="missing_scope", field="subject_id")
        with account_transaction(principal.account_id):
            scope = get_scope(principal.account_id, path)
            subject: Subject | None = subject_named(principal, query["subject_key"])
        if scope is None or subject is None:
            return Response({"processed": 0, "pending": 0})
        part = Part(account_id=principal.account_id, scope_id=scope.id, subject_id=subject.id)
        done = processing.drain(part, seconds=CONSOLIDATE_SECONDS)
        return Response({"processed": done.processed, "pending": done.pending})


class OutcomeView(APIView):
    """What became of an event."""

    @extend_schema(
        operation_id="events_outcome",
        summary="What became of an event",
        description="Says which facts came of it, and of everything else why it was not remembered.",
        tags=[TAG],
        responses=shapes.Outcome,
    )
    def get(self, request: Request, event_id: uuid.UUID) -> Response:
        """Return the outcome."""
        principal = principal_of(request)
        with account_transaction(principal.account_id):
            body = shapes.outcome(*outcomes.find(principal, event_id))
        return Response(body)


class JobView(APIView):
    """One piece of background work."""

    @extend_schema(operation_id="jobs_get", summary="How far a job is", tags=[TAG], responses=shapes.JobShape)
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Return the job."""
        principal = principal_of(request)
        with account_transaction(principal.account_id):
            found = outcomes.find_job(principal, job_id)
            if found is None:
                raise NotFound("There is no such job.", code="job_not_found")
            body = shapes.job(found)
        return Response(body)


class UsageView(APIView):
    """What models cost."""

    @extend_schema(
        operation_id="usage",
        summary="What models cost",
        description="Calls, tokens and cost by day, role and model, and today's budget. For curators of the account, "
        "and keys with the right `diagnostics` that are not confined to a scope.",
        tags=["statistics"],
        parameters=[shapes.UsageQuery],
        responses=shapes.UsageShape,
    )
    def get(self, request: Request) -> Response:
        """Show the figures."""
        principal = principal_of(request)
        query = query_of(request, shapes.UsageQuery)
        with account_transaction(principal.account_id):
            body = shapes.usage(usage_report.report(principal, days=query["days"]))
        return Response(body)
