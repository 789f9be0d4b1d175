"""Asking Slack: names of people and channels, the words of files; each failure with its own consequence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from facts.actors import system
from facts.clock import now
from facts.models import Account, Event, Job, Subject
from ingest.models import ChannelBinding, SlackChannel, SlackWorkspace
from ingest.slack import asking, channels, client, directory, file_texts
from ingest.slack.client import RateLimited, Refused, Slack, Unavailable
from tests.ingest.slack_exports import ANA, BO, ROBOT, said
from tests.ingest.slack_live import BOT, SECRET, Talk, connect, listen
from tests.stubs import slack_server
from tests.stubs.slack_server import SlackServer

TEXT_FILE = {"id": "F1", "name": "notes.txt", "title": "notes.txt", "mimetype": "text/plain", "filetype": "text"}


@pytest.fixture
def server(settings: Any) -> Iterator[SlackServer]:
    with slack_server.running() as running:
        settings.SLACK_API_URL, settings.SLACK_BOT_TOKEN = running.api_url, slack_server.TOKEN
        settings.SLACK_SIGNING_SECRET = SECRET
        running.users = [ANA, BO, ROBOT, {"id": BOT, "name": "memory", "is_bot": True, "profile": {}}]
        running.channels = {"C1": {"id": "C1", "name": "general", "is_private": False, "is_member": True}}
        yield running


@pytest.fixture
def workspace(account: Account) -> SlackWorkspace:
    return connect(account)


def do(kind: str) -> Job:
    """Run the one waiting job of a kind and return it as it is then."""
    job = Job.objects.get(kind=kind, status="queued")
    asking.run(job.account_id, job.id)
    job.refresh_from_db()
    return job


def do_all(*kinds: str) -> int:
    """Run the waiting jobs of these kinds until there are none; return how many runs that took."""
    runs = 0
    while job := Job.objects.filter(kind__in=kinds, status="queued").order_by("id").first():
        Job.objects.filter(pk=job.pk).update(run_after=now())
        asking.run(job.account_id, job.id)
        runs += 1
        assert runs < 50
    return runs


def whole(page: Any) -> list[Any]:
    """Return all pages of a list."""
    rows, cursor = page()
    while cursor:
        more, cursor = page(cursor=cursor)
        rows += more
    return rows


# The client


def test_lists_are_read_to_their_end(server: SlackServer) -> None:
    server.page = 2
    server.channels |= {f"C{number}": {"id": f"C{number}", "name": f"c{number}"} for number in range(2, 6)}
    slack = Slack(slack_server.TOKEN)
    assert [member["id"] for member in whole(slack.members)] == ["U1", "U2", "U3", BOT]
    assert [channel["id"] for channel in whole(slack.channels)] == ["C1", "C2", "C3", "C4", "C5"]
    assert [call.method for call in server.calls] == ["users.list"] * 2 + ["conversations.list"] * 3
    assert server.calls[-1].arguments["types"] == "public_channel,private_channel"


def test_every_failure_is_one_of_three_and_nothing_is_tried_again(server: SlackServer, settings: Any) -> None:
    slack = Slack(slack_server.TOKEN)
    server.limit("auth.test", retry_after=7)
    with pytest.raises(RateLimited) as limited:
        slack.call("auth.test")
    assert limited.value.seconds == 7
    server.fails("auth.test", "ratelimited")
    with pytest.raises(RateLimited):
        slack.call("auth.test")
    for fault in (lambda: server.breaks("auth.test"), lambda: server.drops("auth.test")):
        fault()
        with pytest.raises(Unavailable):
            slack.call("auth.test")
    server.fails("auth.test", "internal_error")
    with pytest.raises(Unavailable, match="internal_error"):
        slack.call("auth.test")
    with pytest.raises(Refused) as refused:
        Slack("xoxb-wrong").call("auth.test")
    assert refused.value.error == "invalid_auth"
    assert len(server.calls) == 6
    settings.SLACK_API_URL = "http://127.0.0.1:9/api/"
    with pytest.raises(Unavailable):
        Slack(slack_server.TOKEN).call("auth.test")


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://files.slack.com/files-pri/T1-F1/a.txt", True),
        ("https://slack.com/a.txt", True),
        ("https://FILES.SLACK.COM/a.txt", True),
        ("http://files.slack.com/a.txt", False),
        ("https://files.slack.com:8443/a.txt", False),
        ("https://slack.com.evil.example/a.txt", False),
        ("https://evilslack.com/a.txt", False),
        ("https://slack.com@evil.example/a.txt", False),
        ("https://user:pass@files.slack.com/a.txt", False),
        ("https://169.254.169.254/latest", False),
        ("file:///etc/passwd", False),
        ("https://[::1/a", False),
        ("", False),
    ],
)
def test_files_come_from_slacks_own_hosts_only(url: str, own: bool) -> None:
    assert client.is_slacks_own(url) is own


def test_a_file_that_is_no_text_or_too_large_is_left(server: SlackServer) -> None:
    slack = Slack(slack_server.TOKEN)
    assert slack.file_text(server.upload("/f/a.txt", "héllo".encode())) == "héllo"
    assert Slack("xoxb-wrong").file_text(f"{server.address}/f/a.txt") is None
    assert slack.file_text(server.upload("/f/b.txt", b"x" * (client.MAX_FILE_BYTES + 1))) is None
    assert slack.file_text(server.upload("/f/c.txt", b"<b>", content_type="text/html")) is None
    assert slack.file_text(f"{server.address}/f/missing.txt") is None
    assert slack.file_text("https://files.slack.com/a.txt") is None


def test_each_workspace_has_its_token(settings: Any) -> None:
    settings.SLACK_BOT_TOKENS = ["T2=two", "T3 = three"]
    settings.SLACK_SIGNING_SECRETS = ["T2=secret-two"]
    assert client.client_for("T1") is None
    assert client.client_for("T2")._token == "two"
    assert client.client_for("T3")._token == "three"
    settings.SLACK_BOT_TOKEN = "one"
    assert [client.client_for(team)._token for team in ("T1", "T2", "")] == ["one", "two", "one"]
    assert (client.signing_secret_of("T2"), client.signing_secret_of("T1")) == ("secret-two", "")
    assert client.signing_secrets() == ["secret-two"]


# Names


def test_a_stranger_gets_a_name(server: SlackServer, workspace: SlackWorkspace) -> None:
    listen(workspace)
    server.users.append({"id": "U9", "name": "zoe", "profile": {"real_name": "Zoe Young", "email": "zoe@example.org"}})
    Talk().tell(said("i live in Lyon", user="U9"))
    assert Event.objects.get().speaker.name == ""
    assert do(directory.MEMBER).status == "done"
    assert Event.objects.get().speaker.name == "Zoe Young"
    Talk().tell(said("<@U9> is here", after=1))
    assert Event.objects.latest("occurred_at").text == "@Zoe Young is here"
    assert Job.objects.filter(kind=directory.MEMBER).count() == 1


def test_a_long_list_goes_on_behind_the_page_at_which_slack_wanted_a_pause(
    server: SlackServer, workspace: SlackWorkspace
) -> None:
    server.page = 1
    directory.look_up_all(workspace)
    # One call goes well, the next is too many: whoever began again with the first page would never come to the end.
    for _ in range(3):
        assert do(directory.MEMBERS).status == "done"
        server.limit("users.list", retry_after=30)
        assert do(directory.MEMBERS).status == "queued"
        Job.objects.filter(status="queued").update(run_after=now())
    assert do_all(directory.MEMBERS, directory.CHANNELS) == 2
    assert [call.arguments.get("cursor") for call in server.calls if call.method == "users.list"] == [
        None, "1", "1", "2", "2", "3", "3",
    ]  # fmt: skip
    assert {subject.key for subject in Subject.objects.filter(kind="person")} == {"ana", "bo"}


def test_the_lists_make_everybody_known_and_no_channel_listened_to(
    server: SlackServer, workspace: SlackWorkspace
) -> None:
    server.channels["G2"] = {"id": "G2", "name": "board", "is_private": True, "is_member": True}
    server.channels["D1"] = {"id": "D1", "is_im": True}
    directory.look_up_all(workspace)
    directory.look_up_all(workspace)
    assert do_all(directory.MEMBERS, directory.CHANNELS) == 2
    people = Subject.objects.filter(kind="person").values_list("key", "name")
    assert sorted(people) == [("ana", "Ana"), ("bo", "Bo Berg")]
    told = SlackChannel.objects.order_by("channel_id").values_list("channel_id", "name", "is_private", "listening")
    assert list(told) == [("C1", "general", False, False), ("G2", "board", True, False)]


def test_the_bot_learns_the_name_of_a_channel_to_which_it_is_invited(
    server: SlackServer, workspace: SlackWorkspace
) -> None:
    Talk().happen(type="member_joined_channel", user=BOT, channel="C1", channel_type="C", team="T1")
    assert do(directory.CHANNEL).status == "done"
    Talk().tell(said(f"<@{BOT}> on"))
    assert ChannelBinding.objects.get().scope.path == "/slack/general"


def test_a_limit_is_waited_for_and_a_refusal_ends_it(server: SlackServer, workspace: SlackWorkspace) -> None:
    directory.look_up_member(workspace, "U9")
    server.limit("users.info", retry_after=30)
    job = do(directory.MEMBER)
    assert (job.status, job.attempts, job.error_class) == ("queued", 0, "rate_limited")
    assert job.run_after >= now() + timedelta(seconds=25)
    Job.objects.filter(pk=job.pk).update(run_after=now())
    server.breaks("users.info", status=503)
    assert do(directory.MEMBER).error_class == "slack_unavailable"
    Job.objects.filter(pk=job.pk).update(run_after=now())
    job = do(directory.MEMBER)
    assert (job.status, job.error_class) == ("dead", "user_not_found")


def test_nothing_is_asked_without_a_token_or_after_the_end(
    server: SlackServer, workspace: SlackWorkspace, settings: Any
) -> None:
    directory.look_up_member(workspace, "U1")
    settings.SLACK_BOT_TOKEN = ""
    directory.look_up_member(workspace, "U2")
    assert do(directory.MEMBER).status == "done"
    assert Job.objects.count() == 1
    assert server.calls == []


# Files


def shared(server: SlackServer, body: str, *, name: str = "notes.txt", **fields: Any) -> dict[str, Any]:
    """Return the message that shares a file of which Slack shows a part."""
    url = server.upload(f"/files/{name}", body.encode())
    file = {**TEXT_FILE, "size": len(body), "preview": body[:10], "preview_is_truncated": True, "url_private": url}
    record = said("see notes", files=[file], **fields)
    server.messages.setdefault("C1", []).append(record)
    return record


def test_the_rest_of_a_file_becomes_a_revision(server: SlackServer, workspace: SlackWorkspace) -> None:
    listen(workspace)
    body = "We deploy on Fridays. " * 20
    Talk().tell(shared(server, body))
    assert Event.objects.get().text == "see notes\n\nnotes.txt:\nWe deploy"
    job = Job.objects.get(kind=file_texts.FILES)
    assert set(job.payload) == {"team", "channel", "ts", "thread"}
    assert do(file_texts.FILES).status == "done"
    latest = Event.objects.latest("revision")
    assert (latest.revision, latest.text) == (2, f"see notes\n\nnotes.txt:\n{body.strip()}")
    assert Event.objects.get(revision=1).withdrawn_at is not None
    # The same record again, with its preview alone, changes nothing.
    Talk().tell(server.messages["C1"][0])
    assert Event.objects.count() == 2


def test_a_message_of_a_file_alone_is_kept_when_its_words_are_there(
    server: SlackServer, workspace: SlackWorkspace
) -> None:
    listen(workspace)
    record = shared(server, "I live in Lyon, and so on.", thread_ts="1736499000.000100")
    record["text"] = ""
    del record["files"][0]["preview"]
    Talk().tell(record)
    assert not Event.objects.exists()
    do(file_texts.FILES)
    assert Event.objects.get().text == "notes.txt:\nI live in Lyon, and so on."
    assert server.calls[-2].method == "conversations.replies"


@pytest.mark.parametrize("what", ["deleted", "opted out", "channel off"])
def test_a_file_is_not_kept_when_its_message_may_not_be(
    server: SlackServer, workspace: SlackWorkspace, what: str
) -> None:
    listen(workspace)
    Talk().tell(shared(server, "We deploy on Fridays, always."))
    match what:
        case "deleted":
            server.messages["C1"].clear()
        case "opted out":
            Talk().tell(said("forget me", after=9), "D1", "im")
        case "channel off":
            channels.opt_out(workspace, "C1", actor=system())
    do(file_texts.FILES)
    assert Event.objects.count() == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"mimetype": "image/png", "filetype": "png"},
        {"mimetype": "text/html", "filetype": "html"},
        {"size": client.MAX_FILE_BYTES + 1},
        {"size": 0},
        {"size": "12"},
        {"preview_is_truncated": False},
        {"mode": "external", "is_external": True},
        {"url_private": "https://evil.example/a.txt"},
        {"url_private": None},
        {"mode": "tombstone"},
    ],
)
def test_files_that_are_not_fetched(server: SlackServer, fields: dict[str, Any]) -> None:
    file = {**TEXT_FILE, "size": 12, "preview": "x", "preview_is_truncated": True}
    file["url_private"] = f"{server.address}/files/a.txt"
    assert file_texts.wants_text(file)
    assert not file_texts.wants_text({**file, **fields})


def test_a_private_channel_in_a_shared_scope_is_not_opted_in(server: SlackServer, workspace: SlackWorkspace) -> None:
    listen(workspace)
    listen(workspace, "C2", name="ops")
    general = ChannelBinding.objects.get(channel_id="C1")
    ChannelBinding.objects.filter(channel_id="C2").update(scope=general.scope)
    channels.note(workspace, {"id": "C2", "is_private": True})
    Talk().tell(said(f"<@{BOT}> on", after=10**9), "C2", "group")
    assert not SlackChannel.objects.get(channel_id="C2").listening
