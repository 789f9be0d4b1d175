"""One message of a channel as a bot's adapter sends it to ``POST /context/ingest``; the same message as over Slack.

Its fields are Slack's: a channel, a user, a time stamp, a text in Slack's escaped form. It is known by the key under
which the workspace's own events and exports bring it, so that nothing is kept twice.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from facts.clock import now
from facts.errors import DomainError, Refused
from facts.models import Event
from facts.tenancy import account_transaction
from governance.access import Principal, Right, check_limit, require_right
from ingest.models import ChannelBinding, SlackChannel, SlackWorkspace
from ingest.slack import delivery, people
from ingest.slack.delivery import Channel, deliver
from ingest.slack.directory import identifiers_in
from ingest.slack.messages import IDENTIFIER, Said, Skipped, understand
from ingest.slack.names import Names

#: Where channels that no workspace brought get their scopes, unless the key is confined to one.
DEFAULT_ROOT = "/slack"
#: Why a message that could be read was not kept.
IGNORED = frozenset({"direct_message", "channel_opted_out", "opted_out", "deleted_before"})
#: What is wrong with a message, as (code, field), by the reason for which it is skipped.
_FAULTS = {
    "no_text": ("empty_text", "text"),
    "invalid_time": ("invalid_payload", "messageTs"),
    "future_time": ("impossible_date", "messageTs"),
    "no_author": ("invalid_payload", "platformUserId"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of a message: kept or known under ``event_id``, or ignored for ``reason``."""

    event_id: uuid.UUID | None
    deduplicated: bool
    reason: str = ""


def ingest(principal: Principal, body: Mapping[str, Any]) -> Ingested:
    """Take in one message. ``organizationId`` is kept with it and decides nothing: the account is the key's.

    Raises ``Refused`` (``missing_right``, ``forbidden``, ``forbidden_scope``) and ``DomainError`` (``empty_text``,
    ``invalid_payload``, ``impossible_date``, ``invalid_scope``).
    """
    require_right(principal, Right.CAPTURE)
    if principal.is_person:
        raise Refused("Messages of channels are sent with a key.", code="forbidden")
    channel_id = str(body["channelId"])
    if not IDENTIFIER.fullmatch(channel_id):
        raise DomainError("A channel is named by its identifier.", code="invalid_payload", field="channelId")
    if channel_id.startswith("D"):
        return Ingested(event_id=None, deduplicated=False, reason="direct_message")
    with account_transaction(principal.account_id):
        return _ingest(principal, body, channel_id)


def _ingest(principal: Principal, body: Mapping[str, Any], channel_id: str) -> Ingested:
    record = {
        "type": "message",
        "user": body["platformUserId"],
        "ts": body["messageTs"],
        "thread_ts": body.get("threadTs") or "",
        "text": body["text"],
    }
    found = understand(record, _names(principal.account_id, record), now=now())
    if isinstance(found, Skipped):
        code, field = _FAULTS.get(found.reason, ("invalid_payload", "text"))
        raise DomainError("This is no message that can be kept.", code=code, field=field)
    if not isinstance(found, Said):
        raise ValueError(f"Not a message: {found!r}")
    team = _team_of(principal.account_id, channel_id)
    switched_off = SlackChannel.objects.filter(
        account_id=principal.account_id, team=team, channel_id=channel_id, listening=False, switched_at__isnull=False
    )
    if switched_off.exists():
        return Ingested(event_id=None, deduplicated=False, reason="channel_opted_out")
    binding = _binding(principal, team, channel_id, name=str(body.get("channelName") or ""))
    said = {"organizationId": str(body["organizationId"])} if body.get("organizationId") else {}
    channel = Channel(binding=binding, provenance=said)
    authors = people.known(principal.account_id, [found.author])
    counts = deliver(principal, channel, [found], authors=authors)
    outcome = next(iter(counts))
    if outcome in IGNORED:
        return Ingested(event_id=None, deduplicated=False, reason=outcome)
    events = Event.objects.filter(account_id=principal.account_id, source_key=channel.key(found.ts))
    latest = events.order_by("-revision").values_list("id", flat=True).first()
    return Ingested(event_id=latest, deduplicated=outcome == delivery.DEDUPLICATED)


def _names(account_id: uuid.UUID, record: Mapping[str, str]) -> Names:
    """Return the names of those whom a text mentions."""
    known = people.known(account_id, identifiers_in(record))
    return Names(people={identifier: subject.name for identifier, subject in known.items() if subject.name})


def _team_of(account_id: uuid.UUID, channel_id: str) -> str:
    """Return the workspace in which a channel is known, else the account's only one, else the unknown one."""
    bound = ChannelBinding.objects.filter(account_id=account_id, channel_id=channel_id)
    told = SlackChannel.objects.filter(account_id=account_id, channel_id=channel_id)
    connected = SlackWorkspace.objects.filter(account_id=account_id, disconnected_at__isnull=True)
    for rows in (bound, told, connected):
        teams = set(rows.values_list("team", flat=True))
        if len(teams) == 1:
            return teams.pop()
    return delivery.UNKNOWN_TEAM


def _binding(principal: Principal, team: str, channel_id: str, *, name: str) -> ChannelBinding:
    """Return where the channel's messages go: where it is bound, else a scope of its own that the key may write to."""
    root = principal.scope_limit or DEFAULT_ROOT
    told = SlackChannel.objects.filter(account_id=principal.account_id, team=team, channel_id=channel_id).first()
    clean = " ".join((told.name if told and told.name else name).replace("/", " ").lstrip("#").split()) or channel_id
    binding = delivery.bind(
        principal.account_id,
        team=team,
        channel_id=channel_id,
        name=clean[:80],
        is_private=bool(told and told.is_private),
        path=f"{root}/{clean[:80]}".replace("//", "/"),
    )
    check_limit(principal, binding.scope.path)
    return binding
