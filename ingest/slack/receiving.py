"""Taking in what Slack tells of a workspace, each request once, in one transaction. Asks nobody and calls no model.

A request may come twice, late, out of order, or several at once for one message. It is known by its identifier, a
message besides by workspace, channel and time stamp. Of direct messages, of channels that nobody opted in and of people
who opted out nothing is kept, not even that they came.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction

from facts.actors import system
from facts.clock import now
from facts.tenancy import enter_account
from ingest.models import DeletedMessage, SlackReceipt, SlackWorkspace
from ingest.slack import channels, directory, file_texts, obeying, people, workspaces
from ingest.slack.delivery import Channel, deliver
from ingest.slack.messages import Changed, Deleted, Said, Skipped, Understood, understand

#: Outcomes beside those of ``delivery`` and ``messages``.
NOT_CONNECTED = "not_connected"
OTHER_APP = "other_app"
REPEATED = "repeated"
DIRECT = "direct_message"
OWN_POST = "own_post"
NOT_LISTENING = "not_listening"
COMMAND = "command"
UNKNOWN_TYPE = "unknown_type"
NOTED = "noted"
UNREADABLE = "unreadable"

#: Outcomes of which no trace is kept.
UNTOLD = frozenset({NOT_CONNECTED, OTHER_APP, REPEATED, DIRECT, OWN_POST, NOT_LISTENING, "opted_out"})
#: How long a receipt is kept; Slack repeats a request for about an hour, and up to a day with delayed events.
RECEIPT_KEPT = timedelta(days=7)
#: How long a message that was deleted before it was seen is refused.
DELETION_KEPT = timedelta(days=30)

_DIRECT_TYPES = frozenset({"im", "mpim", "app_home"})


def receive(envelope: Mapping[str, Any]) -> str:
    """Take in one request of the type ``event_callback`` whose signature was checked; returns what it came to."""
    event = envelope.get("event")
    if not isinstance(event, Mapping):
        return UNREADABLE
    with transaction.atomic():
        workspace = workspaces.find(str(envelope.get("team_id")))
        if workspace is None:
            return NOT_CONNECTED
        if workspace.app_id and envelope.get("api_app_id") not in (None, workspace.app_id):
            return OTHER_APP
        enter_account(workspace.account_id)
        receipt = _open_receipt(workspace, envelope, event)
        if receipt is None:
            return REPEATED
        outcome = _take_in(workspace, event)
        if outcome in UNTOLD:
            SlackReceipt.objects.filter(account_id=workspace.account_id, pk=receipt.pk).delete()
        else:
            SlackReceipt.objects.filter(account_id=workspace.account_id, pk=receipt.pk).update(outcome=outcome[:64])
        return outcome


def prune(account_id: uuid.UUID) -> int:
    """Delete receipts and notes of deletions that are of no use any more, in the caller's account transaction."""
    receipts = SlackReceipt.objects.filter(account_id=account_id, received_at__lt=now() - RECEIPT_KEPT)
    deletions = DeletedMessage.objects.filter(account_id=account_id, deleted_at__lt=now() - DELETION_KEPT)
    return receipts.delete()[0] + deletions.delete()[0]


def _open_receipt(
    workspace: SlackWorkspace, envelope: Mapping[str, Any], event: Mapping[str, Any]
) -> SlackReceipt | None:
    """Write that a request is being taken in; ``None`` when it was before.

    Another one that takes in the same is waited for at the unique key.
    """
    event_id = str(envelope.get("event_id") or uuid.uuid4())[:64].replace("\x00", "")
    receipt, is_new = SlackReceipt.objects.get_or_create(
        account_id=workspace.account_id,
        team=workspace.team,
        event_id=event_id,
        defaults={"event_type": str(event.get("type"))[:64].replace("\x00", "")},
    )
    return receipt if is_new else None


def _take_in(workspace: SlackWorkspace, event: Mapping[str, Any]) -> str:
    kind, told = event.get("type"), event.get("channel")
    match kind:
        case "message":
            return _message(workspace, event)
        case "app_mention":
            # The same message comes as `message` too.
            return NOTED
        case "channel_rename" | "group_rename" if isinstance(told, Mapping):
            channels.note(workspace, {"id": told.get("id"), "name": told.get("name")})
        case "channel_archive" | "group_archive" | "channel_unarchive" | "group_unarchive" if isinstance(told, str):
            channels.archive(workspace, told, archived=kind.endswith("_archive"))
        case "channel_left" | "group_left" | "channel_deleted" | "group_deleted" if isinstance(told, str):
            channels.leave(workspace, told)
        case "member_joined_channel" | "member_left_channel" if isinstance(told, str):
            return _membership(workspace, event, told)
        case "team_join" | "user_change" | "user_profile_changed":
            member = people.read_member(event.get("user"))
            if member is None:
                return UNREADABLE
            if member.identifier != workspace.bot_user_id:
                people.refresh(workspace.account_id, member)
        case "app_uninstalled":
            workspaces.disconnect(workspace, actor=system("slack"))
        case _:
            return UNKNOWN_TYPE
    return NOTED


def _membership(workspace: SlackWorkspace, event: Mapping[str, Any], channel_id: str) -> str:
    """Note that the bot came or went; who else does is nobody's business here."""
    if event.get("user") != workspace.bot_user_id:
        return NOTED
    if event["type"] == "member_left_channel":
        channels.leave(workspace, channel_id)
        return NOTED
    private = event.get("channel_type") == "G"
    channels.note(workspace, {"id": channel_id, **({"is_private": True} if private else {})}, is_member=True)
    directory.look_up_channel(workspace, channel_id)
    return NOTED


def _message(workspace: SlackWorkspace, event: Mapping[str, Any]) -> str:
    channel_id, where = str(event.get("channel")), event.get("channel_type")
    direct = where in _DIRECT_TYPES or channel_id.startswith("D")
    spoken = event.get("message") if isinstance(event.get("message"), Mapping) else event
    if is_own(workspace, spoken):
        return OWN_POST
    command = obeying.command_in(workspace, event, spoken, direct=where == "im")
    if command is not None:
        # Editing what was said does not say it again.
        if event is spoken:
            obeying.obey(workspace, event, command)
        return COMMAND
    if direct:
        return DIRECT
    if event.get("subtype") == "channel_convert_to_private":
        channels.note(workspace, {"id": channel_id, "is_private": True})
        return NOTED
    if where == "group":
        channels.note_private(workspace, channel_id)
    return _keep(workspace, event, channel_id)


def _keep(workspace: SlackWorkspace, event: Mapping[str, Any], channel_id: str) -> str:
    """Keep a message of a channel that is listened to. A deletion counts wherever something was kept."""
    found = understand(event, directory.names_in(workspace, event), now=now())
    binding = channels.binding_of(workspace.account_id, workspace.team, channel_id)
    if binding is None or not (isinstance(found, Deleted) or channels.listening(workspace, channel_id)):
        return NOT_LISTENING
    channel = Channel(binding=binding)
    principal = workspaces.principal_of(workspace)
    authors = people.known(workspace.account_id, _authors(found))
    counts = deliver(principal, channel, [found], authors=authors)
    outcome = next(iter(counts), NOTED)
    if outcome not in UNTOLD and not isinstance(found, Deleted):
        file_texts.queue(workspace, channel_id, event)
        directory.look_up_strangers(workspace, found)
    return outcome


def _authors(found: Understood) -> set[str]:
    match found:
        case Said():
            return {found.author}
        case Changed():
            return {found.message.author}
        case Deleted() | Skipped():
            return set()
    return set()


def is_own(workspace: SlackWorkspace, spoken: Mapping[str, Any]) -> bool:
    """Tell whether this app said it: its deliveries and answers are no source of anything."""
    profile = spoken.get("bot_profile") if isinstance(spoken.get("bot_profile"), Mapping) else {}
    own = {workspace.bot_user_id, workspace.bot_id} - {""}
    apps = {spoken.get("app_id"), profile.get("app_id")} - {None, ""}
    return spoken.get("user") in own or spoken.get("bot_id") in own or workspace.app_id in apps
