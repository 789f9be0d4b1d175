"""Sending to the three ways, against local stubs that speak their protocols: what arrives, how often, what is kept."""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, connections

from facts.clock import now
from facts.errors import Conflicting, DomainError, Refused
from facts.ids import lower_bound
from facts.models import Account, AuditEntry, Subject
from facts.tenancy import account_transaction
from governance import leaving
from governance.models import LeaversFacts, Role
from ingest import tasks
from ingest.deliveries import contents, outbox, sending, targets, ways
from ingest.deliveries.contents import Content, NotToBeTold
from ingest.deliveries.senders import slack as slack_sender
from ingest.models import BlockedWay, Delivery, DeliveryState, DeliveryTarget, SlackWorkspace
from tests.factories import (
    AccountFactory,
    IdentityFactory,
    MembershipFactory,
    SubjectFactory,
    UserFactory,
    key_principal,
    person_in,
)
from tests.stubs import mail_server, slack_server, webhook_server
from tests.stubs.mail_server import MailServer
from tests.stubs.slack_server import SlackServer
from tests.stubs.webhook_server import WebhookServer

TEXT = "Ana promised the report <!channel> & more."


@pytest.fixture(autouse=True)
def _worded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deliveries about "note" say one text."""
    said = Content(type="note.made", title="A\nnote", text=TEXT, fields={"note": "é"})
    monkeypatch.setitem(contents._wordings, "note", lambda delivery, place: said)


@pytest.fixture
def hook(settings: Any) -> Iterator[WebhookServer]:
    with webhook_server.running() as server:
        settings.MEMORY_INTERNAL_HOSTS = (server.host,)
        yield server


@pytest.fixture
def mail(settings: Any) -> Iterator[MailServer]:
    with mail_server.running() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.EMAIL_USE_TLS, settings.EMAIL_HOST_USER, settings.EMAIL_TIMEOUT = False, "", 5
        settings.DEFAULT_FROM_EMAIL = "Memory <memory@example.org>"
        yield server


@pytest.fixture
def slack(settings: Any, account: Account) -> Iterator[SlackServer]:
    SlackWorkspace.objects.create(account=account, team="T1", bot_user_id="UBOT")
    with slack_server.running() as server:
        settings.SLACK_API_URL, settings.SLACK_BOT_TOKEN = server.api_url, slack_server.TOKEN
        server.channels["C1"] = {"id": "C1", "name": "ops"}
        yield server


def target(account: Account, kind: str, address: str, **fields: Any) -> DeliveryTarget:
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    given = {"name": "ops", "audience": "named", "recipients": [SubjectFactory(account=account)], **fields}
    return targets.create_target(administrator, kind=kind, address=address, **given)


def request(account: Account, place: DeliveryTarget | Subject, key: str = "one") -> Delivery:
    where = {"target": place} if isinstance(place, DeliveryTarget) else {"recipient": place}
    return outbox.request(account.id, about="note", object_id=uuid.UUID(int=1), key=key, **where)


def due_again(delivery: Delivery) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(next_try_at=now())


def left_by_a_dead_worker(delivery: Delivery) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(
        state=DeliveryState.SENDING, claim_token=uuid.uuid4(), claimed_at=now() - sending.CLAIM_LASTS * 2, attempts=1
    )


def stand(delivery: Delivery) -> tuple[str, int, str]:
    delivery.refresh_from_db()
    return delivery.state, delivery.attempts, delivery.error_class


# Webhooks


def test_a_webhook_arrives_signed_and_once(account: Account, hook: WebhookServer) -> None:
    place = target(account, "webhook", hook.address)
    delivery = request(account, place)
    assert request(account, place).pk == delivery.pk
    assert sending.send_due(account.id) == 1
    assert sending.send_due(account.id) == 0
    (received,) = hook.received
    assert received.body == {
        "id": str(delivery.id),
        "type": "note.made",
        "created_at": delivery.created_at.isoformat(),
        "data": {"note": "é"},
    }
    headers = received.headers
    assert headers["idempotency-key"] == headers["webhook-id"] == str(delivery.id)
    signed = f"{delivery.id}.{headers['webhook-timestamp']}.".encode() + received.raw
    key = base64.b64decode(place.secret.removeprefix("whsec_"))
    assert headers["webhook-signature"] == "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    assert abs(int(headers["webhook-timestamp"]) - now().timestamp()) < 60
    assert stand(delivery) == ("sent", 1, "")


def test_the_signature_is_that_of_the_specification() -> None:
    from ingest.deliveries import signing

    at = datetime.fromtimestamp(1614265330).astimezone()
    given = signing.headers(
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        at=at,
        body=b'{"test": 2432232314}',
        signed_with=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )
    assert given["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_for_a_day_after_a_rotation_both_secrets_sign(
    account: Account, hook: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = target(account, "webhook", hook.address)
    before = place.secret
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    rotated = targets.rotate_secret(administrator, place.id, expected_version=1)
    assert rotated.secret != before
    assert targets.secrets_of(rotated) == [rotated.secret, before]
    request(account, place)
    sending.send_due(account.id)
    assert len(hook.received[0].headers["webhook-signature"].split()) == 2
    later = now() + targets.OVERLAP
    monkeypatch.setattr(targets, "now", lambda: later)
    assert targets.secrets_of(rotated) == [rotated.secret]
    assert before not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize("status", [408, 425, 500, 502, 0])
def test_what_may_pass_is_tried_again_under_the_same_id(account: Account, hook: WebhookServer, status: int) -> None:
    hook.answers(status, 200)
    delivery = request(account, target(account, "webhook", hook.address))
    assert sending.send_due(account.id) == 0
    state, attempts, error = stand(delivery)
    assert (state, attempts) == ("pending", 1)
    assert error == (f"status_{status}" if status else error) != ""
    wait = (delivery.next_try_at - now()).total_seconds()
    assert 20 < wait < 38
    assert sending.send_due(account.id) == 0
    due_again(delivery)
    assert sending.send_due(account.id) == 1
    assert {received.headers["webhook-id"] for received in hook.received} == {str(delivery.id)}
    assert len(hook.received) == 2


@pytest.mark.parametrize("status", [400, 401, 404, 410, 301, 307])
def test_what_does_not_pass_is_a_dead_letter_at_once(account: Account, hook: WebhookServer, status: int) -> None:
    hook.answers(status, Location="http://169.254.169.254/")
    delivery = request(account, target(account, "webhook", hook.address))
    sending.send_due(account.id)
    assert stand(delivery) == ("dead", 1, f"status_{status}")
    assert len(hook.received) == 1
    assert targets.dead_letters(account.id) == 1


def test_who_asks_for_a_rest_gets_it_and_no_try_is_counted(account: Account, hook: WebhookServer) -> None:
    hook.answers(429, Retry_After="120")
    place = target(account, "webhook", hook.address)
    first, second = request(account, place), request(account, place, "two")
    sending.send_due(account.id)
    assert stand(first) == ("pending", 0, "status_429")
    assert stand(second)[:2] == ("pending", 0)
    for delivery in (first, second):
        assert 100 < (delivery.next_try_at - now()).total_seconds() < 125
    assert len(hook.received) == 1


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1/x", "http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/", "http://2130706433/"],
)
def test_a_webhook_leads_to_no_place_inside(account: Account, address: str) -> None:
    with pytest.raises(DomainError) as refused:
        target(account, "webhook", address)
    assert (refused.value.code, refused.value.field) == ("invalid_target", "address")


def test_a_name_that_means_a_place_inside_later_is_not_asked(
    account: Account, monkeypatch: pytest.MonkeyPatch, hook: WebhookServer
) -> None:
    place = target(account, "webhook", "http://receiver.example/hook")
    monkeypatch.setattr("facts.guarded_requests.resolve", lambda host, port: ["127.0.0.1"])
    delivery = request(account, place)
    sending.send_due(account.id)
    assert stand(delivery) == ("dead", 1, "address_refused")
    assert hook.received == []


def test_a_target_that_is_down_delays_and_drops_nothing(
    account: Account, hook: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook.answers(503)
    place = target(account, "webhook", hook.address)
    waiting = [request(account, place, str(number)) for number in range(ways.FAILURES + 3)]
    sending.send_due(account.id)
    assert len(hook.received) == ways.FAILURES
    states = [stand(delivery) for delivery in waiting]
    assert {state for state, _, _ in states} == {"pending"}
    # The one that showed that the place is down does not pay for it, nor do those that were not tried.
    assert [attempts for _, attempts, _ in states] == [1] * (ways.FAILURES - 1) + [0] * 4
    for _ in range(2 * sending.MOST_ATTEMPTS):
        BlockedWay.objects.update(blocked_until=now())
        Delivery.objects.update(next_try_at=now())
        sending.send_due(account.id)
    assert {stand(delivery)[0] for delivery in waiting} == {"pending"}
    # One probe each time.
    assert len(hook.received) == ways.FAILURES + 2 * sending.MOST_ATTEMPTS
    hook.answers(200)
    BlockedWay.objects.update(blocked_until=now())
    Delivery.objects.update(next_try_at=now())
    assert sending.send_due(account.id) == len(waiting)
    assert not BlockedWay.objects.exists()


def test_what_alone_fails_is_given_up_and_can_be_sent_again(account: Account, hook: WebhookServer) -> None:
    hook.answers(500)
    delivery = request(account, target(account, "webhook", hook.address))
    for _ in range(sending.MOST_ATTEMPTS):
        due_again(delivery)
        sending.send_due(account.id)
        BlockedWay.objects.all().delete()  # others get through
    assert stand(delivery) == ("dead", sending.MOST_ATTEMPTS, "status_500")
    assert sending.send_due(account.id) == 0
    hook.answers(200)
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    outbox.send_again(administrator, delivery.id)
    assert sending.send_due(account.id) == 1
    assert stand(delivery) == ("sent", 1, "")
    with pytest.raises(Conflicting) as refused:
        outbox.send_again(administrator, delivery.id)
    assert refused.value.code == "delivery_not_dead"


def test_only_administrators_send_again(account: Account) -> None:
    for principal, code in ((person_in(account), "forbidden"), (key_principal(account), "human_required")):
        with pytest.raises(Refused) as refused:
            outbox.send_again(principal, uuid.uuid4())
        assert refused.value.code == code


# Slack


def test_a_post_shows_its_text_word_for_word(account: Account, slack: SlackServer) -> None:
    delivery = request(account, target(account, "slack", "T1/C1"))
    assert sending.send_due(account.id) == 1
    (posted,) = slack.posted
    assert posted.arguments["channel"] == "C1"
    assert posted.arguments["text"] == "Ana promised the report &lt;!channel&gt; &amp; more."
    delivery.refresh_from_db()
    assert delivery.receipt == "C1/1700000000.000001"


def test_a_person_is_written_to_in_a_conversation_of_their_own(account: Account, slack: SlackServer) -> None:
    ana = IdentityFactory(subject=SubjectFactory(account=account), value="UANA", confirmed=True).subject
    request(account, ana)
    assert sending.send_due(account.id) == 1
    assert slack.posted[0].arguments["channel"] == "DUANA"


def test_a_post_whose_answer_was_lost_is_found_and_not_repeated(account: Account, slack: SlackServer) -> None:
    delivery = request(account, target(account, "slack", "T1/C1"))
    slack.drops("chat.postMessage")
    sending.send_due(account.id)
    assert (stand(delivery)[0], delivery.uncertain) == ("pending", True)
    metadata = {"event_type": slack_sender.EVENT, "event_payload": {"delivery": str(delivery.id)}}
    slack.messages["C1"] = [{"ts": f"{now().timestamp():.6f}", "text": "x", "metadata": metadata}]
    due_again(delivery)
    assert sending.send_due(account.id) == 1
    assert len(slack.posted) == 1
    assert stand(delivery)[0] == "sent"


def test_what_a_dead_worker_did_not_post_is_posted(account: Account, slack: SlackServer) -> None:
    delivery = request(account, target(account, "slack", "T1/C1"))
    left_by_a_dead_worker(delivery)
    assert sending.send_due(account.id) == 1
    assert [call.method for call in slack.calls] == ["conversations.history", "chat.postMessage"]


def test_where_nobody_can_look_nothing_is_posted_twice(account: Account, slack: SlackServer) -> None:
    delivery = request(account, target(account, "slack", "T1/C1"))
    left_by_a_dead_worker(delivery)
    slack.fails("conversations.history", "missing_scope")
    sending.send_due(account.id)
    assert stand(delivery) == ("dead", 2, "outcome_unknown")
    assert slack.posted == []


def test_slack_is_left_alone_as_long_as_it_asks(account: Account, slack: SlackServer) -> None:
    delivery = request(account, target(account, "slack", "T1/C1"))
    slack.limit("chat.postMessage", retry_after=77)
    sending.send_due(account.id)
    assert stand(delivery) == ("pending", 0, "rate_limited")
    assert 70 < (delivery.next_try_at - now()).total_seconds() < 78


def test_what_slack_refuses_is_a_dead_letter(account: Account, slack: SlackServer) -> None:
    delivery = request(account, target(account, "slack", "T1/C1"))
    slack.fails("chat.postMessage", "channel_not_found")
    sending.send_due(account.id)
    assert stand(delivery) == ("dead", 1, "channel_not_found")


def test_nobody_posts_to_the_workspace_of_another_account(account: Account, slack: SlackServer) -> None:
    delivery = request(account, target(account, "slack", "T2/C1"))
    sending.send_due(account.id)
    assert stand(delivery) == ("dead", 0, "not_our_workspace")
    assert slack.calls == []


# E-mail


def test_a_message_arrives_with_an_id_of_its_own(account: Account, mail: MailServer) -> None:
    delivery = request(account, target(account, "email", "ops@example.org"))
    assert sending.send_due(account.id) == 1
    (message,) = mail.messages
    assert message["Message-ID"] == f"<{delivery.id}@example.org>"
    assert (message["Subject"], message["To"]) == ("A note", "ops@example.org")
    assert TEXT in message.get_payload()


def test_a_person_without_slack_is_written_to_where_they_sign_in(account: Account, mail: MailServer) -> None:
    ana = MembershipFactory(account=account, user=UserFactory(email="ana@example.org")).subject
    IdentityFactory(subject=ana, platform="email", value="mallory@example.org")
    request(account, ana)
    assert sending.send_due(account.id) == 1
    assert mail.recipients == ["rcpt TO:<ana@example.org>"]


def test_a_message_that_may_have_arrived_is_not_repeated_by_itself(account: Account, mail: MailServer) -> None:
    delivery = request(account, target(account, "email", "ops@example.org"))
    mail.plays("DATA.", "")
    sending.send_due(account.id)
    assert (stand(delivery)[0], delivery.uncertain) == ("pending", True)
    due_again(delivery)
    sending.send_due(account.id)
    assert (stand(delivery)[0], delivery.error_class) == ("dead", "outcome_unknown")
    assert len(mail.messages) == 1
    # A person takes it on themselves.
    outbox.send_again(person_in(account, role=Role.ACCOUNT_ADMIN), delivery.id)
    assert sending.send_due(account.id) == 1
    assert {message["Message-ID"] for message in mail.messages} == {f"<{delivery.id}@example.org>"}


@pytest.mark.parametrize(
    ("command", "reply", "state"),
    [
        ("RCPT", "550 no", "dead"),
        ("RCPT", "451 later", "pending"),
        ("DATA.", "552 no", "dead"),
        ("MAIL", "421 busy", "pending"),
    ],
)
def test_what_a_mail_server_refuses(account: Account, mail: MailServer, command: str, reply: str, state: str) -> None:
    delivery = request(account, target(account, "email", "ops@example.org"))
    mail.plays(command, reply)
    sending.send_due(account.id)
    assert (stand(delivery)[0], delivery.uncertain) == (state, False)
    assert mail.messages == []


def test_without_a_mail_server_a_message_is_a_dead_letter(account: Account, settings: Any) -> None:
    settings.EMAIL_HOST = ""
    delivery = request(account, target(account, "email", "ops@example.org"))
    sending.send_due(account.id)
    assert stand(delivery) == ("dead", 1, "no_mail_server")


def test_a_person_nobody_can_reach_is_a_dead_letter(account: Account) -> None:
    delivery = request(account, SubjectFactory(account=account))
    sending.send_due(account.id)
    assert stand(delivery) == ("dead", 0, "no_address")


# What is not to be told


@pytest.mark.parametrize(("over", "state"), [(False, "suppressed"), (True, "cancelled")])
def test_what_is_not_to_be_told_goes_nowhere(
    account: Account, hook: WebhookServer, monkeypatch: pytest.MonkeyPatch, over: bool, state: str
) -> None:
    def wording(delivery: Delivery, place: Any) -> Content:
        raise NotToBeTold("audience", over=over)

    monkeypatch.setitem(contents._wordings, "note", wording)
    delivery = request(account, target(account, "webhook", hook.address))
    sending.send_due(account.id)
    assert stand(delivery)[0] == state
    assert (delivery.reason, delivery.attempts) == ("audience", 0)
    assert hook.received == []


def test_what_is_taken_back_is_not_sent_until_it_comes_back(account: Account, hook: WebhookServer) -> None:
    delivery = request(account, target(account, "webhook", hook.address))
    assert outbox.withdraw(account.id, [delivery.object_id]) == 1
    assert sending.send_due(account.id) == 0
    assert outbox.restore(account.id, [delivery.object_id]) == 1
    assert sending.send_due(account.id) == 1
    assert outbox.withdraw(account.id, [delivery.object_id]) == 0
    assert outbox.restore(account.id, [delivery.object_id]) == 0
    assert len(hook.received) == 1


def test_a_target_that_is_switched_off_gets_nothing(account: Account, hook: WebhookServer) -> None:
    place = target(account, "webhook", hook.address)
    readers = list(place.recipients.all())
    targets.change_target(
        person_in(account, role=Role.ACCOUNT_ADMIN),
        place.id,
        address=hook.address,
        audience="named",
        recipients=readers,
        enabled=False,
        expected_version=1,
    )
    delivery = request(account, DeliveryTarget.objects.get())
    sending.send_due(account.id)
    assert stand(delivery) == ("dead", 0, "target_disabled")


# Crashes and crowds


class _Killed(BaseException):
    """What no handler of errors catches: the end of the process."""


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_worker_killed_around_the_sending_loses_and_repeats_nothing_that_a_receiver_cannot_tell(
    account: Account, hook: WebhookServer, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    delivery = request(account, target(account, "webhook", hook.address))
    real = sending.SENDERS["webhook"]

    def killed(parcel: Any) -> str:
        if point == "after":
            real(parcel)
        raise _Killed

    monkeypatch.setattr(sending, "SENDERS", {"webhook": killed})
    with pytest.raises(_Killed):
        sending.send_due(account.id)
    monkeypatch.setattr(sending, "SENDERS", {"webhook": real})
    # Its claim holds for a while: nobody sends what may be under way.
    assert sending.send_due(account.id) == 0
    Delivery.objects.update(claimed_at=now() - sending.CLAIM_LASTS - timedelta(seconds=1))
    assert sending.send_due(account.id) == 1
    assert [received.headers["webhook-id"] for received in hook.received] == [str(delivery.id)] * (
        2 if point == "after" else 1
    )
    assert stand(delivery) == ("sent", 2, "")


def test_an_error_that_nobody_expects_is_kept_by_its_class_and_tried_again(
    account: Account, hook: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(parcel: Any) -> str:
        raise RuntimeError("secret words")

    monkeypatch.setattr(sending, "SENDERS", {"webhook": breaks})
    delivery = request(account, target(account, "webhook", hook.address))
    sending.send_due(account.id)
    assert stand(delivery) == ("pending", 1, "RuntimeError")


def test_what_cannot_be_worded_holds_up_no_other(
    account: Account, hook: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(delivery: Delivery, place: Any) -> Content:
        raise RuntimeError("secret words")

    monkeypatch.setitem(contents._wordings, "broken", breaks)
    place = target(account, "webhook", hook.address)
    broken = outbox.request(account.id, about="broken", object_id=uuid.UUID(int=1), key="broken", target=place)
    request(account, place)
    assert sending.send_due(account.id) == 1
    assert stand(broken) == ("pending", 1, "RuntimeError")


@pytest.mark.django_db(transaction=True)
def test_of_eight_senders_each_delivery_is_sent_once(hook: WebhookServer) -> None:
    account = AccountFactory()
    with account_transaction(account.id):
        place = target(account, "webhook", hook.address)
        made = [request(account, place, str(number)).id for number in range(12)]
    gate = threading.Barrier(8)

    def work() -> None:
        gate.wait(10)
        sending.send_due(account.id)
        connections.close_all()

    senders = [threading.Thread(target=work) for _ in range(8)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(60)
    assert sorted(received.headers["webhook-id"] for received in hook.received) == sorted(map(str, made))
    with account_transaction(account.id):
        assert set(Delivery.objects.values_list("state", "attempts")) == {("sent", 1)}


def test_nothing_is_open_while_a_receiver_thinks(monkeypatch: pytest.MonkeyPatch, account: Account) -> None:
    seen = []

    def looks(parcel: Any) -> str:
        seen.append(len(connection.savepoint_ids))
        return "1"

    depth = len(connection.savepoint_ids)
    monkeypatch.setattr(sending, "SENDERS", {"email": looks})
    request(account, target(account, "email", "ops@example.org"))
    sending.send_due(account.id)
    assert seen == [depth]


# Setting up


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "Ops!"}, "name"),
        ({"address": "not an address"}, "address"),
        ({"audience": "all"}, "audience"),
        ({"audience": "scope", "recipients": []}, "scope"),
        ({"recipients": []}, "recipients"),
        ({"kind": "fax"}, "kind"),
    ],
)
def test_what_a_target_must_say(account: Account, fields: dict[str, Any], field: str) -> None:
    given = {"kind": "email", "address": "ops@example.org", **fields}
    with pytest.raises(DomainError) as refused:
        target(account, given.pop("kind"), given.pop("address"), **given)
    assert (refused.value.code, refused.value.field) == ("invalid_target", field)


def test_two_targets_of_one_name_and_a_stale_change(account: Account) -> None:
    place = target(account, "email", "ops@example.org")
    with pytest.raises(Conflicting) as taken:
        target(account, "email", "other@example.org")
    assert taken.value.code == "target_exists"
    with pytest.raises(Conflicting) as stale:
        targets.rotate_secret(person_in(account, role=Role.ACCOUNT_ADMIN), place.id, expected_version=9)
    assert stale.value.code == "stale_version"


def test_addresses_are_not_in_the_audit(account: Account) -> None:
    target(account, "email", "ana@example.org")
    assert "ana@example.org" not in str(list(AuditEntry.objects.values()))
    assert hashlib.sha256(b"ana@example.org").hexdigest() not in str(list(AuditEntry.objects.values()))


def test_an_account_whose_receivers_are_slow_keeps_no_others_waiting(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    AccountFactory(), AccountFactory()
    clock, parts = [0.0], []

    def slowly(account_id: uuid.UUID, *, stop_at: float) -> int:
        parts.append(stop_at - clock[0])
        clock[0] += 26
        return 1

    monkeypatch.setattr(sending, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(sending, "send_due", slowly)
    # A round has 60 of the 120 seconds of a task; who takes more than a part leaves the others less.
    assert sending.send_due_everywhere() == 3
    assert parts == [20.0, 17.0, 8.0]


def test_who_left_the_account_is_told_nothing_more(account: Account, mail: MailServer) -> None:
    member = MembershipFactory(account=account)
    delivery = request(account, member.subject)
    leaving.leave(person_in(account, role=Role.ACCOUNT_ADMIN), member.id, facts=LeaversFacts.KEEP)
    IdentityFactory(subject=member.subject, platform="slack", value="U1", confirmed=True)
    assert sending.send_due(account.id) == 0
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason, mail.recipients) == (DeliveryState.SUPPRESSED, "person_left", [])


def test_records_of_what_is_long_over_go_and_what_waits_for_a_person_stays(
    account: Account, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = target(account, "webhook", "https://example.org/hook")
    monkeypatch.setattr(outbox, "PRUNED_AT_ONCE", 2)
    for state in DeliveryState.values:
        for age, ended in ((100, 91), (100, 89), (80, 79)):
            Delivery.objects.create(
                id=uuid.UUID(int=lower_bound(now() - timedelta(days=age)).int + Delivery.objects.count()),
                account=account,
                target=place,
                about="note",
                object_id=account.id,
                key=f"{state} {ended}",
                state=state,
                finished_at=None if state in {"pending", "sending"} else now() - timedelta(days=ended),
            )
    everything = set(Delivery.objects.values_list("key", flat=True))
    settings.MEMORY_DELIVERY_DAYS = 0
    tasks.prune_deliveries()
    assert set(Delivery.objects.values_list("key", flat=True)) == everything
    settings.MEMORY_DELIVERY_DAYS = 90
    tasks.prune_deliveries()
    gone = everything - set(Delivery.objects.values_list("key", flat=True))
    assert gone == {"sent 91", "cancelled 91", "suppressed 91"}
