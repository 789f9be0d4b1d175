from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django_q.models import OrmQ

from facts import audit
from facts.clock import now
from facts.errors import DomainError
from facts.models import Account, AuditEntry, Event, Identity, Job, Scope, Subject
from facts.tenancy import ensure_scope, ensure_subject
from governance.access import Principal
from governance.models import Role
from ingest import capture as capturing
from ingest.capture import MAX_TEXT, MAX_TURNS, OTHER_TIME, Receipt, record_revision
from ingest.models import EventOutcome
from ingest.observations import read_batch, read_observation
from tests.factories import JANUARY, MARCH, key_principal, person_in


@pytest.fixture
def app(account: Account) -> Principal:
    return key_principal(account)


def take(principal: Principal, *events: dict[str, Any], batch_key: str | None = None) -> Receipt:
    body = {"events": list(events), "idempotency_key": batch_key}
    observations, key = read_batch(body, at=now())
    return capturing.capture(principal, observations, batch_key=key)


def said(text: str = "I live in Lyon.", **fields: Any) -> dict[str, Any]:
    event = {"project_id": "p", "subject_id": "ana", "occurred_at": MARCH.isoformat(), "payload": {"text": text}}
    return {**event, **fields}


def refusal(principal: Principal, *events: dict[str, Any], batch_key: str | None = None) -> tuple[int, str, str | None]:
    with pytest.raises(DomainError) as refused:
        take(principal, *events, batch_key=batch_key)
    return refused.value.status, refused.value.code, refused.value.field


def test_an_event_is_kept_with_its_queue_entry_and_its_audit_record(app: Principal) -> None:
    receipt = take(app, said(thread_id="t", org_id="o", idempotency_key="k"))
    event = Event.objects.get()
    assert (receipt.policy, receipt.job_id) == ("balanced", receipt.events[0].job_id)
    assert [(item.event_id, item.deduplicated, item.revision, item.notes) for item in receipt.events] == [
        (event.id, False, 1, ())
    ]
    assert (event.scope.path, event.subject.key, event.subject.kind) == ("/p", "ana", "person")
    assert (event.speaker_id, event.text, event.thread) == (event.subject_id, "I live in Lyon.", "t")
    assert (event.human, event.origin_trust, event.sensitivity) == (True, "trusted", "personal")
    assert (event.occurred_at, event.processed_at, event.recorded_claims) == (MARCH, None, {"org_id": "o"})
    job = Job.objects.get()
    assert (job.id, job.kind, job.input_key, job.status) == (
        receipt.job_id,
        "ingest.process",
        str(event.id),
        "queued",
    )
    assert OrmQ.objects.count() == 1
    outcome = EventOutcome.objects.get()
    assert (outcome.result, outcome.event_id, outcome.job_id) == ("pending", event.id, job.id)
    assert AuditEntry.objects.filter(action="events.captured").get().metadata == {"events": 1, "new": 1}
    assert list(audit.verify(app.account_id)) == []


@pytest.mark.parametrize(
    ("first", "again", "batch_key"),
    [
        (said(idempotency_key="k"), said(idempotency_key="k"), None),
        (said(idempotency_key="k"), said(idempotency_key="k"), "other"),
        (said(), said(), "b"),
        (said(), said(occurred_at=JANUARY.isoformat()), "b"),
        (said(), said(), None),
    ],
)
def test_a_repeat_is_recognised(app: Principal, first: Any, again: Any, batch_key: str | None) -> None:
    kept = take(app, first, batch_key=batch_key).events[0]
    receipt = take(app, again, batch_key=batch_key)
    assert (receipt.events[0].event_id, receipt.events[0].deduplicated) == (kept.event_id, True)
    assert (receipt.job_id, receipt.events[0].job_id) == (None, None)
    assert (Event.objects.count(), Job.objects.count(), OrmQ.objects.count()) == (1, 1, 1)


@pytest.mark.parametrize(
    ("first", "second", "batch_key"),
    [
        (said(), said(occurred_at=JANUARY.isoformat()), None),
        (said(), said("I live in Paris."), "b"),
        (said(), said(subject_id="bo"), None),
        (said(idempotency_key="k"), said(idempotency_key="k", project_id="q"), None),
        (said(idempotency_key="k"), said(idempotency_key="l"), None),
        (
            {"project_id": "p", "subject_id": "ana", "text": "ok"},
            {"project_id": "p", "subject_id": "ana", "text": "ok"},
            None,
        ),
    ],
)
def test_what_differs_is_kept_apart(app: Principal, first: Any, second: Any, batch_key: str | None) -> None:
    take(app, first, batch_key=batch_key)
    assert not take(app, second, batch_key=batch_key).events[0].deduplicated
    assert Event.objects.count() == 2


def test_duplicates_within_a_batch_are_told(app: Principal) -> None:
    one, two, three = take(
        app, said(idempotency_key="k"), said("Hi.", idempotency_key="l"), said(idempotency_key="k")
    ).events
    assert [one.deduplicated, two.deduplicated, three.deduplicated] == [False, False, True]
    assert (one.event_id == three.event_id, one.event_id == two.event_id) == (True, False)
    assert (Event.objects.count(), Job.objects.count()) == (2, 2)


@pytest.mark.parametrize(
    "other",
    [
        said("I live in Paris.", idempotency_key="k"),
        said(idempotency_key="k", subject_id="bo"),
        said(idempotency_key="k", thread="u"),
    ],
)
def test_a_key_with_other_content_is_refused_and_nothing_is_kept(app: Principal, other: dict[str, Any]) -> None:
    take(app, said(idempotency_key="k"))
    answer = refusal(app, said("New.", project_id="new", subject_id="new"), other)
    assert answer == (409, "idempotency_mismatch", "events.1.idempotency_key")
    assert (Event.objects.count(), Job.objects.count()) == (1, 1)
    assert not Scope.objects.filter(path="/new").exists()
    assert not Subject.objects.filter(key="new").exists()


def test_one_key_with_two_contents_in_a_batch_is_refused(app: Principal) -> None:
    answer = refusal(app, said(idempotency_key="k"), said("Other.", idempotency_key="k"))
    assert answer == (409, "idempotency_mismatch", "events.1.idempotency_key")
    assert not Event.objects.exists()


def test_a_repeat_stamped_anew_keeps_the_first_time_and_says_so(app: Principal) -> None:
    take(app, said(idempotency_key="k"))
    again = take(app, said(idempotency_key="k", occurred_at=JANUARY.isoformat())).events[0]
    assert (again.deduplicated, again.notes) == (True, (OTHER_TIME,))
    assert Event.objects.get().occurred_at == MARCH


def test_what_cannot_be_stored_is_replaced_with_a_note(app: Principal) -> None:
    answer = take(app, said("I live\x00 in \ud83d Lyon\x07.")).events[0]
    assert answer.notes == ("control_characters_replaced", "lone_surrogates_replaced", "nul_replaced")
    assert Event.objects.get().text == "I live  in \ufffd Lyon ."


@pytest.mark.parametrize(
    ("event", "answer"),
    [
        (said(project_id=None), (422, "missing_scope", "events.0.scope")),
        (said(subject_id=None), (422, "missing_scope", "events.0.subject_id")),
        (said(" \n"), (422, "empty_text", "events.0.payload")),
        (said(payload={}), (422, "empty_text", "events.0.payload")),
        (said("\x00"), (422, "empty_text", "events.0.payload")),
        (said("x" * (MAX_TEXT + 1)), (422, "event_too_large", "events.0.payload")),
        (said(payload={"messages": [{"text": "x"}] * (MAX_TURNS + 1)}), (422, "event_too_large", "events.0.payload")),
        (
            said(subject_id=None, subject_alias={"kind": "k" * 64, "value": "v" * 200}),
            (422, "alias_self_registration_too_long", "events.0.subject_alias"),
        ),
    ],
)
def test_bad_events_are_refused(app: Principal, event: dict[str, Any], answer: tuple[int, str, str]) -> None:
    assert refusal(app, event) == answer
    assert not Event.objects.exists()


def test_a_confined_key_writes_only_below_its_limit(account: Account) -> None:
    confined = key_principal(account, scope_limit=ensure_scope(account.id, "/p"))
    assert refusal(confined, said(), said(project_id="q")) == (403, "forbidden_scope", "events.1.scope")
    assert not Event.objects.exists()
    take(confined, said(scope="/p/below", project_id=None))
    take(confined, said("Elsewhere.", project_id=None))
    assert sorted(Event.objects.values_list("scope__path", flat=True)) == ["/p", "/p/below"]


def test_a_key_without_the_right_captures_nothing(account: Account) -> None:
    assert refusal(key_principal(account, rights=["read"]), said()) == (403, "missing_right", None)


def test_people_speak_as_themselves(account: Account) -> None:
    member = person_in(account, role=Role.MEMBER, path="/p")
    take(member, said(subject_id=None))
    event = Event.objects.get()
    assert (event.subject_id, event.speaker_id) == (member.subject_id, member.subject_id)
    take(member, said(subject_id="bo"))
    about_bo = Event.objects.get(subject__key="bo")
    assert about_bo.speaker_id == member.subject_id
    assert refusal(member, said(speaker="bo")) == (403, "peer_not_allowed", "events.0.speaker")
    assert refusal(member, said(project_id="q")) == (403, "forbidden_scope", "events.0.scope")
    assert refusal(person_in(account, role=Role.READER), said()) == (403, "forbidden_scope", "events.0.scope")


@pytest.mark.parametrize(
    ("fields", "speaker", "human", "trust"),
    [
        ({}, "ana", True, "trusted"),
        ({"actor_type": "user", "actor_id": "ana"}, "ana", True, "trusted"),
        ({"actor_id": "somebody"}, None, True, "trusted"),
        ({"speaker": "bo"}, "bo", True, "trusted"),
        ({"actor_type": "agent"}, None, False, "semi_trusted"),
        ({"actor_type": "tool"}, None, False, "semi_trusted"),
        ({"payload": {"role": "assistant", "content": "Hi."}}, None, False, "semi_trusted"),
        ({"payload": {"status": "open"}}, None, False, "semi_trusted"),
        ({"subject_type": "topic"}, None, True, "trusted"),
        ({"origin_trust": "untrusted"}, "ana", True, "untrusted"),
    ],
)
def test_who_speaks_and_how_far_it_is_trusted(
    app: Principal, fields: dict[str, Any], speaker: str | None, human: bool, trust: str
) -> None:
    take(app, said(**fields))
    event = Event.objects.get()
    assert (event.speaker.key if event.speaker else None, event.human, event.origin_trust) == (speaker, human, trust)


@pytest.mark.parametrize(
    ("fields", "sensitivity", "source_type"),
    [
        ({}, "personal", "conversation"),
        ({"sensitivity": "public"}, "personal", "conversation"),
        ({"sensitivity": "restricted"}, "restricted", "conversation"),
        ({"channel_id": "C1"}, "internal", "channel_message"),
        ({"channel_id": "C1", "sensitivity": "personal"}, "personal", "channel_message"),
    ],
)
def test_a_sender_can_only_raise_the_sensitivity(
    app: Principal, fields: dict[str, Any], sensitivity: str, source_type: str
) -> None:
    take(app, said(**fields))
    event = Event.objects.get()
    assert (event.sensitivity, event.source_type) == (sensitivity, source_type)


def test_an_unknown_alias_registers_itself(app: Principal) -> None:
    by_alias = said(subject_id=None, subject_alias={"kind": "Slack", "value": "U1"})
    take(app, by_alias)
    take(app, {**by_alias, "occurred_at": JANUARY.isoformat()})
    assert {event.subject.key for event in Event.objects.all()} == {"slack:U1"}
    assert Identity.objects.get().platform == "slack"


def test_an_alias_names_the_subject_it_was_registered_for(app: Principal) -> None:
    alias = {"kind": "slack", "value": "U1"}
    take(app, said(subject_alias=alias))
    take(app, said("Hello.", subject_id=None, subject_alias=alias))
    assert {event.subject.key for event in Event.objects.all()} == {"ana"}
    assert refusal(app, said(subject_id="bo", subject_alias=alias)) == (409, "alias_conflict", "events.0.subject_alias")


def test_speakers_of_turns_become_known(app: Principal) -> None:
    ensure_subject(app.account_id, key="bo", name="Bo Berg")
    messages = [
        {"speaker": "Ana", "text": "Hi."},
        {"speaker": "Bo Berg", "text": "Hi."},
        {"speaker": "Cy", "text": "Hi."},
        {"speaker": "Helper", "role": "assistant", "text": "Hi."},
    ]
    take(app, said(payload={"messages": messages}))
    assert sorted(Subject.objects.values_list("key", flat=True)) == ["Cy", "ana", "bo"]
    assert Event.objects.get().text == "Hi.\n\nHi.\n\nHi."


def test_the_job_of_a_batch_is_that_of_its_latest_event(app: Principal) -> None:
    later = (MARCH + timedelta(hours=1)).isoformat()
    receipt = take(app, said("Two.", occurred_at=later), said("One."))
    assert receipt.job_id == receipt.events[0].job_id


def test_an_edit_is_a_new_revision(app: Principal) -> None:
    take(app, said(idempotency_key="k"))
    first = Event.objects.get()
    edited = read_observation(said("I live in Paris."), at=now())
    second = record_revision(app, edited, edits=first)
    assert (second.deduplicated, second.revision) == (False, 2)
    assert list(Event.objects.order_by("revision").values_list("revision", "text")) == [
        (1, "I live in Lyon."),
        (2, "I live in Paris."),
    ]
    assert record_revision(app, edited, edits=first).deduplicated
    again = take(app, said("I live in Paris.", idempotency_key="k")).events[0]
    assert (again.event_id, again.deduplicated, again.revision) == (second.event_id, True, 2)


def test_a_batch_costs_as_many_statements_as_a_message_or_two(app: Principal) -> None:
    def statements(first: int, count: int) -> int:
        events = [
            said(f"I live in City{number}.", subject_id=f"ana{number}", speaker=f"bo{number}")
            for number in range(first, first + count)
        ]
        with CaptureQueriesContext(connection) as captured:
            take(app, *events)
        return len(captured)

    statements(0, 1)
    many, few = statements(100, 40), statements(200, 2)
    assert many == few <= 24
