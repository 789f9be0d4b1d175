"""Slack's Events API: who may talk, what is kept of it, once, and what never is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from facts.clock import now
from facts.models import Account, AuditEntry, Event, Fact, Identity, Job, Passage, Subject
from facts.tenancy import account_transaction
from ingest import processing, reading
from ingest.capture import MAX_TEXT
from ingest.line import Part
from ingest.models import ChannelBinding, DeletedMessage, SlackChannel, SlackReceipt, SlackWorkspace
from ingest.slack import importing, receiving, signing
from ingest.slack.importing import Options
from tests.api import problem
from tests.factories import AccountFactory, entered
from tests.ingest import slack_live
from tests.ingest.fakes import FakeExtractor, cities
from tests.ingest.slack_exports import START, USERS, changed, deleted, said, write
from tests.ingest.slack_live import BOT, BOT_ID, SECRET, Talk, connect, headers, in_channel, listen


@pytest.fixture
def workspace(account: Account, settings: Any) -> SlackWorkspace:
    settings.SLACK_SIGNING_SECRET = SECRET
    made = connect(account)
    listen(made)
    return made


@pytest.fixture
def slack(workspace: SlackWorkspace) -> Talk:
    return Talk()


def texts() -> list[str]:
    return list(Event.objects.order_by("occurred_at", "revision").values_list("text", flat=True))


def outcomes() -> dict[str, str]:
    return dict(SlackReceipt.objects.values_list("event_type", "outcome"))


def extract(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = FakeExtractor(cities)
    monkeypatch.setattr(reading, "configured_extractor", lambda: extractor)
    processing.drain(Part(account_id=account.id), seconds=10)


# Who may talk


def test_the_address_is_verified(slack: Talk) -> None:
    body = {
        "token": "x",
        "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALW",
        "type": "url_verification",
    }
    answer = slack.post(body)
    assert (answer.status_code, answer.json()) == (200, {"challenge": body["challenge"]})
    assert problem(slack.post(body, given={})) == (401, "wrong_signature", None)


def test_the_same_under_both_prefixes(slack: Talk) -> None:
    body = b'{"type": "url_verification", "challenge": "c"}'
    with entered(None):
        answer = slack.client.post("/api/v1/slack/events", body, "application/json", headers=headers(body))
    assert answer.json() == {"challenge": "c"}


@pytest.mark.parametrize(("age", "status"), [(0, 200), (299, 200), (302, 401), (-299, 200), (-302, 401), (86_400, 401)])
def test_a_request_is_good_for_five_minutes(
    slack: Talk, age: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The clock stands still, so that the time that the test takes does not count.
    at = now()
    for module in (slack_live, signing):
        monkeypatch.setattr(module, "now", lambda: at)
    body = b'{"type": "url_verification", "challenge": "c"}'
    assert slack.post(body, given=headers(body, age=age)).status_code == status


def test_forged_requests_are_refused_and_leave_nothing(slack: Talk) -> None:
    body = json.dumps(slack.envelope(in_channel(said("I live in Lyon")))).encode()
    good = headers(body)
    forged = [
        {},
        {**good, "X-Slack-Signature": ""},
        {**good, "X-Slack-Signature": good["X-Slack-Signature"][:-1] + "x"},
        {**good, "X-Slack-Signature": "é" * 67},
        {**good, "X-Slack-Signature": good["X-Slack-Signature"].replace("v0=", "v1=")},
        {**good, "X-Slack-Request-Timestamp": "now"},
        {**good, "X-Slack-Request-Timestamp": "9" * 400},
        {**good, "X-Slack-Request-Timestamp": str(int(good["X-Slack-Request-Timestamp"]) - 1)},
        headers(body, secret="another"),
        headers(body + b" "),
    ]
    assert [slack.post(body, given=given).status_code for given in forged] == [401] * len(forged)
    assert not Event.objects.exists()
    assert not SlackReceipt.objects.exists()


def test_without_a_secret_nobody_is_let_in(slack: Talk, settings: Any) -> None:
    settings.SLACK_SIGNING_SECRET = ""
    body = b'{"type": "url_verification", "challenge": "c"}'
    assert slack.post(body, given=headers(body, secret=" ")).status_code == 401
    assert slack.post(b'{"type": "event_callback", "team_id": ["T1"], "event": {}}').status_code == 401


@pytest.mark.parametrize("body", [b"[]", b"\xff\xfe", b'{"type": "event_callback"'])
def test_what_is_no_request_is_refused(slack: Talk, body: bytes) -> None:
    assert slack.post(body, given=headers(body)).status_code in (400, 422)


def test_each_workspace_with_an_app_of_its_own_has_its_own_secret(slack: Talk, account: Account, settings: Any) -> None:
    settings.SLACK_SIGNING_SECRETS = ["T2=second-secret"]
    other = AccountFactory(key="other")
    with entered(other):
        listen(connect(other, team="T2"))
    # The first app's secret says nothing about the second workspace, whatever the body claims, nor the other way.
    assert Talk(team="T2").post(Talk(team="T2").envelope(in_channel(said("x")))).status_code == 401
    own = Talk(team="T1", secret="second-secret")
    assert own.post(own.envelope(in_channel(said("x")))).status_code == 401
    Talk(team="T2", secret="second-secret").tell(said("for the other account"))
    assert not Event.objects.exists()
    with entered(other):
        assert texts() == ["for the other account"]


def test_a_workspace_that_nobody_connected_is_acknowledged_and_ignored(slack: Talk) -> None:
    for team in ("T9", "", "T1' OR true --", "T\x00"):
        Talk(team=team).tell(said("I live in Lyon"))
    assert not Event.objects.exists()


def test_requests_of_another_app_are_ignored(slack: Talk) -> None:
    assert slack.post(slack.envelope(in_channel(said("x")), api_app_id="A9")).status_code == 200
    assert not Event.objects.exists()


# What is kept


def test_a_message_is_the_one_that_an_export_brings(slack: Talk, account: Account, tmp_path: Path) -> None:
    records = [
        said("hi <@U2>, see <https://x.org|x> &amp; <#C1>", thread_ts=f"{START - 5}.000000", client_msg_id="m-1"),
        said("Build passed", after=1, subtype="bot_message", bot_id="B9", username="ci"),
        said("Report", after=2, files=[{"id": "F1", "name": "a.txt", "filetype": "text", "preview": "We use Go."}]),
        said("hi <@U9>", after=3),
        said("", after=4, blocks=[{"type": "section", "text": {"type": "mrkdwn", "text": "*bold* <@U1>"}}]),
    ]
    for record in records:
        slack.tell(record)
    columns = ("source_key", "text", "scope__path", "subject__key", "speaker__key", "human", "thread", "urls")
    columns += ("occurred_at", "channel_id", "channel_name", "platform_user_id", "ts", "sensitivity", "payload")
    live = list(Event.objects.order_by("ts").values_list(*columns))
    assert len(live) == 5
    # Meanwhile Ana is called otherwise, and U9 has got a name.
    users = [*USERS, {"id": "U9", "team_id": "T1", "name": "zoe", "profile": {"real_name": "Zoe"}}]
    got = importing.import_export(account.id, write(tmp_path, {"general/2025-01-10": records}, users=users), Options())
    assert got.counts == {"deduplicated": 5}
    assert Event.objects.count() == 5
    assert list(Event.objects.order_by("ts").values_list(*columns)) == live
    assert live[0][:4] == (
        f"slack:T1:C1:{START}.000100",
        "hi @Bo Berg, see x (https://x.org) & #general",
        "/slack/general",
        "ana",
    )
    # And the other way round.
    later = said("said before", after=9)
    importing.import_export(account.id, write(tmp_path, {"general/2025-01-11": [later]}, users=users), Options())
    slack.tell(later)
    assert Event.objects.filter(ts=later["ts"]).count() == 1


def test_a_message_is_kept_once_however_it_is_repeated(slack: Talk) -> None:
    record = said("I live in Lyon")
    body = slack.envelope(in_channel(record))
    for retry in (None, "1", "2"):
        given = headers(json.dumps(body).encode())
        if retry:
            given |= {"X-Slack-Retry-Num": retry, "X-Slack-Retry-Reason": "http_timeout"}
        assert slack.post(body, given=given).status_code == 200
    for _ in range(3):
        slack.tell(record)
    assert texts() == ["I live in Lyon"]
    # One that comes with the header of a repeat and was never seen is kept.
    slack.tell(said("And in Rome", after=1))
    assert Event.objects.count() == 2


def test_an_edit_is_a_revision_and_an_unfurled_link_is_none(
    slack: Talk, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = said("i live in Lyon")
    slack.tell(record)
    extract(account, monkeypatch)
    slack.tell(changed(record, "i live in Rome", after=60))
    extract(account, monkeypatch)
    assert texts() == ["i live in Lyon", "i live in Rome"]
    assert sorted(Fact.objects.values_list("statement", "status")) == [
        ("The speaker lives in Lyon.", "superseded"),
        ("The speaker lives in Rome.", "active"),
    ]
    unfurled = {
        "type": "message",
        "subtype": "message_changed",
        "hidden": True,
        "ts": f"{START + 70}.000200",
        "message": {**record, "text": "i live in Rome", "attachments": [{"title": "Rome", "from_url": "https://x"}]},
        "previous_message": {**record, "text": "i live in Rome"},
    }
    slack.tell(unfurled)
    assert Event.objects.count() == 2


def test_an_edit_that_comes_before_its_original(slack: Talk) -> None:
    record = said("i live in Lyon")
    slack.tell(changed(record, "i live in Rome", after=60))
    slack.tell(record)
    assert texts() == ["i live in Rome"]


def test_a_deletion_withdraws_what_only_that_message_said(
    slack: Talk, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = said("i live in Lyon"), said("i live in Lyon", after=9)
    slack.tell(first)
    extract(account, monkeypatch)
    slack.tell(second)
    extract(account, monkeypatch)
    slack.tell(deleted(first, after=20))
    assert list(Fact.objects.values_list("status", flat=True)) == ["active"]
    slack.tell(deleted(second, after=21))
    assert list(Fact.objects.values_list("status", flat=True)) == ["retracted"]


def test_a_message_that_was_deleted_before_it_came_is_not_kept(slack: Talk) -> None:
    record = said("i live in Lyon")
    slack.tell(deleted(record, after=5))
    slack.tell(record)
    slack.tell(changed(record, "i live in Rome", after=3))
    assert texts() == []
    assert DeletedMessage.objects.count() == 1


def test_a_deletion_counts_also_where_nobody_listens_any_more(slack: Talk, workspace: SlackWorkspace) -> None:
    record = said("i live in Lyon")
    slack.tell(record)
    SlackChannel.objects.update(listening=False)
    slack.tell(changed(record, "i live in Rome", after=60))
    assert (Event.objects.count(), Event.objects.get().withdrawn_at) == (1, None)
    slack.tell(deleted(record, after=70))
    assert Event.objects.get().withdrawn_at is not None


def test_a_reply_that_comes_before_its_parent_stands_in_its_thread(
    slack: Talk, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = said("is Ana our DBA?", user="U2")
    slack.tell(said("yes, she lives in Lyon", after=5, thread_ts=parent["ts"]))
    slack.tell(parent)
    extractor = FakeExtractor(cities)
    monkeypatch.setattr(reading, "configured_extractor", lambda: extractor)
    processing.drain(Part(account_id=account.id), seconds=10)
    seen = next(item for item in extractor.seen if item.text.startswith("yes"))
    assert seen.window == (("Bo Berg", "is Ana our DBA?"),)


def test_own_posts_are_ignored_and_other_bots_are_no_evidence(slack: Talk) -> None:
    own = [
        said("I remember", user=BOT),
        said("I remember", after=1, bot_id=BOT_ID, user=None),
        said("I remember", after=2, bot_id="B5", app_id="A1", subtype="bot_message"),
        said("I remember", after=3, bot_id="B5", bot_profile={"id": "B5", "app_id": "A1"}),
    ]
    for record in own:
        slack.tell(record)
    slack.tell(changed(own[0], "I remember more", after=9))
    assert not Event.objects.exists()
    slack.tell(said("Deployed", after=20, user=None, subtype="bot_message", bot_id="B9", username="ci"))
    slack.tell(said("Reminder: stand-up", after=21, user="USLACKBOT"))
    assert set(Event.objects.values_list("human", "subject__kind")) == {(False, "agent")}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("nul \x00 here", "nul   here"),
        ("مرحبا بالعالم \u202eevil", None),
        ("東京に住んでいます", "東京に住んでいます"),
        ("x" * 40_000, "x" * 40_000),
        ("y" * (MAX_TEXT + 5), "y" * MAX_TEXT),
    ],
)
def test_texts_of_all_sorts(slack: Talk, text: str, kept: str | None) -> None:
    slack.tell(said(text))
    assert Event.objects.get().text == (text if kept is None else kept)


def test_a_lone_surrogate_is_kept_readable(slack: Talk) -> None:
    slack.tell(said("half \ud83d emoji"))
    assert Event.objects.get().text == "half � emoji"


def test_messages_without_words_are_counted_and_not_kept(slack: Talk) -> None:
    slack.tell(said(""))
    assert (texts(), outcomes()) == ([], {"message": "no_text"})


# What never is


def test_direct_messages_leave_nothing_at_all(slack: Talk) -> None:
    slack.tell(said("my secret"), "D1", "im")
    slack.tell(said("our secret", after=1), "G7", "mpim")
    slack.tell(said("our secret", after=1), "D7", "")
    slack.tell(changed(said("my secret"), "changed", after=5), "D1", "im")
    assert not Event.objects.exists()
    assert not SlackReceipt.objects.exists()
    assert not Job.objects.exists()
    assert not SlackChannel.objects.exclude(channel_id="C1").exists()


def test_nothing_is_kept_of_a_channel_that_nobody_opted_in(slack: Talk) -> None:
    slack.tell(said("I live in Lyon", user="U77"), "C2")
    slack.happen(type="member_joined_channel", user=BOT, channel="C2", channel_type="C", team="T1", inviter="U1")
    slack.tell(said("I live in Lyon", user="U77", after=1), "C2")
    assert not Event.objects.exists()
    assert not Identity.objects.filter(value="U77").exists()
    channel = SlackChannel.objects.get(channel_id="C2")
    assert (channel.is_member, channel.listening) == (True, False)
    assert outcomes() == {"member_joined_channel": "noted"}


def test_a_private_channel_has_a_scope_of_its_own(slack: Talk, workspace: SlackWorkspace) -> None:
    listen(workspace, "G3", name="board", private=True)
    slack.tell(said("we sell"), "G3", "group")
    assert Event.objects.get().scope.path == "/slack/board"
    assert ChannelBinding.objects.get(channel_id="G3").is_private


def test_two_channels_of_one_name_do_not_share_a_scope(slack: Talk, account: Account) -> None:
    listen(connect(account, team="T5", app_id=""), "C9", name="general", private=True)
    assert sorted(ChannelBinding.objects.values_list("channel_id", "scope__path")) == [
        ("C1", "/slack/general"),
        ("C9", "/slack/general-C9"),
    ]


def test_a_channel_that_becomes_private_has_to_be_opted_in_again(slack: Talk) -> None:
    slack.tell(said("to all"))
    slack.tell(said("", after=1, subtype="channel_convert_to_private"))
    slack.tell(said("to us", after=2), kind="group")
    channel = SlackChannel.objects.get()
    assert (channel.is_private, channel.listening, texts()) == (True, False, ["to all"])


# What else Slack tells


def test_a_channel_is_renamed_archived_and_left(slack: Talk) -> None:
    slack.happen(type="channel_rename", channel={"id": "C1", "name": "lounge", "created": 1})
    assert SlackChannel.objects.get().name == ChannelBinding.objects.get().name == "lounge"
    assert ChannelBinding.objects.get().scope.path == "/slack/general"
    slack.happen(type="channel_archive", channel="C1", user="U1")
    assert SlackChannel.objects.get().archived
    slack.happen(type="channel_unarchive", channel="C1", user="U1")
    assert not SlackChannel.objects.get().archived
    slack.happen(type="channel_left", channel="C1", actor_id="U1")
    assert not SlackChannel.objects.get().listening


def test_people_come_and_change_their_names(slack: Talk) -> None:
    zoe = {"id": "U9", "team_id": "T1", "name": "zoe", "profile": {"real_name": "Zoe Z", "display_name": "Zoe"}}
    slack.happen(type="team_join", user=zoe)
    slack.tell(said("hi", user="U9"))
    assert Event.objects.get().speaker.key == "zoe"
    slack.happen(type="user_change", user={**zoe, "profile": {"real_name": "Zoe Young", "display_name": "Zoe Y"}})
    subject = Subject.objects.get(key="zoe")
    assert subject.name == "Zoe Y"
    assert set(subject.identities.values_list("value", flat=True)) >= {"U9", "Zoe", "Zoe Young"}


def test_unknown_types_are_acknowledged_and_counted(slack: Talk) -> None:
    slack.happen(type="reaction_added", user="U1", reaction="tada", item={"type": "message", "channel": "C1"})
    slack.happen(type="channel_rename", channel="not a mapping")
    slack.happen(type=["odd"])
    assert slack.post({"type": "app_rate_limited", "team_id": "T1", "minute_rate_limited": 1}).status_code == 200
    assert slack.post({"type": "event_callback", "team_id": "T1", "event": None}).status_code == 200
    assert outcomes() == dict.fromkeys(["reaction_added", "channel_rename", "['odd']"], "unknown_type")


def test_a_workspace_that_removes_the_app_is_disconnected(slack: Talk, workspace: SlackWorkspace) -> None:
    slack.happen(type="app_uninstalled")
    slack.tell(said("I live in Lyon"))
    workspace.refresh_from_db()
    assert workspace.disconnected_at is not None
    assert not SlackChannel.objects.get().listening
    assert texts() == []
    assert AuditEntry.objects.filter(action="slack.disconnected").count() == 1


def test_receipts_go_after_a_week(slack: Talk, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    slack.tell(said("one"))
    slack.tell(deleted(said("two", after=3), after=5))
    later = receiving.now() + receiving.DELETION_KEPT + receiving.RECEIPT_KEPT
    assert receiving.prune(account.id) == 0
    monkeypatch.setattr(receiving, "now", lambda: later)
    with account_transaction(account.id):
        assert receiving.prune(account.id) == 3
    assert Passage.objects.count() == 0
