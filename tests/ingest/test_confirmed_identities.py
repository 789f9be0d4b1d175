"""Whom a message to a person reaches: only an identity that the workspace, and not a caller, says is theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from facts.models import Account, Identity, Job, Membership, Subject
from facts.tenancy import account_transaction
from governance import identities
from governance.access import person
from governance.merging import merging
from governance.models import Consent, ConsentLink, ConsentStatus, Role
from governance.sharing import consent_links, consents, promotions
from ingest.deliveries import audience, contents, outbox, places, sending
from ingest.models import Delivery, DeliveryState, SlackWorkspace
from ingest.slack import consent_asking, people
from tests.api import caller_with_key
from tests.factories import FactFactory, MembershipFactory, SubjectFactory, UserFactory, person_in
from tests.ingest.slack_exports import said
from tests.ingest.slack_live import SECRET, Talk, connect, listen
from tests.stubs import slack_server
from tests.stubs.slack_server import SlackServer


@pytest.fixture
def workspace(account: Account, settings: Any) -> SlackWorkspace:
    settings.SLACK_SIGNING_SECRET = SECRET
    return connect(account)


@pytest.fixture
def slack(settings: Any, workspace: SlackWorkspace) -> Iterator[SlackServer]:
    with slack_server.running() as server:
        settings.SLACK_API_URL, settings.SLACK_BOT_TOKEN = server.api_url, slack_server.TOKEN
        settings.MEMORY_SITE_URL = "https://memory.example"
        yield server


def member(identifier: str, **fields: Any) -> people.Member:
    return people.Member(identifier=identifier, real_name=f"Person {identifier}", **fields)


def claimed(account: Account, *, subject: str, platform: str, value: str) -> None:
    """Let an app say whose an identity is."""
    event = {"scope": "/p", "subject_id": subject, "subject_alias": {"kind": platform, "value": value}, "text": "Hi."}
    assert caller_with_key(account).post("/v1/capture", {"events": [event]}).status_code == 202


def reached_at(account: Account, key: str) -> tuple[str, str] | None:
    return places.slack_address(account.id, Subject.objects.get(key=key))


def signs_in(account: Account, key: str, email: str) -> Membership:
    made = MembershipFactory(account=account, subject=SubjectFactory(account=account, key=key))
    made.user.email = email
    made.user.save()
    return made


def test_who_came_from_the_workspace_is_reached_there(account: Account, workspace: SlackWorkspace) -> None:
    listen(workspace)
    assert reached_at(account, "ana") == ("T1", "U1")
    Talk().tell(said("hello", user="U7"))
    assert reached_at(account, "slack:U7") == ("T1", "U7")


@pytest.mark.parametrize("told", ["register", "refresh"])
def test_what_a_caller_says_of_an_identity_is_not_enough(
    account: Account, workspace: SlackWorkspace, told: str
) -> None:
    signs_in(account, "victim", "victim@example.org")
    claimed(account, subject="victim", platform="slack", value="U666")
    assert reached_at(account, "victim") is None
    stranger = member("U666", email="evil@example.org", handle="victim")
    people.register(account.id, [stranger]) if told == "register" else people.refresh(account.id, stranger)
    assert reached_at(account, "victim") is None
    assert not Identity.objects.filter(subject__key="victim", confirmed=True).exists()


def test_an_address_that_a_caller_says_is_somebodys_confirms_nothing(
    account: Account, workspace: SlackWorkspace
) -> None:
    signs_in(account, "victim", "victim@example.org")
    claimed(account, subject="victim", platform="email", value="evil@example.org")
    people.register(account.id, [member("U666", email="evil@example.org")])
    assert Identity.objects.get(value="U666").subject.key == "victim"
    assert reached_at(account, "victim") is None


def test_the_address_with_which_somebody_signs_in_confirms(account: Account, workspace: SlackWorkspace) -> None:
    signs_in(account, "ada", "Ada@Example.org")
    claimed(account, subject="ada", platform="slack", value="U8")
    people.refresh(account.id, member("U8", email="ada@example.org"))
    assert reached_at(account, "ada") == ("T1", "U8")
    # A second one that a caller names neither takes the message nor keeps it from arriving.
    claimed(account, subject="ada", platform="slack", value="U666")
    assert reached_at(account, "ada") == ("T1", "U8")


def test_a_curators_word_brings_messages_and_no_question_of_consent(account: Account, slack: SlackServer) -> None:
    claimed(account, subject="victim", platform="slack", value="U666")
    named = Identity.objects.get(value="U666")
    curator = person_in(account)
    identities.confirm(curator, named.id, subject_id=named.subject_id)
    assert reached_at(account, "victim") == ("T1", "U666")
    fact = FactFactory(subject=named.subject, statement="The victim likes tea.", sensitivity="personal")
    promotions.request_promotion(curator, fact_id=fact.id, target="/", reason="For all.")
    assert not Delivery.objects.exists()
    # Nor by a delivery that was asked for while the platform was certain.
    consent = Consent.objects.get()
    outbox.request(account.id, about=consent_asking.ABOUT, object_id=consent.id, key="two", recipient=named.subject)
    assert sending.send_due(account.id) == 0
    assert slack.posted == []
    # What follows from a curator's word is not the workspace's, and the workspace's own word takes its place.
    people.refresh(account.id, member("U666", email="evil@example.org"))
    assert not Identity.objects.get(value="evil@example.org").confirmed
    people.register(account.id, [member("U9", handle="ben")])
    own = Identity.objects.get(value="U9")
    identities.take_back(curator, own.id)
    identities.confirm(curator, own.id, subject_id=own.subject_id)
    made = MembershipFactory(account=account, subject=own.subject)
    made.user.email = "ben@example.org"
    made.user.save()
    people.refresh(account.id, member("U9", email="ben@example.org"))
    own.refresh_from_db()
    assert (own.confirmed, own.confirmed_by) == (True, None)


def test_whoever_merges_two_people_brings_no_message_of_one_to_the_other(account: Account, slack: SlackServer) -> None:
    people.register(account.id, [member("U666", email="evil@example.org")])
    spare, victim = Subject.objects.get(key="slack:U666"), signs_in(account, "victim", "victim@example.org").subject
    assert reached_at(account, "slack:U666") == ("T1", "U666")
    curator = person_in(account)
    merging.merge(curator, source_id=spare.id, target_id=victim.id)
    # Nor does what the workspace goes on saying of its user.
    people.refresh(account.id, member("U666", email="evil@example.org"))
    assert reached_at(account, "victim") is None
    fact = FactFactory(subject=victim, statement="The victim likes tea.", sensitivity="personal")
    promotions.request_promotion(curator, fact_id=fact.id, target="/", reason="For all.")
    assert not Delivery.objects.exists()


def test_a_subject_that_was_merged_before_slack_knew_it_is_not_certain(
    account: Account, workspace: SlackWorkspace
) -> None:
    victim = signs_in(account, "victim", "victim@example.org").subject
    early = SubjectFactory(account=account, key="slack:U666")
    merging.merge(person_in(account), source_id=early.id, target_id=victim.id)
    assert people.stranger(account.id, "U666", name="victim", is_bot=False) == victim
    people.refresh(account.id, member("U666", handle="victim"))
    assert reached_at(account, "victim") is None


def test_by_a_curators_word_nobody_is_told_what_curators_do_not_read(
    account: Account, workspace: SlackWorkspace
) -> None:
    claimed(account, subject="victim", platform="slack", value="U666")
    named = Identity.objects.get(value="U666")
    identities.confirm(person_in(account), named.id, subject_id=named.subject_id)
    delivery = outbox.request(account.id, about="action", object_id=account.id, key="one", recipient=named.subject)
    personal, restricted = (FactFactory(subject=named.subject, sensitivity=name) for name in ("personal", "restricted"))
    place = places.place_of(delivery)
    assert [audience.may_be_told(fact, place) for fact in (personal, restricted)] == [True, False]
    Identity.objects.update(confirmed_by=None)
    assert audience.may_be_told(restricted, places.place_of(delivery))


def test_a_delivery_is_not_sent_to_whom_a_caller_named(account: Account, slack: SlackServer) -> None:
    claimed(account, subject="victim", platform="slack", value="U666")
    with account_transaction(account.id):
        outbox.request(
            account.id,
            about="slack.answer.known",
            object_id=account.id,
            key="one",
            recipient=Subject.objects.get(key="victim"),
        )
    assert sending.send_due(account.id) == 0
    assert (Delivery.objects.get().state, Delivery.objects.get().error_class) == (DeliveryState.DEAD, "no_address")
    assert slack.posted == []


def asked(account: Account, workspace: SlackWorkspace) -> Consent:
    """Have Ana asked whether something may be known to all."""
    listen(workspace)
    fact = FactFactory(subject=Subject.objects.get(key="ana"), statement="Ana likes tea.", sensitivity="personal")
    promotions.request_promotion(person_in(account), fact_id=fact.id, target="/", reason="For all.")
    return Consent.objects.get()


def test_consent_is_asked_for_by_a_direct_message_with_a_link(
    account: Account, workspace: SlackWorkspace, slack: SlackServer
) -> None:
    consent = asked(account, workspace)
    assert sending.send_due(account.id) == 1
    (message,) = slack.posted
    assert "tea" not in str(message.arguments)
    opened = [call.arguments["users"] for call in slack.calls if call.method == "conversations.open"]
    assert opened == ["U1"]
    (token,) = re.findall(r"https://memory\.example/consent/([^/\s]+)/", message.arguments["text"])
    assert consent_links.answer(token, agrees=True).status == ConsentStatus.GRANTED
    consent.refresh_from_db()
    assert (consent.status, consent.channel, consent.verified) == (ConsentStatus.GRANTED, "link", True)


@pytest.mark.parametrize("mailbox", ["ana@example.org", ""])
def test_a_question_that_no_message_brings_is_asked_by_mail_or_said_to_be_unasked(
    account: Account, workspace: SlackWorkspace, slack: SlackServer, settings: Any, mailbox: str
) -> None:
    settings.EMAIL_HOST = "mail.example"
    consent = asked(account, workspace)
    MembershipFactory(account=account, subject=consent.subject, user=UserFactory(email=mailbox))
    slack.fails("conversations.open", "user_not_found")
    assert sending.send_due(account.id) == 0
    delivery = Delivery.objects.get(about=consent_asking.ABOUT)
    assert (delivery.state, delivery.error_class) == (DeliveryState.DEAD, "user_not_found")
    consent.refresh_from_db()
    assert Job.objects.filter(kind="consent.mail", input_key=str(consent.id)).exists() == bool(mailbox)
    assert (consent.unreached_at is None) == bool(mailbox)
    # A person has it sent again, and it arrives.
    outbox.send_again(person_in(account, role=Role.ACCOUNT_ADMIN), delivery.id)
    assert sending.send_due(account.id) == 1
    consent.refresh_from_db()
    assert consent.unreached_at is None


def test_every_try_of_a_question_sends_the_same_link(
    account: Account, workspace: SlackWorkspace, slack: SlackServer
) -> None:
    asked(account, workspace)
    delivery = Delivery.objects.get(about=consent_asking.ABOUT)
    for _ in range(2):
        assert "https://memory.example/consent/" in contents.word(delivery, places.place_of(delivery)).text
    assert ConsentLink.objects.count() == 1


def test_a_question_that_was_answered_meanwhile_is_not_asked(
    account: Account, workspace: SlackWorkspace, slack: SlackServer
) -> None:
    consent = asked(account, workspace)
    consents.refuse(person(MembershipFactory(account=account, subject=consent.subject)), consent.id)
    assert sending.send_due(account.id) == 0
    assert (Delivery.objects.get(about=consent_asking.ABOUT).state, slack.posted) == (DeliveryState.CANCELLED, [])


def test_a_question_goes_by_no_message_where_the_site_has_no_address(
    account: Account, workspace: SlackWorkspace, slack: SlackServer, settings: Any
) -> None:
    settings.MEMORY_SITE_URL = ""
    asked(account, workspace)
    assert not Delivery.objects.exists()
