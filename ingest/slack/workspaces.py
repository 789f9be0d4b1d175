"""Which account a Slack workspace belongs to: connected by an operator, looked up by the workspace's identifier."""

from __future__ import annotations

import uuid

from django.db import IntegrityError, connection

from facts import audit
from facts.actors import Actor, system
from facts.clock import now
from facts.errors import Conflicting, DomainError
from facts.ids import new_id
from facts.tenancy import account_transaction, normalise_path
from governance.access import Principal, Right
from ingest.models import SlackChannel, SlackWorkspace
from ingest.slack.messages import IDENTIFIER


def connect(
    account_id: uuid.UUID,
    *,
    team: str,
    bot_user_id: str,
    actor: Actor,
    name: str = "",
    bot_id: str = "",
    app_id: str = "",
    root: str = "/slack",
) -> SlackWorkspace:
    """Let a workspace's requests into an account; connecting again brings what is known of it up to date.

    Raises ``DomainError`` (``invalid_payload``, ``invalid_scope``) and ``Conflicting`` (``workspace_taken``) where the
    workspace belongs to another account.
    """
    for field, value in (("team", team), ("bot_user_id", bot_user_id)):
        if not IDENTIFIER.fullmatch(value):
            raise DomainError("An identifier of Slack's is letters and digits.", code="invalid_payload", field=field)
    known = {
        "name": name[:200],
        "bot_user_id": bot_user_id,
        "bot_id": bot_id[:64],
        "app_id": app_id[:64],
        "root": normalise_path(root),
        "disconnected_at": None,
    }
    try:
        with account_transaction(account_id):
            workspace, _ = SlackWorkspace.objects.update_or_create(account_id=account_id, team=team, defaults=known)
            _record(workspace, "slack.connected", actor=actor)
    except IntegrityError:
        raise Conflicting("This workspace belongs to another account.", code="workspace_taken", field="team") from None
    return workspace


def disconnect(workspace: SlackWorkspace, *, actor: Actor) -> None:
    """Listen to a workspace no more; what was kept stays. Every channel has to be opted in again afterwards.

    Runs in the caller's account transaction.
    """
    at = now()
    rows = SlackWorkspace.objects.filter(account_id=workspace.account_id, pk=workspace.pk, disconnected_at__isnull=True)
    if not rows.update(disconnected_at=at):
        return
    channels = SlackChannel.objects.filter(account_id=workspace.account_id, team=workspace.team, listening=True)
    channels.update(listening=False, switched_at=at, switched_by=None)
    _record(workspace, "slack.disconnected", actor=actor)


def find(team: str) -> SlackWorkspace | None:
    """Return the connected workspace, before any account is known: the look-up policy lets exactly this row be read.

    Runs in the caller's transaction.
    """
    if not IDENTIFIER.fullmatch(team):
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.slack_team', %s, true)", [team])
    return SlackWorkspace.objects.filter(team=team, disconnected_at__isnull=True).first()


def principal_of(workspace: SlackWorkspace) -> Principal:
    """Return as whom a workspace's messages are captured."""
    return Principal(
        account_id=workspace.account_id,
        name=system("slack").name,
        is_person=False,
        rights=frozenset({Right.CAPTURE}),
    )


def _record(workspace: SlackWorkspace, action: str, *, actor: Actor) -> None:
    audit.record(
        workspace.account_id,
        action=action,
        object_type="slack_workspace",
        object_id=workspace.id,
        actor=actor,
        group=new_id(),
    )
