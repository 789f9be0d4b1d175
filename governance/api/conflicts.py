"""Conflict sets over HTTP: what is open, and every verb that decides one."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.audience import Reader
from facts.clock import now
from facts.errors import NotFound, Refused
from facts.models import ConflictDecision, ConflictSet, Fact
from facts.tenancy import account_transaction
from facts.vocabulary import ConflictStatus, Status
from governance import conflicts
from governance.access import (
    Delegation,
    Principal,
    Right,
    all_readable_scopes,
    readable_scopes,
    require_right,
    resolve_reader,
)
from governance.api import conflict_shapes as shapes
from governance.http import body_of, principal_of, query_of, subject_named
from governance.idempotency import Answer, answer_once
from governance.pagination import page, paging
from governance.visible_conflicts import open_figures, sides_of, visible_conflicts

TAG = "conflicts"


class ConflictsView(APIView):
    """The conflict sets that the caller may be shown."""

    @extend_schema(
        operation_id="conflicts_list",
        summary="List conflict sets",
        description="Open ones unless `status` says otherwise, oldest first. A set is listed to those who may decide "
        "it, and to readers who may see every side of it.",
        tags=[TAG],
        parameters=[shapes.ConflictQuery],
        responses=shapes.Conflicts,
    )
    def get(self, request: Request) -> Response:
        """Return one page of sets and the figures of the open ones."""
        principal = principal_of(request)
        query = query_of(request, shapes.ConflictQuery)
        require_right(principal, Right.READ)
        with account_transaction(principal.account_id):
            reader, sets = _visible(principal, query)
            figures = open_figures(sets)
            wanted = sets.filter(status=query["status"])
            found, next_cursor = page(wanted, listing="conflicts", oldest_first=True, **paging(query))
            shown = sides_of(principal, reader, found)
            body = {
                "conflicts": [shapes.conflict(each, *shown[each.id]) for each in found],
                "open_count": figures.count,
                "oldest_open_seconds": int((now() - figures.oldest).total_seconds()) if figures.oldest else None,
                "next_cursor": next_cursor,
            }
        return Response(body)


class ConflictView(APIView):
    """One conflict set."""

    @extend_schema(
        operation_id="conflicts_get",
        summary="Get a conflict set",
        tags=[TAG],
        parameters=[shapes.OneConflictQuery],
        responses=shapes.Conflict,
    )
    def get(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """Return the set as the caller may see it."""
        principal = principal_of(request)
        query = query_of(request, shapes.OneConflictQuery)
        require_right(principal, Right.READ)
        with account_transaction(principal.account_id):
            reader, sets = _visible(principal, query)
            conflict = _found(sets, conflict_id)
            body = shapes.conflict(conflict, *sides_of(principal, reader, [conflict])[conflict.id])
        return Response(body)


class ResolveView(APIView):
    """Deciding a set."""

    @extend_schema(
        operation_id="conflicts_resolve",
        summary="Resolve a conflict set",
        description="By `keep_fact_id` alone: keep that one, the others were true until it began.",
        tags=[TAG],
        request=shapes.Resolve,
        responses=shapes.Resolved,
    )
    def post(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """Decide and say what became of each side."""
        values = body_of(request, shapes.Resolve)
        common = {"rationale": values["rationale"], "expected_version": values["version"]}
        decide = _VERBS[values["verb"]]
        return _answer(request, conflict_id, values, lambda caller: decide(caller, conflict_id, values, common))


class DismissView(APIView):
    """Saying that there is no contradiction."""

    @extend_schema(
        operation_id="conflicts_dismiss",
        summary="Dismiss a conflict set",
        description="The members do not contradict each other; `distinction` says what separates them.",
        tags=[TAG],
        request=shapes.Dismiss,
        responses=shapes.Resolved,
    )
    def post(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """Dismiss and say what became of each side."""
        values = body_of(request, shapes.Dismiss)
        return _answer(
            request,
            conflict_id,
            values,
            lambda caller: conflicts.dismiss(
                caller,
                conflict_id,
                distinction=values.get("distinction") or "",
                rationale=values["rationale"],
                expected_version=values["version"],
            ),
        )


class DeferView(APIView):
    """Deciding later."""

    @extend_schema(
        operation_id="conflicts_defer",
        summary="Defer a conflict set",
        description="It stays open, withholds as before, and leaves the queue until then.",
        tags=[TAG],
        request=shapes.Defer,
        responses=shapes.Resolved,
    )
    def post(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """Defer."""
        values = body_of(request, shapes.Defer)
        return _answer(
            request,
            conflict_id,
            values,
            lambda caller: conflicts.defer(
                caller,
                conflict_id,
                until=values["until"],
                rationale=values["rationale"],
                expected_version=values["version"],
            ),
        )


class ReopenView(APIView):
    """Taking the last decision back."""

    @extend_schema(
        operation_id="conflicts_reopen",
        summary="Reopen a conflict set",
        description="Undoes the last decision, while nothing has built on it.",
        tags=[TAG],
        request=shapes.Reopen,
        responses=shapes.Resolved,
    )
    def post(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """Undo."""
        values = body_of(request, shapes.Reopen)
        return _answer(
            request,
            conflict_id,
            values,
            lambda caller: conflicts.undo_last(caller, conflict_id, rationale=values["rationale"]),
        )


def _visible(principal: Principal, values: dict[str, Any]) -> tuple[Reader, QuerySet[ConflictSet]]:
    """Return as whom the call reads, and the sets that it may be shown; narrowed to the scope and subject it names."""
    named = values["call_scope"]
    if named is None:
        scopes = all_readable_scopes(principal)
    else:
        scopes = readable_scopes(principal, named.path, exact=named.exact)
    subject = subject_named(principal, values.get("subject_key"))
    reader = resolve_reader(principal, peer_key=values.get("reader_key") or "", subject=subject)
    sets = visible_conflicts(principal, reader, scopes)
    if values.get("subject_key"):
        sets = sets.filter(subject=subject) if subject else sets.none()
    return reader, sets


def _found(sets: QuerySet[ConflictSet], conflict_id: uuid.UUID) -> ConflictSet:
    conflict = sets.filter(pk=conflict_id).first()
    if conflict is None:
        raise NotFound("There is no such conflict set.", code="conflict_not_found")
    return conflict


def _answer(
    request: Request,
    conflict_id: uuid.UUID,
    values: dict[str, Any],
    decide: Callable[[Principal], ConflictDecision],
) -> Response:
    """Run a decision once and answer what it did."""
    principal = principal_of(request)
    # Before anything is looked up: a key without the delegation learns nothing about which sets there are.
    if not principal.is_person and Delegation.RESOLVE not in principal.delegated:
        raise Refused("A person has to decide this.", code="human_required")

    def work() -> Answer:
        reader, sets = _visible(principal, values)
        conflict = _found(sets, conflict_id)
        _, hidden = sides_of(principal, reader, [conflict])[conflict.id]
        if hidden and not principal.is_person:
            raise Refused("A person has to decide this: not every side is shown to keys.", code="human_required")
        return 200, _outcome(decide(principal))

    return answer_once(request, work)


def _outcome(decision: ConflictDecision) -> dict[str, Any]:
    """Return what a decision did: Haki's answer, and where each changed fact stands now."""
    conflict = ConflictSet.objects.get(account_id=decision.account_id, pk=decision.conflict_set_id)
    changed = [uuid.UUID(change["fact"]) for change in decision.changes]
    statuses = dict(
        Fact.objects.filter(account_id=decision.account_id, pk__in=changed).order_by("id").values_list("pk", "status")
    )
    closed = conflict.status != ConflictStatus.OPEN
    return {
        "conflict_id": conflict.id,
        "status": conflict.status,
        "verb": decision.verb,
        "decision_id": decision.id,
        "version": conflict.version,
        "kept_fact_id": decision.detail.get("kept") if closed else None,
        "superseded_fact_ids": [pk for pk, status in statuses.items() if closed and status == Status.SUPERSEDED],
        "facts": [{"fact_id": pk, "status": status} for pk, status in statuses.items()],
        "resolved_at": conflict.closed_at,
        "deferred_until": conflict.deferred_until,
    }


def _keep_one(caller: Principal, conflict_id: uuid.UUID, values: Any, common: Any) -> ConflictDecision:
    never_true = values["verb"] == shapes.Verb.NEVER_TRUE
    return conflicts.keep_one(
        caller, conflict_id, fact_id=values["keep_fact_id"], others_never_true=never_true, **common
    )


_VERBS: dict[str, Callable[..., ConflictDecision]] = {
    shapes.Verb.KEEP_ONE: _keep_one,
    shapes.Verb.NEVER_TRUE: _keep_one,
    shapes.Verb.REJECT_ALL: lambda caller, pk, values, common: conflicts.reject_all(caller, pk, **common),
    shapes.Verb.KEEP_AS_EVENTS: lambda caller, pk, values, common: conflicts.keep_as_events(caller, pk, **common),
    shapes.Verb.KEEP_BY_QUALIFIER: lambda caller, pk, values, common: conflicts.keep_by_qualifier(
        caller, pk, qualifiers=values["qualifiers"], **common
    ),
    shapes.Verb.KEEP_BY_INTERVAL: lambda caller, pk, values, common: conflicts.keep_by_interval(
        caller, pk, intervals=values["intervals"], **common
    ),
}
