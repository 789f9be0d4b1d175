from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from facts.errors import DomainError
from ingest.normalise import NUL_REPLACED
from ingest.observations import MAX_EVENTS, MAX_PAYLOAD_BYTES, Observation, read_batch, read_observation

NOW = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)


def test_a_haki_client_is_understood() -> None:
    event = {
        "org_id": "org_1",
        "project_id": "prj",
        "subject_type": "user",
        "subject_id": "usr_1",
        "agent_id": None,
        "thread_id": "thr_1",
        "kind": "conversation.turn",
        "occurred_at": "2025-05-31T22:00:00+02:00",
        "payload": {"messages": [{"role": "user", "content": "Hi."}]},
        "source": {"tool": "hook"},
        "classification": ["a"],
        "idempotency_key": "turn-1",
    }
    assert read_batch({"events": [event], "idempotency_key": None}, at=NOW) == (
        [
            Observation(
                payload={"messages": [{"role": "user", "content": "Hi."}]},
                kind="conversation.turn",
                scope="/prj",
                subject="usr_1",
                occurred_at=datetime(2025, 5, 31, 20, 0, tzinfo=UTC),
                thread="thr_1",
                idempotency_key="turn-1",
                recorded_claims={
                    "org_id": "org_1",
                    "subject_type": "user",
                    "source": {"tool": "hook"},
                    "classification": ["a"],
                },
            )
        ],
        "",
    )


def test_our_own_words_are_understood() -> None:
    event = {
        "scope": "support/emea/",
        "subject_id": 7,
        "subject_type": "Bot",
        "subject_name": " Seven ",
        "subject_alias": {"kind": "Slack", "value": "U7"},
        "peer_key": "ana",
        "speaker_name": "Ana",
        "session_id": "s",
        "text": "Hi\x00.",
        "channel": {"id": "C1", "name": "general"},
        "actor_type": "Agent",
        "actor_id": "a1",
        "origin_trust": "third_party",
        "sensitivity": "restricted",
        "urls": ["https://example.org/"],
    }
    assert read_observation(event, at=NOW) == Observation(
        payload={"text": "Hi ."},
        scope="/support/emea",
        subject="7",
        subject_kind="agent",
        subject_name="Seven",
        alias=("slack", "U7"),
        speaker="ana",
        speaker_name="Ana",
        actor="agent",
        actor_id="a1",
        origin_trust="third_party",
        sensitivity="restricted",
        channel_id="C1",
        channel_name="general",
        thread="s",
        urls=("https://example.org/",),
        recorded_claims={"actor_type": "Agent", "actor_id": "a1", "subject_type": "Bot"},
        notes=frozenset({NUL_REPLACED}),
    )


def said(**fields: Any) -> dict[str, Any]:
    return {"events": [{"project_id": "p", "subject_id": "u", "text": "Hi."}, {"text": "Hi.", **fields}]}


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "invalid_payload", "events"),
        ({"events": []}, "invalid_payload", "events"),
        ({"events": "many"}, "invalid_payload", "events"),
        ({"events": {"a": 1}}, "invalid_payload", "events"),
        ({"events": [1]}, "invalid_payload", "events.0"),
        ({"events": [{}] * (MAX_EVENTS + 1)}, "batch_too_large", "events"),
        ({"events": [{}], "idempotency_key": "k" * 257}, "key_too_long", "idempotency_key"),
        (said(idempotency_key="k" * 257), "key_too_long", "events.1.idempotency_key"),
        (said(text=None), "invalid_payload", "events.1.payload"),
        (said(payload={"text": "Ho."}), "ambiguous_field", "events.1.text"),
        (said(payload="text", text=None), "invalid_payload", "events.1.payload"),
        (said(payload={"text": "x" * MAX_PAYLOAD_BYTES}, text=None), "event_too_large", "events.1.payload"),
        (said(source={"text": "x" * MAX_PAYLOAD_BYTES}), "event_too_large", "events.1.source"),
        (said(subject_id={"a": 1}), "invalid_payload", "events.1.subject_id"),
        (said(subject_id="s" * 201), "invalid_payload", "events.1.subject_id"),
        (said(kind=["a"]), "invalid_payload", "events.1.kind"),
        (said(kind=True), "invalid_payload", "events.1.kind"),
        (said(project_id=["p"]), "invalid_payload", "events.1.project_id"),
        (said(scope="/a/../b"), "invalid_scope", "events.1.scope"),
        (said(scope="/a", project_id="b"), "ambiguous_field", "events.1.scope"),
        (said(thread="a", session_id="b"), "ambiguous_field", "events.1.session_id"),
        (said(subject_alias="U1"), "invalid_payload", "events.1.subject_alias"),
        (said(subject_alias={"kind": "slack"}), "invalid_payload", "events.1.subject_alias"),
        (said(origin_trust="very"), "invalid_payload", "events.1.origin_trust"),
        (said(sensitivity="none"), "invalid_payload", "events.1.sensitivity"),
        (said(urls="https://example.org"), "invalid_payload", "events.1.urls"),
        (said(occurred_at="2025-05-31T22:00:00"), "naive_datetime", "events.1.occurred_at"),
        (said(occurred_at="yesterday"), "invalid_datetime", "events.1.occurred_at"),
        (said(occurred_at=1_700_000_000), "invalid_datetime", "events.1.occurred_at"),
        (said(occurred_at="2025-02-30T00:00:00Z"), "invalid_datetime", "events.1.occurred_at"),
        (said(occurred_at="1969-12-31T23:59:59Z"), "impossible_date", "events.1.occurred_at"),
        (said(occurred_at="2025-06-02T12:00:01Z"), "impossible_date", "events.1.occurred_at"),
        (said(occurred_at="0001-01-01T00:00:00+14:00"), "invalid_datetime", "events.1.occurred_at"),
    ],
)
def test_faults_name_the_event_and_the_field(body: dict[str, Any], code: str, field: str) -> None:
    with pytest.raises(DomainError) as refused:
        read_batch(body, at=NOW)
    assert (refused.value.code, refused.value.field, refused.value.status) == (code, field, 422)


@pytest.mark.parametrize("occurred_at", ["1970-01-01T00:00:00Z", "2025-06-02T12:00:00Z", "2025-06-01"])
def test_times_at_the_edge_are_taken(occurred_at: str) -> None:
    assert read_observation({"text": "Hi.", "occurred_at": occurred_at}, at=NOW).occurred_at is not None


def test_a_surrogate_in_a_short_field_is_replaced() -> None:
    event = {"text": "Hi.", "subject_id": "a\ud800", "scope": "/a\ud800", "source": {"a\x00": "\ud800"}}
    read = read_observation(event, at=NOW)
    assert (read.subject, read.scope, read.recorded_claims) == ("a\ufffd", "/a\ufffd", {"source": {"a ": "\ufffd"}})


def test_unknown_kinds_of_subject_are_guarded_as_persons() -> None:
    assert read_observation({"text": "Hi.", "subject_type": "patient"}, at=NOW).subject_kind == "person"
