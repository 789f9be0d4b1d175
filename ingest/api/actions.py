"""Actions over HTTP, for signed-in people: what is to be done, and saying that it is done."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.errors import Refused
from facts.tenancy import account_transaction
from governance.access import Principal
from governance.fields import optional_text, project_id_of
from governance.http import body_of, principal_of, query_of
from governance.idempotency import Answer, answer_once
from governance.pagination import PageFields, page, paging
from ingest.actions import deciding, selectors
from ingest.models import Action, ActionKind, ActionState

TAG = "actions"


class ActionQuery(PageFields):
    """Which actions are listed."""

    state = serializers.ChoiceField(choices=ActionState.choices, required=False, default=ActionState.OPEN)
    kind = serializers.ChoiceField(choices=ActionKind.choices, required=False)
    mine = serializers.BooleanField(required=False, default=False, help_text="Only those that are given to the caller.")


class ActionDecision(serializers.Serializer):
    """About which version of the action."""

    version = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="The version that was looked at; when it is another one by now, the answer is 409 `stale_version`.",
    )


class ActionAssignment(ActionDecision):
    """To whom it is given."""

    person = optional_text(200, "Key of the person; empty or absent: to nobody.")


class ActionShown(serializers.Serializer):
    """What the system does about a fact."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=ActionKind.choices)
    state = serializers.ChoiceField(choices=ActionState.choices)
    reason = serializers.CharField(help_text="A code: why it was closed by itself, or why nobody was told.")
    version = serializers.IntegerField()
    rule = serializers.CharField()
    scope = serializers.CharField(
        help_text="Empty, as what follows, where the caller was given it and may know no more."
    )
    project_id = serializers.CharField()
    subject_id = serializers.CharField()
    assignee = serializers.CharField(allow_null=True)
    due_on = serializers.DateField(allow_null=True, help_text="A day in the account's time zone.")
    fact_id = serializers.UUIDField(allow_null=True)
    category = serializers.CharField()
    statement = serializers.CharField(allow_null=True, help_text="Null where the caller may not read the fact.")
    created_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)


class Actions(serializers.Serializer):
    """One page of actions."""

    actions = ActionShown(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ActionsView(APIView):
    """What is to be done."""

    @extend_schema(
        operation_id="actions_list",
        summary="List actions",
        description="Open ones unless `state` says otherwise, newest first: one's own, and those of the scopes in "
        "which the caller decides. For people.",
        tags=[TAG],
        parameters=[ActionQuery],
        responses=Actions,
    )
    def get(self, request: Request) -> Response:
        """Return one page."""
        principal = _person(request)
        query = query_of(request, ActionQuery)
        with account_transaction(principal.account_id):
            wanted = selectors.visible(principal).filter(state=query["state"])
            if "kind" in query:
                wanted = wanted.filter(kind=query["kind"])
            if query["mine"]:
                wanted = wanted.filter(assignee_id=principal.subject_id)
            found, next_cursor = page(wanted, listing="actions", **paging(query))
            body = {"actions": [_shown(principal, action) for action in found], "next_cursor": next_cursor}
        return Response(body)


class DoneView(APIView):
    """Doing what is to be done."""

    @extend_schema(
        operation_id="actions_done",
        summary="Say that an action is done",
        description="For those who decide in its scope, and for whom it is given to.",
        tags=[TAG],
        request=ActionDecision,
        responses=ActionShown,
    )
    def post(self, request: Request, action_id: uuid.UUID) -> Response:
        """Close it as done."""
        return _decide(request, action_id, deciding.finish)


class DismissView(APIView):
    """Leaving it."""

    @extend_schema(
        operation_id="actions_dismiss",
        summary="Dismiss an action",
        description="Nothing is to be done; what is still to be sent about it is not sent.",
        tags=[TAG],
        request=ActionDecision,
        responses=ActionShown,
    )
    def post(self, request: Request, action_id: uuid.UUID) -> Response:
        """Close it without doing anything."""
        return _decide(request, action_id, deciding.dismiss)


class ReopenView(APIView):
    """Taking it up again."""

    @extend_schema(
        operation_id="actions_reopen",
        summary="Reopen an action",
        description="Of what a person closed. Nobody is told a second time.",
        tags=[TAG],
        request=ActionDecision,
        responses=ActionShown,
    )
    def post(self, request: Request, action_id: uuid.UUID) -> Response:
        """Open it again."""
        return _decide(request, action_id, deciding.reopen)


class AssignView(APIView):
    """Giving it to somebody."""

    @extend_schema(
        operation_id="actions_assign",
        summary="Assign an action",
        description="For those who decide in its scope.",
        tags=[TAG],
        request=ActionAssignment,
        responses=ActionShown,
    )
    def post(self, request: Request, action_id: uuid.UUID) -> Response:
        """Give it to a person, or to nobody."""
        principal = _person(request)
        body = body_of(request, ActionAssignment)

        def work() -> Answer:
            action = deciding.assign(
                principal, action_id, person=body.get("person") or "", expected_version=body.get("version")
            )
            return 200, _shown(principal, action)

        return answer_once(request, work)


def _person(request: Request) -> Principal:
    principal = principal_of(request)
    if not principal.is_person:
        raise Refused("Actions are for people.", code="human_required")
    return principal


def _decide(request: Request, action_id: uuid.UUID, verb: Callable[..., Action]) -> Response:
    principal = _person(request)
    body = body_of(request, ActionDecision)

    def work() -> Answer:
        return 200, _shown(principal, verb(principal, action_id, expected_version=body.get("version")))

    return answer_once(request, work)


def _shown(principal: Principal, action: Action) -> dict[str, Any]:
    fact = action.fact
    knows = selectors.may_know_what(principal, action)
    return {
        "id": action.id,
        "kind": action.kind,
        "state": action.state,
        "reason": action.reason,
        "version": action.version,
        "rule": action.rule_key if knows else "",
        "scope": action.scope.path if knows else "",
        "project_id": project_id_of(action.scope.path) if knows else "",
        "subject_id": action.subject.key if knows else "",
        "assignee": action.assignee.key if action.assignee else None,
        "due_on": action.due_on,
        "fact_id": fact.id if knows else None,
        "category": fact.category if knows else "",
        "statement": fact.statement if selectors.may_read_words(principal, action) else None,
        "created_at": action.created_at,
        "decided_at": action.decided_at,
    }
