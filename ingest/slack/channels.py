"""The channels of a workspace: what Slack tells of them, and whether what is said there is kept.

Nothing is kept of a channel until somebody opts it in. That binds it to a scope of its own below the workspace's path,
unless an import has bound it before. All functions run in the caller's account transaction.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from facts import audit
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, DomainError
from facts.ids import new_id
from ingest.models import ChannelBinding, SlackChannel, SlackWorkspace
from ingest.normalise import clean_text
from ingest.slack import delivery
from ingest.slack.messages import IDENTIFIER


def note(workspace: SlackWorkspace, told: Mapping[str, Any], *, is_member: bool | None = None) -> SlackChannel | None:
    """Take in what Slack tells of a channel; ``None`` for what is none, and for direct messages.

    A channel that became private is listened to no more until somebody opts it in again: those who read it were told
    that it is for everybody.
    """
    channel_id = str(told.get("id"))
    if not IDENTIFIER.fullmatch(channel_id) or told.get("is_im") or told.get("is_mpim"):
        return None
    channel, _ = SlackChannel.objects.select_for_update().get_or_create(
        account_id=workspace.account_id, team=workspace.team, channel_id=channel_id
    )
    if name := _name(told.get("name")):
        channel.name = name
        bindings = ChannelBinding.objects.filter(account_id=workspace.account_id, team=workspace.team)
        bindings.filter(channel_id=channel_id).exclude(name=name).update(name=name)
    if isinstance(told.get("is_archived"), bool):
        channel.archived = told["is_archived"]
    member = told.get("is_member") if is_member is None else is_member
    if isinstance(member, bool):
        channel.is_member = member
    if isinstance(told.get("is_private"), bool) and told["is_private"] != channel.is_private:
        channel.is_private = told["is_private"]
        if channel.is_private and channel.listening:
            channel.listening, channel.switched_at, channel.switched_by = False, now(), None
    channel.save()
    return channel


def note_private(workspace: SlackWorkspace, channel_id: str) -> None:
    """Note that a message came from a private channel, where that is news."""
    open_ones = SlackChannel.objects.filter(account_id=workspace.account_id, team=workspace.team, is_private=False)
    if open_ones.filter(channel_id=channel_id).exists():
        note(workspace, {"id": channel_id, "is_private": True})


def leave(workspace: SlackWorkspace, channel_id: str) -> None:
    """The bot was removed, or the channel is gone: nothing is kept from there until somebody opts it in again."""
    rows = SlackChannel.objects.filter(account_id=workspace.account_id, team=workspace.team, channel_id=channel_id)
    rows.update(is_member=False)
    rows.filter(listening=True).update(listening=False, switched_at=now(), switched_by=None)


def archive(workspace: SlackWorkspace, channel_id: str, *, archived: bool) -> None:
    """Note that a channel was archived, or brought back."""
    rows = SlackChannel.objects.filter(account_id=workspace.account_id, team=workspace.team, channel_id=channel_id)
    rows.update(archived=archived)


def opt_in(
    workspace: SlackWorkspace, channel_id: str, *, actor: Actor, said_at: datetime | None = None
) -> SlackChannel | None:
    """Keep from now on what is said in a channel; ``None`` where a later word says otherwise.

    Raises ``DomainError`` (``unknown_channel``) and ``Conflicting`` (``channel_scope_shared``) for a private channel
    that is bound to the scope of others.
    """
    channel = _switch(workspace, channel_id, listening=True, actor=actor, said_at=said_at)
    if channel is not None:
        _bind(workspace, channel)
    return channel


def opt_out(
    workspace: SlackWorkspace, channel_id: str, *, actor: Actor, said_at: datetime | None = None
) -> SlackChannel | None:
    """Keep nothing more of a channel; what was kept stays. Answers and raises as :func:`opt_in`."""
    return _switch(workspace, channel_id, listening=False, actor=actor, said_at=said_at)


def listening(workspace: SlackWorkspace, channel_id: str) -> SlackChannel | None:
    """Return the channel if what is said there is kept."""
    found = SlackChannel.objects.filter(
        account_id=workspace.account_id, team=workspace.team, channel_id=channel_id, listening=True
    )
    return found.first()


def binding_of(account_id: uuid.UUID, team: str, channel_id: str) -> ChannelBinding | None:
    """Return where a channel's messages go; ``None`` for one that was never opted in or imported."""
    found = ChannelBinding.objects.filter(account_id=account_id, team=team, channel_id=channel_id)
    return found.select_related("scope", "subject").first()


def _switch(
    workspace: SlackWorkspace, channel_id: str, *, listening: bool, actor: Actor, said_at: datetime | None
) -> SlackChannel | None:
    rows = SlackChannel.objects.select_for_update().filter(account_id=workspace.account_id, team=workspace.team)
    channel = rows.filter(channel_id=channel_id).first()
    if channel is None:
        raise DomainError("No such channel is known.", code="unknown_channel", field="channel")
    at = said_at or now()
    if channel.switched_at is not None and at <= channel.switched_at:
        return None
    was_listening, channel.listening, channel.switched_at = channel.listening, listening, at
    channel.switched_by_id = actor.subject_id
    channel.save(update_fields=["listening", "switched_at", "switched_by"])
    if was_listening != listening:
        audit.record(
            workspace.account_id,
            action="channel.opted_in" if listening else "channel.opted_out",
            object_type="slack_channel",
            object_id=channel.id,
            actor=actor,
            group=new_id(),
        )
    return channel


def _bind(workspace: SlackWorkspace, channel: SlackChannel) -> ChannelBinding:
    """Give a channel its scope. One that is private shares it with no other channel."""
    bindings = ChannelBinding.objects.filter(account_id=workspace.account_id)
    own = {"team": workspace.team, "channel_id": channel.channel_id}
    found = bindings.filter(**own).first()
    if found is None:
        name = channel.name or channel.channel_id
        path = f"{workspace.root}/{name}".replace("//", "/")
        if bindings.filter(scope__path=path).exists():
            path = f"{path}-{channel.channel_id}"
        return delivery.bind(workspace.account_id, name=name, is_private=channel.is_private, path=path, **own)
    if channel.is_private and bindings.filter(scope_id=found.scope_id).exclude(pk=found.pk).exists():
        raise Conflicting("This private channel is bound to the scope of other channels.", code="channel_scope_shared")
    return found


def _name(value: Any) -> str:
    """Return a channel's name as part of a path can be: Slack's own are lower case without spaces or slashes."""
    if not isinstance(value, str):
        return ""
    return "-".join(clean_text(value)[0].replace("/", " ").split()).strip(".")[:80]
