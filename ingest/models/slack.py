"""Slack workspaces that are listened to: their channels, what came of their requests, and what was deleted unseen."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models import Subject
from facts.models.owned import Owned


class SlackWorkspace(Owned):
    """A workspace whose requests belong to this account. Its secrets are in the environment, not here.

    A workspace belongs to one account: which one is asked before any account is known. ``root`` is the path below which
    its channels get their scopes; a workspace that was disconnected is kept and not listened to.
    """

    team = models.CharField(max_length=64)
    name = models.CharField(max_length=200, blank=True)
    app_id = models.CharField(max_length=64, blank=True)
    bot_user_id = models.CharField(max_length=64)
    bot_id = models.CharField(max_length=64, blank=True)
    root = models.CharField(max_length=512, default="/slack")
    connected_at = models.DateTimeField(default=now)
    disconnected_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["team"]
        constraints = [models.UniqueConstraint(fields=["team"], name="slack_workspace_once")]

    def __str__(self) -> str:
        return self.name or self.team


class SlackChannel(Owned):
    """A channel of a workspace, and whether what is said there is kept; until somebody opts it in, nothing is.

    ``switched_at`` is when it was last opted in or out, by whom (``switched_by``, ``None`` for an operator or Slack); a
    message that asks for it and is older changes nothing. ``is_member``: the bot is there.
    """

    team = models.CharField(max_length=64)
    channel_id = models.CharField(max_length=64)
    name = models.CharField(max_length=200, blank=True)
    is_private = models.BooleanField(default=False)
    is_member = models.BooleanField(default=False)
    archived = models.BooleanField(default=False)
    listening = models.BooleanField(default=False)
    switched_at = models.DateTimeField(null=True, blank=True)
    switched_by = models.ForeignKey(Subject, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["name", "channel_id"]
        constraints = [models.UniqueConstraint(fields=["account", "team", "channel_id"], name="slack_channel_once")]

    def __str__(self) -> str:
        return f"#{self.name or self.channel_id}"


class SlackReceipt(Owned):
    """A request of Slack's that was taken in: its type and what it came to, so that it is taken in once."""

    team = models.CharField(max_length=64)
    event_id = models.CharField(max_length=64)
    event_type = models.CharField(max_length=64)
    outcome = models.CharField(max_length=64, blank=True)
    received_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "team", "event_id"], name="slack_receipt_once")]
        indexes = [models.Index(fields=["account", "received_at"], name="slack_receipt_by_time")]


class DeletedMessage(Owned):
    """A message that was deleted before it was seen: it is not kept when it comes after all."""

    source_key = models.CharField(max_length=400)
    deleted_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "source_key"], name="deleted_message_once")]
        indexes = [models.Index(fields=["account", "deleted_at"], name="deleted_message_by_time")]
