"""How the work of an account stands, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.errors import Refused
from facts.models import LongJob
from facts.tenancy import ROOT, account_transaction
from governance.access import Right, Role, check_limit, has_role, require_right
from governance.http import principal_of
from memory_site import operations
from memory_site.operations import Operations, Queue


class QueueShape(serializers.Serializer):
    """What waits."""

    waiting = serializers.IntegerField()
    oldest_seconds = serializers.FloatField(allow_null=True, help_text="How long the oldest has waited.")


class WorkerShape(serializers.Serializer):
    """The background worker of the installation."""

    alive = serializers.BooleanField()
    last_beat_at = serializers.DateTimeField(allow_null=True)
    oldest_task_seconds = serializers.FloatField(
        allow_null=True, help_text="How long the oldest task of any account has waited."
    )


class JobsShape(QueueShape):
    """Jobs of one kind."""

    kind = serializers.CharField()
    running = serializers.IntegerField()
    dead = serializers.IntegerField(help_text="Given up; a person can have them tried again.")


class LongWorkShape(serializers.Serializer):
    """Work that takes long."""

    id = serializers.UUIDField()
    kind = serializers.CharField()
    state = serializers.CharField()
    done = serializers.IntegerField()
    total = serializers.IntegerField(allow_null=True)
    unit = serializers.CharField()
    updated_at = serializers.DateTimeField()
    silent = serializers.BooleanField(help_text="It should go on and gives no sign of life.")


class ScheduleShape(serializers.Serializer):
    """Something that runs by the clock."""

    name = serializers.CharField()
    completed_at = serializers.DateTimeField(allow_null=True)
    settled = serializers.IntegerField(allow_null=True, help_text="How many things its last run dealt with.")
    late = serializers.BooleanField()


class HealthShape(serializers.Serializer):
    """How the work stands."""

    status = serializers.ChoiceField(choices=["ok", "attention"], help_text="`attention`: something needs a person.")
    checked_at = serializers.DateTimeField()
    worker = WorkerShape()
    jobs = JobsShape(many=True)
    unread_events = QueueShape()
    deliveries = QueueShape()
    dead_letters = serializers.IntegerField(help_text="Deliveries that were given up.")
    long_work = LongWorkShape(many=True)
    schedules = ScheduleShape(many=True)
    figures_counted_until = serializers.DateTimeField(allow_null=True)


class HealthView(APIView):
    """How the work of an account stands."""

    @extend_schema(
        operation_id="stats_health_retrieve",
        summary="Show how the work stands",
        description="The worker's signs of life, what waits in the queues and for how long, what was given up, and "
        "what runs by the clock. For administrators of the account, and keys with the right `diagnostics` that are not "
        "confined to a scope.",
        tags=["statistics"],
        responses=HealthShape,
    )
    def get(self, request: Request) -> Response:
        """Show it."""
        principal = principal_of(request)
        require_right(principal, Right.DIAGNOSTICS)
        check_limit(principal, ROOT)
        if principal.is_person and not has_role(principal, ROOT, Role.ACCOUNT_ADMIN):
            raise Refused("Only an administrator of the account may see how its work stands.", code="forbidden_scope")
        with account_transaction(principal.account_id):
            return Response(_shown(operations.of_account(principal.account_id)))


def _shown(found: Operations) -> dict[str, Any]:
    silent = {job.pk for job in found.silent_work}
    return {
        "status": "ok" if found.is_sound else "attention",
        "checked_at": found.at,
        "worker": {
            "alive": found.worker_lives,
            "last_beat_at": found.last_beat,
            "oldest_task_seconds": _seconds(found.oldest_task, found.at),
        },
        "jobs": [
            {
                "kind": jobs.kind,
                "waiting": jobs.waiting,
                "oldest_seconds": _seconds(jobs.oldest_due, found.at),
                "running": jobs.running,
                "dead": jobs.dead,
            }
            for jobs in found.jobs
        ],
        "unread_events": _queue(found.unread, found.at),
        "deliveries": _queue(found.deliveries, found.at),
        "dead_letters": found.dead_letters,
        "long_work": [_work(job, silent=job.pk in silent) for job in found.long_work],
        "schedules": [
            {
                "name": state.name,
                "completed_at": state.completed_at,
                "settled": state.settled,
                "late": state.is_late,
            }
            for state in found.schedules
        ],
        "figures_counted_until": found.counted_until,
    }


def _work(job: LongJob, *, silent: bool) -> dict[str, Any]:
    shown = {name: getattr(job, name) for name in ("id", "kind", "state", "done", "total", "unit", "updated_at")}
    return {**shown, "silent": silent}


def _queue(queue: Queue, at: datetime) -> dict[str, Any]:
    return {"waiting": queue.waiting, "oldest_seconds": _seconds(queue.oldest, at)}


def _seconds(since: datetime | None, at: datetime) -> float | None:
    return None if since is None else (at - since).total_seconds()
