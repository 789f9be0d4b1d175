"""Reading the history of Slack, over HTTP: begin it, and see how far it is."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts import long_jobs
from facts.errors import Refused
from facts.models import LongJob
from facts.tenancy import ROOT, account_transaction
from governance.access import Principal, Right, Role, has_role, require_right
from governance.http import body_of, principal_of
from governance.idempotency import answer_once
from ingest import backfill
from ingest.models import BackfillChannel

TAG = "capture"


class BackfillRequest(serializers.Serializer):
    """What is to be read; ``channelId`` and ``channel_id`` mean the same."""

    scope = serializers.ChoiceField(choices=backfill.SCOPES, default="org", help_text="`org` or `channel`.")
    channel_id = serializers.CharField(max_length=64, required=False, default="", allow_blank=True)
    channelId = serializers.CharField(max_length=64, required=False, default="", allow_blank=True)
    team = serializers.CharField(
        max_length=64,
        required=False,
        default="",
        allow_blank=True,
        help_text="Identifier of the workspace, where several are connected.",
    )


class BackfillChannelShape(serializers.Serializer):
    """One channel: `oldest` is how far back it has been read, `newest` from where the next backfill begins."""

    channel_id = serializers.CharField()
    name = serializers.CharField()
    status = serializers.ChoiceField(choices=["pending", "reading", "done", "skipped"])
    reason = serializers.CharField(help_text="Why it was skipped; `not_in_channel`: the bot has not been invited.")
    messages = serializers.IntegerField()
    replies = serializers.IntegerField()
    threads_waiting = serializers.IntegerField()
    oldest = serializers.CharField()
    newest = serializers.CharField()
    finished_at = serializers.DateTimeField(allow_null=True)


class BackfillStatusShape(serializers.Serializer):
    """How far the backfill that was begun last is; `status` is `none` where there never was one."""

    job_id = serializers.UUIDField(allow_null=True)
    status = serializers.CharField()
    stage = serializers.CharField(help_text="`members`, `channels`, `history` or `facts`.")
    done = serializers.IntegerField()
    total = serializers.IntegerField(allow_null=True)
    unit = serializers.CharField()
    counts = serializers.DictField(child=serializers.IntegerField())
    error = serializers.CharField()
    started_at = serializers.DateTimeField(allow_null=True)
    updated_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    estimated_end = serializers.DateTimeField(allow_null=True)
    channels = BackfillChannelShape(many=True)


class BackfillView(APIView):
    """Beginning to read the history."""

    @extend_schema(
        operation_id="context_backfill",
        summary="Read the history of Slack",
        description="The last year of one channel (`channel`), or of all that were opted in (`org`), threads included. "
        "What is under way already is widened instead of begun twice. For curators of the whole account, and keys with "
        "the right `capture` that are neither confined to a scope nor bound to a peer.",
        tags=[TAG],
        request=BackfillRequest,
        responses={202: BackfillStatusShape},
    )
    def post(self, request: Request) -> Response:
        """Begin, or widen what is under way."""
        principal = principal_of(request)
        _require_account(principal)
        body = body_of(request, BackfillRequest)
        channel_id = body["channel_id"] or body["channelId"]

        def work() -> tuple[int, dict[str, Any]]:
            backfill.start(
                principal.account_id,
                scope=body["scope"],
                team=body["team"],
                channel_id=channel_id,
                actor=principal.actor,
            )
            return 202, _status(principal)

        return answer_once(request, work)


class BackfillStatusView(APIView):
    """How far it is."""

    @extend_schema(
        operation_id="context_backfill_status",
        summary="How far the history of Slack has been read",
        tags=[TAG],
        responses=BackfillStatusShape,
    )
    def get(self, request: Request) -> Response:
        """Tell it."""
        principal = principal_of(request)
        _require_account(principal)
        with account_transaction(principal.account_id):
            return Response(_status(principal))


def _require_account(principal: Principal) -> None:
    """Refuse those who may not act for, or look at, the channels of the whole account."""
    require_right(principal, Right.CAPTURE)
    if principal.is_person:
        allowed = has_role(principal, ROOT, Role.CURATOR)
    else:
        allowed = principal.scope_limit in {None, ROOT} and principal.subject_id is None
    if not allowed:
        raise Refused("This is about all channels of the account.", code="forbidden_scope", field="scope")


def _status(principal: Principal) -> dict[str, Any]:
    with account_transaction(principal.account_id):
        work = backfill.latest(principal.account_id)
        rows = backfill.states(principal.account_id)
    return {**_work(work), "channels": [_channel(row, name) for row, name in rows]}


def _work(work: LongJob | None) -> dict[str, Any]:
    if work is None:
        return {
            "job_id": None,
            "status": "none",
            "stage": "",
            "done": 0,
            "total": None,
            "unit": long_jobs.kind_of(backfill.KIND).unit,
            "counts": {},
            "error": "",
            "started_at": None,
            "updated_at": None,
            "finished_at": None,
            "estimated_end": None,
        }
    return {
        "job_id": work.pk,
        "status": work.state,
        "stage": work.position.get("stage", "members"),
        "done": work.done,
        "total": work.total,
        "unit": work.unit,
        "counts": work.counts,
        "error": work.error_class,
        "started_at": work.started_at,
        "updated_at": work.updated_at,
        "finished_at": work.finished_at,
        "estimated_end": long_jobs.estimated_end(work),
    }


def _channel(row: BackfillChannel, name: str) -> dict[str, Any]:
    return {
        "channel_id": row.channel_id,
        "name": name,
        "status": row.state,
        "reason": row.reason,
        "messages": row.messages,
        "replies": row.replies,
        "threads_waiting": len(row.threads),
        "oldest": row.oldest,
        "newest": row.newest,
        "finished_at": row.finished_at,
    }
