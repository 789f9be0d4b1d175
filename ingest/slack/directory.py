"""Who and what the identifiers of a workspace stand for: what is known of them, and asking Slack for the rest.

Names are asked for by jobs, never while a request of Slack's waits; a message keeps an identifier for which no name was
known when it came. Nothing is asked where no token is configured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from facts import jobs
from facts.clock import now
from facts.models import Identity
from ingest.models import SlackChannel, SlackWorkspace
from ingest.slack import people
from ingest.slack.client import client_for
from ingest.slack.messages import IDENTIFIER, Changed, Said, Understood
from ingest.slack.names import Names

#: Kinds of jobs: one member, one channel, a page of everybody and one of every channel.
MEMBER = "slack.member"
CHANNEL = "slack.channel"
MEMBERS = "slack.members"
CHANNELS = "slack.channels"
#: Pages of both lists that are asked for in one round: 100,000 members and channels.
MAX_PAGES = 500

#: Identifiers of users, bots and channels as they stand in a message, and others that look alike.
_LOOKS_LIKE_ONE = re.compile(r"\b[UWBCG][A-Z0-9]{1,30}\b")
#: Identifiers of one message that are looked up.
MAX_LOOKED_UP = 300


def names_in(workspace: SlackWorkspace, event: Mapping[str, Any]) -> Names:
    """Return the names of the people and channels that a record mentions, in two queries whatever its length."""
    wanted = identifiers_in(event)
    known = people.known(workspace.account_id, wanted)
    told = SlackChannel.objects.filter(
        account_id=workspace.account_id, team=workspace.team, channel_id__in=wanted
    ).exclude(name="")
    return Names(
        people={identifier: subject.name for identifier, subject in known.items() if subject.name},
        channels=dict(told.values_list("channel_id", "name")),
    )


def identifiers_in(record: Mapping[str, Any]) -> list[str]:
    """Return what may be identifiers in a record, each once."""
    found = _LOOKS_LIKE_ONE.findall(json.dumps(record, ensure_ascii=True, default=str))
    return list(dict.fromkeys(found))[:MAX_LOOKED_UP]


def look_up_strangers(workspace: SlackWorkspace, found: Understood) -> None:
    """Have the names asked for of those who spoke, or were mentioned, and of whom none is known."""
    said = found.message if isinstance(found, Changed) else found
    if not isinstance(said, Said):
        return
    wanted = {*said.mentions, *([said.author] if said.human else [])}
    named = Identity.objects.filter(account_id=workspace.account_id, platform=people.SLACK, value__in=wanted).exclude(
        subject__name=""
    )
    for identifier in sorted(wanted - set(named.values_list("value", flat=True))):
        look_up_member(workspace, identifier)


def look_up_member(workspace: SlackWorkspace, identifier: str) -> None:
    """Have one member's names asked for, once; who changes them is told by Slack."""
    if IDENTIFIER.fullmatch(identifier):
        _submit(workspace, MEMBER, identifier, user=identifier)


def look_up_channel(workspace: SlackWorkspace, channel_id: str) -> None:
    """Have one channel's name asked for, where none is known."""
    named = SlackChannel.objects.filter(
        account_id=workspace.account_id, team=workspace.team, channel_id=channel_id
    ).exclude(name="")
    if not named.exists():
        _submit(workspace, CHANNEL, f"{channel_id}:{now():%Y-%m-%dT%H}", channel=channel_id)


def look_up_all(workspace: SlackWorkspace) -> None:
    """Have everybody and every channel asked for, at most once an hour."""
    hour = f"{now():%Y-%m-%dT%H}"
    _submit(workspace, MEMBERS, hour, round=hour)


def look_up_page(workspace: SlackWorkspace, before: Mapping[str, Any], *, kind: str, cursor: str) -> None:
    """Have the page after the one of the job with the payload ``before`` asked for.

    Each page is a job of its own: where Slack wants to be left alone for a while, no earlier page is read again.
    """
    number = int(before.get("page", "0")) + 1
    if number < MAX_PAGES:
        _submit(workspace, kind, f"{before['round']}:{number}", round=before["round"], page=str(number), cursor=cursor)


def _submit(workspace: SlackWorkspace, kind: str, key: str, **payload: str) -> None:
    if client_for(workspace.team) is None:
        return
    jobs.submit(
        workspace.account_id,
        kind=kind,
        input_key=f"{workspace.team}:{key}",
        payload={"team": workspace.team, **payload},
    )
