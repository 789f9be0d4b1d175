"""`POST /context/ingest`: the fields of a bot's adapter, the same message as over Slack."""

from __future__ import annotations

from typing import Any

import pytest

from facts.models import Account, Event
from facts.tenancy import ensure_scope
from governance.access import Right
from governance.models import Role
from ingest.models import EventOutcome, SlackChannel
from ingest.slack import importing
from tests.api import Caller, caller_with_key, problem, signed_in
from tests.factories import maker_of, person_in
from tests.ingest.slack_exports import START, said, write
from tests.ingest.slack_live import SECRET, Talk, connect, listen

BODY = {
    "organizationId": "org-1",
    "channelId": "C024BE91L",
    "channelName": "general",
    "platformUserId": "U061F7AUR",
    "messageTs": f"{START}.000100",
    "threadTs": None,
    "text": "i live in Lyon &amp; work on <https://x.org|x>",
}


@pytest.fixture
def app(account: Account) -> Caller:
    return caller_with_key(account)


@pytest.mark.parametrize("address", ["/context/ingest", "/v1/context/ingest", "/api/v1/context/ingest"])
def test_a_message_is_kept_under_its_fields(app: Caller, address: str) -> None:
    answer = app.post(address, {**BODY, "threadTs": f"{START - 9}.000100"})
    event = Event.objects.select_related("scope", "speaker").get()
    assert (answer.status_code, answer.json()) == (
        202,
        {"status": "accepted", "event_id": str(event.id), "deduplicated": False, "reason": ""},
    )
    assert event.text == "i live in Lyon & work on x (https://x.org)"
    assert (event.scope.path, event.speaker.key) == ("/slack/general", "slack:U061F7AUR")
    assert (event.channel_id, event.channel_name, event.thread) == ("C024BE91L", "general", f"{START - 9}.000100")
    assert (event.urls, event.sensitivity, event.source_type) == (["https://x.org"], "internal", "channel_message")
    assert event.recorded_claims == {"source": "slack", "organizationId": "org-1"}
    assert EventOutcome.objects.filter(event=event).count() == 1


def test_a_repeat_is_the_same_message_and_another_text_a_revision(app: Caller) -> None:
    first = app.post("/context/ingest", BODY).json()
    again = app.post("/context/ingest", {**BODY, "organizationId": "other", "channelName": "renamed"}).json()
    assert (again["event_id"], again["deduplicated"]) == (first["event_id"], True)
    edited = app.post("/context/ingest", {**BODY, "text": "i live in Rome"}).json()
    assert edited["deduplicated"] is False
    assert list(Event.objects.order_by("revision").values_list("revision", flat=True)) == [1, 2]


def test_it_is_the_same_message_over_slack_and_in_an_export(
    app: Caller, account: Account, settings: Any, tmp_path: Any
) -> None:
    settings.SLACK_SIGNING_SECRET = SECRET
    workspace = connect(account)
    record = said("hi there")
    body = {"channelId": "C1", "platformUserId": "U1", "messageTs": record["ts"], "text": record["text"]}
    assert app.post("/context/ingest", body).json()["status"] == "accepted"
    listen(workspace)
    Talk().tell(record)
    path = write(tmp_path, {"general/2025-01-10": [record]})
    assert importing.import_export(account.id, path, importing.Options()).counts == {"deduplicated": 1}
    assert list(Event.objects.values_list("source_key", flat=True)) == [f"slack:T1:C1:{record['ts']}"]


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({"text": " "}, (422, "empty_text", "text")),
        ({"text": None}, (422, "invalid_payload", "text")),
        ({"channelId": ""}, (422, "invalid_payload", "channelId")),
        ({"channelId": "C1:../x"}, (422, "invalid_payload", "channelId")),
        ({"platformUserId": "a b"}, (422, "invalid_payload", "platformUserId")),
        ({"messageTs": "yesterday"}, (422, "invalid_payload", "messageTs")),
        ({"messageTs": "99999999999.000100"}, (422, "impossible_date", "messageTs")),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(app: Caller, change: dict[str, Any], answer: tuple[Any, ...]) -> None:
    assert problem(app.post("/context/ingest", {**BODY, **change})) == answer
    assert not Event.objects.exists()


def test_direct_messages_and_channels_that_were_opted_out_are_ignored(app: Caller, account: Account) -> None:
    ignored = {"status": "ignored", "event_id": None, "deduplicated": False}
    assert app.post("/context/ingest", {**BODY, "channelId": "D1"}).json() == {**ignored, "reason": "direct_message"}
    workspace = connect(account)
    listen(workspace, BODY["channelId"])
    SlackChannel.objects.update(listening=False)
    assert app.post("/context/ingest", BODY).json() == {**ignored, "reason": "channel_opted_out"}
    assert not Event.objects.exists()


def test_who_may_send(account: Account) -> None:
    assert Caller().post("/context/ingest", BODY).status_code == 401
    reader = caller_with_key(account, rights=[Right.READ])
    assert problem(reader.post("/context/ingest", BODY)) == (403, "missing_right", None)
    person = signed_in(maker_of(person_in(account, role=Role.ACCOUNT_ADMIN)))
    assert problem(person.post("/context/ingest", BODY)) == (403, "forbidden", None)


def test_a_confined_key_keeps_to_its_scope(account: Account) -> None:
    app = caller_with_key(account, scope_limit=ensure_scope(account.id, "/support"))
    assert app.post("/context/ingest", BODY).status_code == 202
    assert Event.objects.get().scope.path == "/support/general"
    listen(connect(account), "C7", name="board")
    assert problem(app.post("/context/ingest", {**BODY, "channelId": "C7"})) == (403, "forbidden_scope", "scope")
