"""Slack talking to a running server: documented requests over real connections, several at once."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from facts.models import Event
from facts.tenancy import account_transaction
from ingest.models import EventOutcome, SlackReceipt
from tests.factories import AccountFactory
from tests.ingest.slack_live import ADDRESS, SECRET, connect, headers, listen

TOGETHER = 8

#: As the documentation of the Events API shows them, with the identifiers of the test's workspace.
MESSAGE = {
    "type": "message",
    "channel": "C1",
    "user": "U1",
    "text": "Live long and prospect.",
    "ts": "1355517523.000005",
    "event_ts": "1355517523.000005",
    "channel_type": "channel",
}
EDIT = {
    "type": "message",
    "subtype": "message_changed",
    "hidden": True,
    "channel": "C1",
    "channel_type": "channel",
    "ts": "1358878755.000001",
    "message": {
        "type": "message",
        "user": "U1",
        "text": "Hello, world!",
        "ts": "1355517523.000005",
        "edited": {"user": "U1", "ts": "1358878755.000001"},
    },
}
DELETION = {
    "type": "message",
    "subtype": "message_deleted",
    "hidden": True,
    "channel": "C1",
    "channel_type": "channel",
    "ts": "1358878755.000009",
    "deleted_ts": "1355517523.000005",
}


def envelope(event: Mapping[str, Any], event_id: str) -> bytes:
    """Return the documented body around an event."""
    return json.dumps(
        {
            "token": "z26uFbvR1xHJEdHE1OQiO6t8",
            "team_id": "T1",
            "api_app_id": "A1",
            "event": event,
            "type": "event_callback",
            "event_id": event_id,
            "event_time": 1355517523,
            "event_context": "EC123ABC456",
            "authed_users": ["U1"],
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": "T1",
                    "user_id": "UBOT",
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
        }
    ).encode()


def post(server: str, body: bytes, **more: str) -> tuple[int, Any]:
    """Post a signed body over a connection of its own."""
    connection = http.client.HTTPConnection(urlsplit(server).netloc, timeout=30)
    try:
        connection.request("POST", ADDRESS, body, headers(body, **more))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_slack_talks_to_a_running_server(live_server: Any, settings: Any) -> None:
    settings.SLACK_SIGNING_SECRET = SECRET
    account = AccountFactory()
    with account_transaction(account.id):
        listen(connect(account))
    server = live_server.url
    challenge = b'{"token": "Jhj5dZrVaK7ZwHHjRyZWjbDl", "challenge": "3eZbrw1aBm2rZ", "type": "url_verification"}'
    assert post(server, challenge) == (200, {"challenge": "3eZbrw1aBm2rZ"})

    same = envelope(MESSAGE, "Ev08MFMKH6")
    retried = {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
    with ThreadPoolExecutor(TOGETHER) as pool:
        answers = list(pool.map(lambda number: post(server, same, **(retried if number else {})), range(TOGETHER)))
    assert answers == [(200, {"ok": True})] * TOGETHER
    # And once more under as many identifiers, as Slack did at least once.
    others = [envelope(MESSAGE, f"Ev{number}") for number in range(TOGETHER)]
    with ThreadPoolExecutor(TOGETHER) as pool:
        assert list(pool.map(lambda body: post(server, body), others)) == [(200, {"ok": True})] * TOGETHER
    with account_transaction(account.id):
        event = Event.objects.get()
        assert (event.text, EventOutcome.objects.count()) == ("Live long and prospect.", 1)
        assert SlackReceipt.objects.filter(outcome="captured").count() == 1
        assert SlackReceipt.objects.count() == 1 + TOGETHER

    assert post(server, envelope(EDIT, "EvEdit")) == (200, {"ok": True})
    assert post(server, envelope(DELETION, "EvGone")) == (200, {"ok": True})
    with account_transaction(account.id):
        revisions = list(Event.objects.order_by("revision").values_list("text", "withdrawn_at"))
        assert [text for text, _ in revisions] == ["Live long and prospect.", "Hello, world!"]
        assert all(withdrawn_at is not None for _, withdrawn_at in revisions)
