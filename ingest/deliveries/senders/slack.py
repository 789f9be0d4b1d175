"""To a channel or a person in Slack. Before a second try the conversation is looked through for the first one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import orjson

from ingest.deliveries.senders.base import OUTCOME_UNKNOWN, NotSent, Parcel
from ingest.slack.client import RateLimited, Refused, Slack, Unavailable, client_for

#: The kind of metadata under which a message carries the id of its delivery.
EVENT = "memory_delivery"
#: Messages looked through for an earlier try: pages of 200, far more than are written in the minutes in between.
PAGES = 5
#: Between the clock of this machine and Slack's.
CLOCK_SLACK = timedelta(minutes=5)


def send(parcel: Parcel) -> str:
    """Post it; return the channel and time stamp of the message. Raises ``NotSent``."""
    slack = client_for(parcel.place.team)
    if slack is None:
        raise NotSent("no_slack_token", permanent=True)
    try:
        channel = _conversation(slack, parcel.place.address)
        known = _find(slack, channel, parcel) if parcel.uncertain else ""
    except RateLimited as limited:
        raise NotSent("rate_limited", rest=limited.seconds) from None
    except Unavailable as error:
        raise NotSent(str(error)) from None
    except Refused as refused:
        if parcel.uncertain:
            raise NotSent(OUTCOME_UNKNOWN, permanent=True, uncertain=True) from None
        raise NotSent(refused.error, permanent=True) from None
    return known or _post(slack, channel, parcel)


def _conversation(slack: Slack, address: str) -> str:
    """Return the id of the conversation: a channel as it is, that with a person is opened."""
    if not address.startswith(("U", "W")):
        return address
    opened = slack.call("conversations.open", users=address).get("channel")
    found = opened.get("id") if isinstance(opened, Mapping) else None
    if not isinstance(found, str):
        raise Unavailable("no_conversation")
    return found


def _find(slack: Slack, channel: str, parcel: Parcel) -> str:
    """Return an earlier try that has arrived, "" when there is none."""
    oldest = (parcel.created_at - CLOCK_SLACK).timestamp()
    cursor: str | None = None
    for _ in range(PAGES):
        answer = slack.call(
            "conversations.history",
            channel=channel,
            oldest=f"{oldest:.6f}",
            include_all_metadata="true",
            limit=200,
            cursor=cursor,
        )
        for message in answer.get("messages") or []:
            if _is_ours(message, parcel):
                return f"{channel}/{message.get('ts')}"
        about = answer.get("response_metadata")
        cursor = about.get("next_cursor") if isinstance(about, Mapping) else None
        if not cursor:
            return ""
    raise NotSent(OUTCOME_UNKNOWN, permanent=True, uncertain=True)


def _is_ours(message: Any, parcel: Parcel) -> bool:
    metadata = message.get("metadata") if isinstance(message, Mapping) else None
    if not isinstance(metadata, Mapping) or metadata.get("event_type") != EVENT:
        return False
    payload = metadata.get("event_payload")
    return isinstance(payload, Mapping) and payload.get("delivery") == str(parcel.delivery_id)


def _post(slack: Slack, channel: str, parcel: Parcel) -> str:
    metadata = {"event_type": EVENT, "event_payload": {"delivery": str(parcel.delivery_id)}}
    try:
        answer = slack.call(
            "chat.postMessage",
            channel=channel,
            text=escaped(parcel.content.text),
            metadata=orjson.dumps(metadata).decode(),
            # What was said once in a channel is no instruction to unfurl, to mention or to format anything here.
            unfurl_links="false",
            unfurl_media="false",
            mrkdwn="false",
            parse="none",
        )
    except RateLimited as limited:
        raise NotSent("rate_limited", rest=limited.seconds) from None
    except Unavailable as error:
        raise NotSent(str(error), uncertain=True) from None
    except Refused as refused:
        raise NotSent(refused.error, permanent=True) from None
    return f"{channel}/{answer.get('ts')}"


def escaped(text: str) -> str:
    """Return text as Slack shows it word for word: no mention, link or call to everybody can be written in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
