"""A Slack workspace that talks to the system: its signed requests, and what is set up for it."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.test import Client

from facts.actors import system
from facts.clock import now
from facts.models import Account
from ingest.models import SlackWorkspace
from ingest.slack import channels, people, workspaces
from tests.factories import entered
from tests.ingest.slack_exports import USERS

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TEAM, BOT, BOT_ID, APP = "T1", "UBOT", "BBOT", "A1"
ADDRESS = "/v1/slack/events"
#: No two requests of a run have the same identifier unless a test sends one again.
_NUMBERS = itertools.count()


def signature(body: bytes, timestamp: str, secret: str = SECRET) -> str:
    """Return how Slack signs a request."""
    return "v0=" + hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()


def headers(body: bytes, *, secret: str = SECRET, age: float = 0, **more: str) -> dict[str, str]:
    """Return the headers of a request that was signed ``age`` seconds ago."""
    timestamp = str(int(now().timestamp() - age))
    return {
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": signature(body, timestamp, secret),
        "Content-Type": "application/json",
        **more,
    }


def in_channel(record: Mapping[str, Any], channel: str = "C1", kind: str = "channel") -> dict[str, Any]:
    """Return a record as the Events API sends it: with the channel it is from."""
    return {**record, "channel": channel, "channel_type": kind, "event_ts": record.get("ts", "")}


def connect(account: Account, *, team: str = TEAM, app_id: str = APP) -> SlackWorkspace:
    """Connect a workspace to an account that is entered."""
    return workspaces.connect(
        account.id, team=team, bot_user_id=BOT, bot_id=BOT_ID, app_id=app_id, name="Example", actor=system()
    )


def listen(workspace: SlackWorkspace, channel_id: str = "C1", *, name: str = "general", private: bool = False) -> None:
    """Opt a channel in, with everybody in the workspace known."""
    members = [member for entry in USERS if (member := people.read_member(entry)) is not None]
    people.register(workspace.account_id, members)
    channels.note(workspace, {"id": channel_id, "name": name, "is_private": private}, is_member=True)
    channels.opt_in(workspace, channel_id, actor=system())


@dataclass
class Talk:
    """Posts what happens in a workspace to the endpoint, as Slack does it."""

    team: str = TEAM
    secret: str = SECRET
    client: Client = field(default_factory=lambda: Client(enforce_csrf_checks=True))

    def envelope(self, event: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Return the request body around an event."""
        return {
            "token": "one-long-verification-token",
            "team_id": self.team,
            "context_team_id": self.team,
            "api_app_id": APP,
            "event": dict(event),
            "type": "event_callback",
            "event_id": f"Ev{next(_NUMBERS):08}",
            "event_time": 1736499600,
            "authorizations": [{"team_id": self.team, "user_id": BOT, "is_bot": True}],
            "is_ext_shared_channel": False,
            **more,
        }

    def post(self, body: Any, *, given: Mapping[str, str] | None = None) -> HttpResponse:
        """Post a body, signed unless other headers are given."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        with entered(None):
            return self.client.post(
                ADDRESS,
                content,
                content_type="application/json",
                headers=headers(content, secret=self.secret) if given is None else given,
            )

    def tell(self, record: Mapping[str, Any], channel: str = "C1", kind: str = "channel", **more: Any) -> None:
        """Tell of a message record, and expect it to be acknowledged."""
        answer = self.post(self.envelope(in_channel(record, channel, kind), **more))
        assert (answer.status_code, answer.json()) == (200, {"ok": True})

    def happen(self, **event: Any) -> None:
        """Tell of any other event."""
        answer = self.post(self.envelope(event))
        assert (answer.status_code, answer.json()) == (200, {"ok": True})
