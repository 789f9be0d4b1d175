"""Telling the bot: channels on and off, people out and in, a no to a question; never kept, once, and answered."""

from __future__ import annotations

from typing import Any

import pytest

from facts.erasure import ErasureMode
from facts.models import Account, AuditEntry, Event, Fact, Identity, Subject
from facts.tenancy import account_transaction
from governance import erasing
from governance.models import Consent, ConsentStatus, Role
from governance.sharing import consent_codes, promotions
from ingest import opting_out, processing, reading
from ingest.deliveries import contents
from ingest.line import Part
from ingest.models import CandidateOutcome, Delivery, OptOut, SlackChannel, SlackWorkspace
from ingest.slack import importing, obeying
from ingest.slack.commands import Command, Verb, read
from tests.api import caller_with_key, problem
from tests.factories import FactFactory, MembershipFactory, person_in
from tests.ingest.fakes import FakeExtractor, city
from tests.ingest.slack_exports import changed, said, write
from tests.ingest.slack_live import BOT, SECRET, Talk, connect, listen


@pytest.fixture
def workspace(account: Account, settings: Any) -> SlackWorkspace:
    settings.SLACK_SIGNING_SECRET = SECRET
    made = connect(account)
    listen(made)
    return made


@pytest.fixture
def slack(workspace: SlackWorkspace) -> Talk:
    return Talk()


def answers() -> list[str]:
    return [
        about.removeprefix("slack.answer.") for about in Delivery.objects.order_by("id").values_list("about", flat=True)
    ]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("<@UBOT> on", Command(verb=Verb.ON)),
        ("  <@UBOT|memory>:  OFF!", Command(verb=Verb.OFF)),
        ("<@UBOT> Don’t remember me.", Command(verb=Verb.FORGET)),
        ("<@UBOT> stop  remembering\nme", Command(verb=Verb.FORGET)),
        ("<@UBOT> start remembering me", Command(verb=Verb.REMEMBER)),
        ("<@UBOT> no abcd2345", Command(verb=Verb.REFUSE, code="abcd2345")),
        ("<@UBOT> no thanks", None),
        ("<@UBOT> on Monday we ship", None),
        ("<@U1> on", None),
        ("on", None),
        ("tell <@UBOT> off", None),
        ("", None),
    ],
)
def test_what_is_said_to_the_bot(text: str, command: Command | None) -> None:
    assert read(text, bot=BOT) == command


def test_in_a_direct_message_the_bot_need_not_be_named() -> None:
    assert read("forget me", bot=BOT, direct=True) == Command(verb=Verb.FORGET)
    assert read("forget me", bot="", direct=False) is None


def test_a_channel_is_opted_in_and_out_by_message(slack: Talk) -> None:
    slack.happen(type="member_joined_channel", user=BOT, channel="C2", channel_type="C", team="T1")
    slack.tell(said("before"), "C2")
    slack.tell(said(f"<@{BOT}> on", after=1), "C2")
    slack.tell(said("kept", after=2), "C2")
    slack.tell(said(f"<@{BOT}> off", after=3, user="U2"), "C2")
    slack.tell(said("after", after=4), "C2")
    assert list(Event.objects.values_list("text", flat=True)) == ["kept"]
    assert answers() == ["on", "off"]
    assert Delivery.objects.get(about="slack.answer.on").recipient.key == "ana"
    assert list(
        AuditEntry.objects.filter(action__startswith="channel.", object_type="slack_channel")
        .order_by("seq")
        .values_list("action", flat=True)
    ) == ["channel.opted_in", "channel.opted_in", "channel.opted_out"]
    assert SlackChannel.objects.get(channel_id="C2").switched_by == Subject.objects.get(key="bo")


def test_an_older_word_changes_nothing_however_often_it_comes(slack: Talk) -> None:
    on, off = said(f"<@{BOT}> on", after=5), said(f"<@{BOT}> off", after=9)
    for record in (on, off, on, on, off):
        slack.tell(record, "C2")
    assert not SlackChannel.objects.get(channel_id="C2").listening
    assert answers() == ["on", "off"]


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (said(f"<@{BOT}> on", user_team="T9"), "channel"),
        (said(f"<@{BOT}> on", bot_id="B9"), "channel"),
        (said(f"<@{BOT}> on", user="USLACKBOT"), "channel"),
        (said(f"<@{BOT}> on"), "mpim"),
        (said(f"<@{BOT}> on"), "im"),
        (said(f"<@{BOT}> on"), ""),
        (changed(said("hello"), f"<@{BOT}> on", after=1), "channel"),
    ],
)
def test_who_cannot_opt_a_channel_in(slack: Talk, record: dict[str, Any], kind: str) -> None:
    slack.tell(record, "C2", kind)
    assert not SlackChannel.objects.filter(channel_id="C2", listening=True).exists()
    assert not Event.objects.exists()


def test_a_person_opts_out_of_every_way_and_in_again(
    slack: Talk, account: Account, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slack.tell(said("i live in Oslo", user="U2"))
    slack.tell(said("forget me", user="U2", after=1), "D2", "im")
    bo = Subject.objects.get(key="bo")
    assert opting_out.is_opted_out(account.id, bo.id)
    assert answers() == ["forgotten"]
    slack.tell(said("i live in Rome", user="U2", after=2))
    slack.tell(changed(said("i live in Oslo", user="U2"), "i live in Bern", after=3))
    path = write(tmp_path, {"general/2025-01-10": [said("i live in Wien", user="U2", after=4)]})
    assert importing.import_export(account.id, path, importing.Options()).counts == {"opted_out": 1}
    app = caller_with_key(account)
    body = {"channelId": "C1", "platformUserId": "U2", "messageTs": "1736499605.000100", "text": "i live in Prag"}
    assert app.post("/context/ingest", body).json()["reason"] == "opted_out"
    event = {"scope": "/p", "speaker": "bo", "channel_id": "C1", "text": "I live in Prag."}
    assert problem(app.post("/v1/capture", {"events": [event]})) == (403, "opted_out", "events.0.speaker")
    assert [event.text for event in Event.objects.all()] == ["i live in Oslo"]
    # What others say in channels teaches nothing about them, word for word.
    slack.tell(said("Bo Berg lives in Rome", after=5))
    about_bo = FakeExtractor(lambda item: [city("Rome", about="Bo Berg")] if "Rome" in item.text else [])
    monkeypatch.setattr(reading, "configured_extractor", lambda: about_bo)
    processing.drain(Part(account_id=account.id), seconds=10)
    assert not Fact.objects.exists()
    rejected = CandidateOutcome.objects.get()
    assert (rejected.reason, rejected.statement, rejected.quote) == ("subject_opted_out", "", "")
    # Their own assistant still remembers what they tell it.
    told = {"scope": "/p", "subject_id": "bo", "text": "I live in Prag."}
    assert app.post("/v1/capture", {"events": [told]}).status_code == 202
    slack.tell(said(f"<@{BOT}> start remembering me", user="U2", after=6))
    slack.tell(said("i live in Turin", user="U2", after=7))
    assert Event.objects.filter(text="i live in Turin").exists()
    assert answers() == ["forgotten", "remembered"]


@pytest.mark.parametrize("signs_in", [False, True])
def test_who_opted_out_and_was_erased_is_not_remembered_when_they_speak_again(
    slack: Talk, account: Account, signs_in: bool
) -> None:
    bo = Subject.objects.get(key="bo")
    if signs_in:
        MembershipFactory(account=account, subject=bo)
    slack.tell(said("forget me", user="U2"), "D2", "im")
    erasing.erase(person_in(account, role=Role.ACCOUNT_ADMIN), subject_id=bo.id, mode=ErasureMode.STRICT)
    assert not Identity.objects.filter(value="U2").exists()
    slack.tell(said("i live in Rome", user="U2", after=1))
    app = caller_with_key(account)
    body = {"channelId": "C1", "platformUserId": "U2", "messageTs": "1736499605.000100", "text": "i live in Prag"}
    assert app.post("/context/ingest", body).json()["reason"] == "opted_out"
    event = {"scope": "/p", "speaker": "bo", "channel_id": "C1", "text": "I live in Prag."}
    assert problem(app.post("/v1/capture", {"events": [event]})) == (403, "opted_out", "events.0.speaker")
    assert not Event.objects.filter(text__startswith="i live").exists()
    # They come up under the same identifier again, and it still holds; what they say now counts from now on.
    slack.tell(said(f"<@{BOT}> status", user="U2", after=2))
    assert answers()[-1] == "status_silent"
    slack.tell(said("i live in Oslo", user="U2", after=3))
    slack.tell(said(f"<@{BOT}> start remembering me", user="U2", after=4))
    slack.tell(said("i live in Turin", user="U2", after=5))
    assert list(Event.objects.exclude(text="").values_list("text", flat=True)) == ["i live in Turin"]


def test_the_portal_says_the_same_and_the_later_word_counts(account: Account, workspace: SlackWorkspace) -> None:
    ana = Subject.objects.get(key="ana")
    with account_transaction(account.id):
        assert opting_out.stop_remembering(account.id, ana, via=opting_out.PORTAL)
        assert not opting_out.stop_remembering(account.id, ana, via=opting_out.PORTAL)
        early = OptOut.objects.get().said_at.replace(year=2001)
        assert not opting_out.start_remembering(account.id, ana, via=opting_out.MESSAGE, said_at=early)
        assert opting_out.opted_out(account.id) == {ana.id}
        assert opting_out.start_remembering(account.id, ana, via=opting_out.PORTAL)
        assert opting_out.opted_out(account.id) == frozenset()
    actions = AuditEntry.objects.filter(object_type="subject", action__startswith="subject.opted")
    assert list(actions.order_by("seq").values_list("action", flat=True)) == ["subject.opted_out", "subject.opted_in"]


def test_a_no_by_message_counts_and_only_for_ones_own_question(slack: Talk, account: Account) -> None:
    ana = Subject.objects.get(key="ana")
    fact = FactFactory(subject=ana, statement="Ana likes tea.", sensitivity="personal")
    promotions.request_promotion(person_in(account), fact_id=fact.id, target="/", reason="For all.")
    consent = Consent.objects.get()
    code = consent_codes.code_of(consent.id)
    slack.tell(said(f"no {code}", user="U2"), "D2", "im")
    consent.refresh_from_db()
    assert (consent.status, answers()) == (ConsentStatus.PENDING, ["unknown_code"])
    slack.tell(said(f"<@{BOT}> no {code.upper()}", after=1))
    consent.refresh_from_db()
    assert (consent.status, consent.channel, consent.verified) == (ConsentStatus.DENIED, "message", False)
    assert answers() == ["unknown_code", "refused"]
    assert not Event.objects.filter(source_key__startswith="slack:").exists()


def test_every_answer_has_its_words(slack: Talk) -> None:
    slack.tell(said(f"<@{BOT}> status"))
    assert answers() == ["status_on"]
    asked = Delivery.objects.get()
    for answer in obeying.ANSWERS:
        asked.about = f"slack.answer.{answer}"
        assert contents.word(asked, None).text == obeying.ANSWERS[answer]
