"""Reading the history of Slack: pages, threads, limits, kills, and what is left out."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from facts import long_jobs, long_work
from facts.actors import system
from facts.clock import now
from facts.errors import Conflicting, DomainError
from facts.long_jobs import Run
from facts.models import Account, Event, Fact, Job, LongJob
from facts.models.records import JobStatus
from governance.models import Role
from ingest import backfill, backfill_hold, opting_out
from ingest.models import BackfillChannel, EventOutcome, SlackChannel, SlackWorkspace
from ingest.slack import channels, delivery, people
from tests.api import caller_with_key, problem, signed_in
from tests.factories import AccountFactory, SubjectFactory, entered, maker_of, person_in
from tests.ingest import slack_live
from tests.ingest.slack_exports import USERS
from tests.stubs import slack_server
from tests.stubs.slack_server import SlackServer

ACTOR = system("test")
ARABIC, CHINESE = "أنا أعيش في الدوحة", "我住在上海"


class Workspace:
    """A connected workspace with one channel, ``general``, that is listened to."""

    def __init__(self, account: Account, server: SlackServer) -> None:
        """Connect it to the account."""
        self.account, self.server = account, server
        self.base = now() - timedelta(days=30)
        server.users = list(USERS)
        self.workspace: SlackWorkspace = slack_live.connect(account)
        self.channel("C1", "general")
        slack_live.listen(self.workspace)

    def channel(self, identifier: str, name: str, **more: Any) -> None:
        """Add a channel that the bot is in."""
        self.server.channels[identifier] = {"id": identifier, "name": name, "is_member": True, **more}

    def ts(self, after: float) -> str:
        """Return the time stamp so many seconds after the beginning."""
        return f"{(self.base + timedelta(seconds=after)).timestamp():.6f}"

    def say(self, text: str, *, after: float = 0, channel: str = "C1", **more: Any) -> str:
        """Say something, as U1 unless told otherwise; returns its time stamp."""
        ts = self.ts(after)
        record = {"type": "message", "user": "U1", "ts": ts, "text": text, **more}
        self.server.messages.setdefault(channel, []).append(record)
        return ts

    def thread(self, root: str, answers: int, *, channel: str = "C1") -> None:
        """Answer a message so many times."""
        for record in self.server.messages[channel]:
            if record["ts"] == root:
                record.update(thread_ts=root, reply_count=answers)
        for number in range(answers):
            record = {"type": "message", "user": "U2", "ts": f"{float(root) + 1 + number:.6f}", "thread_ts": root}
            self.server.messages[channel].append({**record, "text": f"answer {number} to {root}"})

    def start(self, scope: str = "org", **more: Any) -> LongJob:
        """Begin a backfill."""
        return backfill.start(self.account.id, scope=scope, actor=ACTOR, **more)

    def run(self, scope: str = "org", **more: Any) -> LongJob:
        """Do a whole backfill in this process."""
        return long_work.drive(self.account.id, self.start(scope, **more).pk)

    def asked(self) -> Counter[str]:
        """Count the calls by method."""
        return Counter(call.method for call in self.server.calls)


@pytest.fixture
def slack(account: Account, settings: Any) -> Iterator[Workspace]:
    """A workspace on a server of its own, read without pauses."""
    with slack_server.running() as server:
        settings.SLACK_API_URL, settings.SLACK_BOT_TOKEN = server.api_url, slack_server.TOKEN
        settings.SLACK_BACKFILL_SECONDS = 0
        yield Workspace(account, server)


def _read_one_page(run: Run) -> None:
    """Do steps until the first messages are kept."""
    while not Event.objects.exists():
        backfill.step(run)


def texts() -> list[str]:
    return list(Event.objects.order_by("occurred_at").values_list("text", flat=True))


def test_pages_and_threads_are_read_and_kept_with_their_own_times(slack: Workspace) -> None:
    slack.server.page = 3
    stamps = [slack.say(f"message {n}", after=n * 100) for n in range(8)]
    slack.thread(stamps[5], 4)
    work = slack.run()
    assert (work.state, work.done, work.total, work.unit) == ("done", 365, 365, "days of history")
    assert work.counts["captured"] == 12
    assert sorted(texts()) == sorted(
        [f"message {n}" for n in range(8)] + [f"answer {n} to {stamps[5]}" for n in range(4)]
    )
    event = Event.objects.get(text="message 5")
    assert (f"{event.occurred_at.timestamp():.6f}", event.source_type) == (stamps[5], "backfill")
    assert event.recorded_at > event.occurred_at + timedelta(days=29)
    assert event.recorded_claims["import"] == str(work.pk)
    assert Event.objects.filter(thread=stamps[5]).count() == 4
    row = BackfillChannel.objects.get()
    assert (row.state, row.newest, row.messages, row.replies, row.threads) == ("done", stamps[7], 8, 4, [])
    assert slack.asked()["conversations.history"] == 3
    assert slack.asked()["conversations.replies"] == 2


def test_a_second_backfill_begins_where_new_messages_begin(slack: Workspace) -> None:
    slack.server.page = 2
    for n in range(5):
        slack.say(f"old {n}", after=n)
    slack.run()
    slack.server.calls.clear()
    assert slack.run().state == "done"
    assert slack.asked()["conversations.history"] == 1
    slack.say("new", after=500)
    work = slack.run()
    assert work.counts["captured"] == 1
    assert Event.objects.count() == 6
    assert BackfillChannel.objects.get().messages == 6


def test_what_came_live_is_not_stored_twice(slack: Workspace) -> None:
    slack.say("said live")
    slack.run()
    BackfillChannel.objects.update(newest="")
    work = slack.run()
    assert work.counts["deduplicated"] == 1
    assert Event.objects.count() == 1


def test_only_the_last_year_is_read(slack: Workspace) -> None:
    slack.say("long ago", after=-400 * 86_400)
    slack.say("lately")
    slack.run()
    assert texts() == ["lately"]


def test_only_channels_that_were_opted_in_are_read(slack: Workspace) -> None:
    slack.channel("C2", "random")
    slack.say("kept")
    slack.say("not kept", channel="C2")
    work = slack.run()
    assert texts() == ["kept"]
    assert work.counts["channels_not_opted_in"] == 1
    assert [call.arguments["channel"] for call in slack.server.calls if call.method == "conversations.history"] == [
        "C1"
    ]


def test_a_channel_that_is_opted_out_meanwhile_is_read_no_further(slack: Workspace) -> None:
    slack.server.page = 1
    for n in range(3):
        slack.say(f"m{n}", after=n)
    run = long_jobs.take(slack.account.id, slack.start().pk)
    _read_one_page(run)
    assert texts() == ["m2"]
    channels.opt_out(slack.workspace, "C1", actor=ACTOR)
    backfill.step(run)
    row = BackfillChannel.objects.get()
    assert (row.state, row.reason, texts()) == ("skipped", "not_opted_in", ["m2"])


def test_a_channel_the_bot_is_not_in_is_skipped_and_the_others_are_read(slack: Workspace) -> None:
    slack.channel("C2", "random", is_member=False)
    slack_live.listen(slack.workspace, "C2", name="random")
    slack.say("kept")
    work = slack.run()
    assert work.state == "done"
    assert list(BackfillChannel.objects.order_by("channel_id").values_list("channel_id", "state", "reason")) == [
        ("C1", "done", ""),
        ("C2", "skipped", "not_in_channel"),
    ]
    assert (work.counts["channels_done"], work.counts["channels_skipped"]) == (1, 1)
    assert (work.done, work.total) == (730, 730)


def test_a_skipped_channel_is_tried_again_by_the_next_backfill(slack: Workspace) -> None:
    slack.server.channels["C1"]["is_member"] = False
    slack.say("kept")
    slack.run()
    assert not Event.objects.exists()
    slack.server.channels["C1"]["is_member"] = True
    slack.run()
    assert texts() == ["kept"]


def test_nothing_is_kept_of_people_who_opted_out_nor_of_the_bot_itself(slack: Workspace) -> None:
    opting_out.stop_remembering(slack.account.id, people.known(slack.account.id, ["U2"])["U2"], via="portal")
    root = slack.say("kept")
    slack.thread(root, 2)
    slack.say("my own answer", after=50, user=slack_live.BOT)
    slack.say(f"<@{slack_live.BOT}> off", after=60)
    slack.say("<@U1> joined", after=70, subtype="channel_join")
    work = slack.run()
    assert texts() == ["kept"]
    assert {name: work.counts[name] for name in ("opted_out", "own_post", "command")} == {
        "opted_out": 2,
        "own_post": 1,
        "command": 1,
    }
    assert SlackChannel.objects.get(channel_id="C1").listening, "an old command is not obeyed"


def test_storms_of_429_are_waited_out(slack: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(long_work.time, "sleep", slept.append)
    root = slack.say("kept")
    slack.thread(root, 1)
    slack.server.limit("users.list", retry_after=2, times=3)
    slack.server.limit("conversations.list", retry_after=3)
    slack.server.limit("conversations.history", retry_after=30, times=2)
    slack.server.limit("conversations.replies", retry_after=7)
    work = slack.run()
    assert (work.state, sum(slept)) == ("done", 3 * 2 + 3 + 2 * 30 + 7)
    assert len(texts()) == 2


def test_the_worker_gives_long_waits_back_to_the_queue_and_says_so(slack: Workspace) -> None:
    slack.say("kept")
    slack.server.limit("conversations.history", retry_after=45)
    work = slack.start()
    turn = Job.objects.get(kind=long_jobs.TURN)
    long_work.take_turn(slack.account.id, turn.pk)
    work.refresh_from_db()
    assert (work.state, work.error_class) == ("paused", "rate_limited")
    assert timedelta(seconds=40) < work.resume_at - now() <= timedelta(seconds=45)
    Job.objects.filter(pk=turn.pk).update(run_after=now())
    long_work.take_turn(slack.account.id, turn.pk)
    work.refresh_from_db()
    assert (work.state, texts()) == ("done", ["kept"])


@pytest.mark.parametrize(
    "method", ["users.list", "conversations.list", "conversations.history", "conversations.replies"]
)
def test_an_outage_costs_a_try_and_nothing_else(slack: Workspace, method: str) -> None:
    root = slack.say("kept")
    slack.thread(root, 1)
    slack.server.breaks(method, status=503)
    work = slack.start()
    turn = Job.objects.get(kind=long_jobs.TURN)
    long_work.take_turn(slack.account.id, turn.pk)
    work.refresh_from_db()
    assert (work.state, work.error_class) == ("waiting", "Unavailable")
    Job.objects.filter(pk=turn.pk).update(run_after=now())
    long_work.take_turn(slack.account.id, turn.pk)
    work.refresh_from_db()
    assert (work.state, Event.objects.count()) == ("done", 2)


def test_a_token_that_is_refused_ends_it(slack: Workspace, settings: Any) -> None:
    slack.say("kept")
    slack.server.fails("conversations.history", "invalid_auth")
    work = slack.run()
    assert (work.state, work.error_class) == ("failed", "slack_invalid_auth")
    assert (
        long_work.drive(slack.account.id, long_jobs.resume(slack.account.id, work.pk, actor=ACTOR).pk).state == "done"
    )
    settings.SLACK_BOT_TOKEN = ""
    with pytest.raises(Conflicting) as refused:
        slack.start()
    assert refused.value.code == "slack_not_configured"


class Killed(BaseException):
    """Ends a step as a kill does: nothing after it runs."""


@pytest.mark.parametrize(("within", "at"), [(True, 1), (True, 2), (True, 4), (False, 1), (False, 4), (False, 6)])
def test_a_kill_at_any_step_loses_and_doubles_nothing(
    slack: Workspace, within: bool, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slack.server.page = 2
    stamps = [slack.say(f"message {n}", after=n * 100) for n in range(4)]
    slack.thread(stamps[2], 3)
    work = slack.start()
    with monkeypatch.context() as killing:
        if within:
            killing.setattr(delivery, "deliver", _killed_at(at))
        run = long_jobs.take(slack.account.id, work.pk)
        with contextlib.suppress(Killed):
            for _ in range(99 if within else at):
                backfill.step(run)
    assert Event.objects.count() < 7
    done = long_work.drive(slack.account.id, work.pk)
    assert (done.state, Event.objects.count()) == ("done", 7)
    row = BackfillChannel.objects.get()
    assert (row.messages, row.replies) == (4, 3)


def _killed_at(number: int) -> Callable[..., Counter[str]]:
    """Return a delivery that does its work and dies within the transaction, the so-maniest time."""
    deliver, calls = delivery.deliver, itertools.count(1)

    def killed(*arguments: Any, **named: Any) -> Counter[str]:
        counts = deliver(*arguments, **named)
        if next(calls) == number:
            raise Killed
        return counts

    return killed


def test_facts_are_looked_for_when_all_channels_have_been_read(slack: Workspace) -> None:
    slack.channel("C2", "random")
    slack_live.listen(slack.workspace, "C2", name="random")
    slack.say("I live in Lyon.", after=0)
    slack.say("I now live in Rome.", after=500, channel="C2")
    run = long_jobs.take(slack.account.id, slack.start().pk)
    seen = []
    while not backfill.step(run).finished:
        seen.append((run.job.position["stage"], Fact.objects.count()))
    assert {facts for stage, facts in seen if stage == "history"} == {0}
    assert Fact.objects.count() == 2
    assert not EventOutcome.objects.filter(result="pending").exists()
    assert run.job.counts["read_for_facts"] == 2


def test_what_was_read_before_a_cancellation_is_read_for_facts_too(slack: Workspace) -> None:
    slack.server.page = 1
    for n in range(3):
        slack.say(f"I like tea {n}.", after=n)
    work = slack.start()
    run = long_jobs.take(slack.account.id, work.pk)
    _read_one_page(run)
    assert Job.objects.filter(run_after=backfill_hold.HELD).count() == 1
    run.close("paused")
    long_jobs.cancel(slack.account.id, work.pk, actor=ACTOR)
    assert not Job.objects.filter(run_after=backfill_hold.HELD).exists()
    assert Job.objects.filter(kind="ingest.process", status=JobStatus.QUEUED).count() == 1
    long_work.drive(slack.account.id, long_jobs.resume(slack.account.id, work.pk, actor=ACTOR).pk)
    assert Event.objects.count() == 3


def test_ten_thousand_messages_are_paged(slack: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    slack.server.page = 200
    for n in range(10_000):
        slack.say(f"m{n}", after=n)
    seen: list[str] = []

    def keep(principal: Any, channel: Any, records: Any, *, authors: Any) -> Counter[str]:
        seen.extend(record.ts for record in records)
        return Counter(captured=len(records))

    monkeypatch.setattr(delivery, "deliver", keep)
    work = slack.run()
    assert (work.state, work.counts["captured"], len(set(seen))) == ("done", 10_000, 10_000)
    assert slack.asked()["conversations.history"] == 50


def test_any_script_and_hostile_text_is_kept_as_it_is(slack: Workspace) -> None:
    said = [ARABIC, CHINESE, "a\x00b", "half \ud83d pair", "&lt;script&gt;alert(1)&lt;/script&gt;"]
    for number, text in enumerate(said):
        slack.say(text, after=number)
    slack.run()
    assert texts() == [ARABIC, CHINESE, "a b", "half \ufffd pair", "<script>alert(1)</script>"]


def test_one_channel(slack: Workspace) -> None:
    slack.channel("C2", "random")
    slack_live.listen(slack.workspace, "C2", name="random")
    slack.say("first")
    slack.say("second", channel="C2")
    work = slack.start("channel", channel_id="C2")
    assert slack.start("channel", channel_id="C2").pk == work.pk
    long_work.drive(slack.account.id, work.pk)
    assert texts() == ["second"]
    assert not slack.asked()["conversations.list"]


def test_what_is_under_way_is_widened(slack: Workspace) -> None:
    slack.channel("C2", "random")
    slack_live.listen(slack.workspace, "C2", name="random")
    slack.say("first")
    slack.say("second", channel="C2")
    work = slack.start("channel", channel_id="C2")
    run = long_jobs.take(slack.account.id, work.pk)
    _read_one_page(run)
    assert slack.start("org").pk == work.pk
    assert long_work.drive(slack.account.id, work.pk).state == "done"
    assert sorted(texts()) == ["first", "second"]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"scope": "everything"}, "unknown_backfill_scope"),
        ({"scope": "channel", "channel_id": "C9"}, "unknown_channel"),
        ({"scope": "channel"}, "unknown_channel"),
        ({"scope": "channel", "channel_id": "C2"}, "channel_not_listening"),
        ({"scope": "org", "team": "T9"}, "slack_not_connected"),
    ],
)
def test_what_cannot_be_read_is_refused(slack: Workspace, asked: dict[str, str], code: str) -> None:
    channels.note(slack.workspace, {"id": "C2", "name": "random"})
    with pytest.raises(DomainError) as refused:
        slack.start(**asked)
    assert refused.value.code == code


def test_with_several_workspaces_one_is_named(slack: Workspace) -> None:
    slack_live.connect(slack.account, team="T2")
    with pytest.raises(Conflicting) as refused:
        slack.start()
    assert refused.value.code == "team_not_named"
    assert slack.start(team="T1").options["team"] == "T1"


@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_the_endpoints_begin_it_and_tell_how_far_it_is(slack: Workspace, prefix: str) -> None:
    caller = caller_with_key(slack.account)
    none = caller.get(f"{prefix}/context/backfill/status").json()
    assert (none["status"], none["job_id"], none["channels"]) == ("none", None, [])
    begun = caller.post(f"{prefix}/context/backfill", {"scope": "channel", "channelId": "C1", "organizationId": "x"})
    assert begun.status_code == 202
    assert (begun.json()["status"], begun.json()["channels"][0]["status"]) == ("waiting", "pending")
    ts = slack.say("kept")
    long_work.drive(slack.account.id, LongJob.objects.get().pk)
    told = caller.get(f"{prefix}/context/backfill/status").json()
    assert (told["status"], told["stage"], told["done"], told["total"]) == ("done", "facts", 365, 365)
    assert told["estimated_end"] is None
    assert told["channels"] == [
        {
            "channel_id": "C1",
            "name": "general",
            "status": "done",
            "reason": "",
            "messages": 1,
            "replies": 0,
            "threads_waiting": 0,
            "oldest": ts,
            "newest": ts,
            "finished_at": told["channels"][0]["finished_at"],
        }
    ]


def test_it_is_for_those_who_may_act_for_all_channels(slack: Workspace) -> None:
    peer = SubjectFactory(account=slack.account)
    curator = signed_in(maker_of(person_in(slack.account)))
    assert curator.post("/v1/context/backfill", {"scope": "org"}).status_code == 202
    for caller in (
        caller_with_key(slack.account, peer=peer),
        caller_with_key(slack.account, scope_limit=slack.workspace and channels.binding_of(
            slack.account.id, "T1", "C1").scope),
        signed_in(maker_of(person_in(slack.account, role=Role.CURATOR, path="/sales"))),
    ):  # fmt: skip
        assert problem(caller.post("/v1/context/backfill", {"scope": "org"})) == (403, "forbidden_scope", "scope")
        assert problem(caller.get("/v1/context/backfill/status"))[0] == 403
    other = AccountFactory()
    with entered(other):
        stranger = caller_with_key(other)
    assert stranger.get("/v1/context/backfill/status").json()["status"] == "none"
    assert problem(stranger.post("/v1/context/backfill", {"scope": "org"}))[1] == "slack_not_connected"
