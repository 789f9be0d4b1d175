"""Asking about a trace: replaying it, and why a fact was not served."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.models import IndexedUnit
from governance.access import Right, require_right
from governance.http import body_of, principal_of
from retrieval.api import presenting, trace_shapes
from retrieval.models import Trace
from retrieval.traces import replay, why_not
from retrieval.traces.replay import Replay, ReplayMode, Row


class ReplayView(APIView):
    """A trace asked again."""

    @extend_schema(
        operation_id="traces_replay_create",
        summary="Replay a trace",
        description="Asks the question of a trace again, as its reader may read today, and compares the two answers. "
        "For whoever may inspect the trace; shown is what the caller may see. Leaves a trace of its own.",
        tags=["context"],
        request=trace_shapes.ReplayCall,
        responses=trace_shapes.ReplayShape,
    )
    def post(self, request: Request, trace_id: uuid.UUID) -> Response:
        """Replay one trace."""
        principal = principal_of(request)
        values = body_of(request, trace_shapes.ReplayCall)
        require_right(principal, Right.READ)
        found = replay.replay(principal, trace_id, mode=ReplayMode(values["mode"]))
        return Response(_replayed(found))


class WhyView(APIView):
    """Why a read served a fact, or did not."""

    @extend_schema(
        operation_id="traces_why_retrieve",
        summary="Ask why a fact was not served",
        description="Walks through the gates of the pipeline in their order, also for a fact that was never "
        "considered. For whoever may inspect the trace and see the fact.",
        tags=["context"],
        responses=trace_shapes.WhyShape,
    )
    def get(self, request: Request, trace_id: uuid.UUID, fact_id: uuid.UUID) -> Response:
        """Explain what became of one fact."""
        principal = principal_of(request)
        require_right(principal, Right.READ)
        found = why_not.why(principal, trace_id, fact_id)
        return Response(
            {
                "trace_id": trace_id,
                "fact_id": fact_id,
                "served": found.served,
                "decision": presenting.decision(found.decision) if found.decision else None,
                "obstacles": [
                    {"code": one.code, "meaning": one.meaning, "detail": dict(one.detail)} for one in found.obstacles
                ],
            }
        )


def _replayed(found: Replay) -> dict[str, Any]:
    return {
        "mode": found.mode,
        "original": _side(found.original),
        "replayed": _side(found.replayed),
        "items": [_item(row) for row in found.rows],
        "hidden": found.hidden,
        "notes": found.notes,
    }


def _side(trace: Trace) -> dict[str, Any]:
    return {
        "trace_id": trace.pk,
        "profile": trace.profile,
        "ranker": trace.ranker,
        "status": trace.status,
        "empty_reason": trace.empty_reason or None,
        "as_of": trace.as_of,
        "known_at": trace.known_at,
        "served": len(replay.served_keys(trace)),
    }


def _item(row: Row) -> dict[str, Any]:
    unit, row_id = row.compared.item
    about_fact = unit == IndexedUnit.FACT
    return {
        "fact_id": row_id if about_fact else None,
        "episode_id": None if about_fact else row_id,
        "text": row.text,
        "change": row.compared.change,
        "rank_before": row.compared.before,
        "rank_after": row.compared.after,
        "reason_before": row.reason_before,
        "reason_after": row.reason_after,
    }
