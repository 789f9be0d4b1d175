"""Capture, processing and outcomes over HTTP."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from facts.clock import now
from facts.models import Account, Event, Fact, Job
from facts.models.records import JobStatus
from facts.tenancy import ensure_scope, ensure_subject
from ingest import processing, reading
from ingest.models import EventOutcome
from ingest.observations import MAX_EVENTS
from tests.api import Caller, caller_with_key, problem
from tests.factories import AccountFactory, entered, unknown_id
from tests.ingest.fakes import FakeExtractor, refusing

AT = "2025-03-10T09:00:00Z"


@pytest.fixture
def app(account: Account) -> Caller:
    return caller_with_key(account)


def said(text: str = "I live in Lyon.", **fields: Any) -> dict[str, Any]:
    return {"project_id": "p", "subject_id": "ana", "occurred_at": AT, "payload": {"text": text}, **fields}


def test_capture_accepts_and_says_what_it_kept(app: Caller) -> None:
    answer = app.post("/v1/capture", {"events": [said(idempotency_key="k"), said("Hi\u0000.", idempotency_key="l")]})
    assert answer.status_code == 202
    events = list(Event.objects.order_by("id"))
    jobs = {outcome.event_id: str(outcome.job_id) for outcome in EventOutcome.objects.all()}
    assert answer.json() == {
        "status": "accepted",
        "events": [
            {
                "id": str(event.id),
                "deduplicated": False,
                "revision": 1,
                "job_id": jobs[event.id],
                "notes": notes,
            }
            for event, notes in zip(events, [[], ["nul_replaced"]], strict=True)
        ],
        "consolidation_job_id": jobs[events[1].id],
        "policy": "balanced",
    }
    again = app.post("/v1/capture", {"events": [said(idempotency_key="k")]}).json()
    assert (again["events"][0]["id"], again["events"][0]["deduplicated"]) == (str(events[0].id), True)
    assert again["consolidation_job_id"] is None


def test_the_same_under_both_prefixes(app: Caller) -> None:
    assert app.post("/api/v1/capture", {"events": [said()]}).status_code == 202


def test_an_idempotency_key_of_the_request_replays_the_answer(app: Caller) -> None:
    body = {"events": [{"project_id": "p", "subject_id": "ana", "text": "No key, no time."}]}
    first = app.post("/v1/capture", body, headers={"Idempotency-Key": "r1"})
    again = app.post("/v1/capture", body, headers={"Idempotency-Key": "r1"})
    assert (first.json(), again.status_code) == (again.json(), 202)
    assert Event.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({}, (422, "invalid_payload", "events")),
        ({"events": [{"text": "x"}] * 10_000}, (422, "batch_too_large", "events")),
        ({"events": [said(project_id=None)]}, (422, "missing_scope", "events.0.scope")),
        (
            {"events": [said(), said(occurred_at="2025-03-10T09:00:00")]},
            (422, "naive_datetime", "events.1.occurred_at"),
        ),
        ({"events": [said(occurred_at="2125-03-10T09:00:00Z")]}, (422, "impossible_date", "events.0.occurred_at")),
        ({"events": [said("")]}, (422, "empty_text", "events.0.payload")),
        (b'{"events": [{"text": NaN}]}', (422, "invalid_payload", None)),
        (b"[]", (422, "invalid_payload", None)),
    ],
)
def test_bad_captures(app: Caller, body: Any, answer: tuple[int, str, str | None]) -> None:
    assert problem(app.post("/v1/capture", body)) == answer
    assert not Event.objects.exists()


def test_a_full_batch_is_taken(app: Caller) -> None:
    events = [said(f"Line {number}.", subject_id=f"s{number % 7}") for number in range(MAX_EVENTS)]
    answer = app.post("/v1/capture", {"events": events})
    assert answer.status_code == 202
    assert Event.objects.count() == MAX_EVENTS


def test_a_reused_key_with_other_content_is_a_conflict(app: Caller) -> None:
    app.post("/v1/capture", {"events": [said(idempotency_key="k")]})
    answer = app.post("/v1/capture", {"events": [said("Other.", idempotency_key="k")]})
    assert problem(answer) == (409, "idempotency_mismatch", "events.0.idempotency_key")


def test_lone_surrogates_arrive(app: Caller) -> None:
    body = b'{"events": [{"project_id": "p", "subject_id": "ana", "text": "half \\ud83d"}]}'
    assert app.post("/v1/capture", body).json()["events"][0]["notes"] == ["lone_surrogates_replaced"]
    assert Event.objects.get().text == "half \ufffd"


@pytest.mark.parametrize(
    "path", ["/v1/capture", "/v1/consolidate", "/v1/consolidate/subject?project_id=p&subject_id=ana"]
)
def test_who_may_write(account: Account, path: str) -> None:
    assert problem(Caller().post(path, {"events": [said()]}))[:2] == (401, "unauthorized")
    reader = caller_with_key(account, rights=["read"])
    assert problem(reader.post(path, {"events": [said()]}))[:2] == (403, "missing_right")


def test_a_confined_key_is_kept_to_its_scope(account: Account) -> None:
    confined = caller_with_key(account, scope_limit=ensure_scope(account.id, "/p"))
    assert confined.post("/v1/capture", {"events": [said()]}).status_code == 202
    answer = confined.post("/v1/capture", {"events": [said(project_id="q")]})
    assert problem(answer) == (403, "forbidden_scope", "events.0.scope")
    answer = confined.post("/v1/consolidate/subject?project_id=q&subject_id=ana")
    assert problem(answer) == (403, "forbidden_scope", "scope")


def test_consolidating_a_subject_processes_its_events_only(app: Caller) -> None:
    app.post("/v1/capture", {"events": [said(), said("I live in Rome.", subject_id="bo")]})
    answer = app.post("/v1/consolidate/subject?project_id=p&subject_id=ana")
    assert (answer.status_code, answer.json()) == (200, {"processed": 1, "pending": 0})
    assert Fact.objects.get().subject.key == "ana"
    assert app.post("/v1/consolidate").json() == {"processed": 1, "pending": 0}
    assert app.post("/v1/consolidate").json() == {"processed": 0, "pending": 0}


def test_consolidating_a_subject_says_what_really_happened(app: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody else has in hand, and what pauses before another try, is neither called done nor passed over."""
    # Time passes while nothing can be done, so that whatever can be done is done.
    passed: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(passed), sleep=lambda _: passed.append(5.0))
    monkeypatch.setattr(processing, "time", clock)
    texts = ("I live in Lyon.", "Thanks!", "I prefer tea.")
    events = [said(text, occurred_at=f"2025-03-1{day}T09:00:00Z") for day, text in enumerate(texts)]
    captured = app.post("/v1/capture", {"events": events}).json()["events"]
    last = Job.objects.filter(pk=captured[2]["job_id"])

    def consolidate() -> tuple[int, int]:
        answer = app.post("/v1/consolidate/subject?project_id=p&subject_id=ana").json()
        return answer["processed"], answer["pending"]

    last.update(status=JobStatus.RUNNING, claimed_at=now())
    assert [consolidate(), consolidate()] == [(2, 1), (0, 1)]
    last.update(status=JobStatus.QUEUED, claimed_at=None, run_after=now() + timedelta(minutes=1))
    assert consolidate() == (0, 1)
    assert not EventOutcome.objects.exclude(job__in=last).filter(result="pending").exists()
    last.update(run_after=now())
    assert [consolidate(), consolidate()] == [(1, 0), (0, 0)]


@pytest.mark.parametrize("query", ["project_id=nowhere&subject_id=ana", "project_id=p&subject_id=nobody"])
def test_nothing_waits_for_what_is_unknown(app: Caller, query: str) -> None:
    app.post("/v1/capture", {"events": [said()]})
    assert app.post(f"/v1/consolidate/subject?{query}").json() == {"processed": 0, "pending": 0}


@pytest.mark.parametrize(("query", "field"), [("subject_id=ana", "scope"), ("project_id=p", "subject_id")])
def test_consolidating_needs_a_scope_and_a_subject(app: Caller, query: str, field: str) -> None:
    assert problem(app.post(f"/v1/consolidate/subject?{query}")) == (422, "missing_scope", field)


def test_the_outcome_says_what_became_of_an_event(app: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    captured = app.post("/v1/capture", {"events": [said()]}).json()["events"][0]
    path = f"/v1/events/{captured['id']}/outcome"
    waiting = app.get(path).json()
    assert (waiting["result"], waiting["explanation"], waiting["candidates"], waiting["attempts"]) == (
        "pending",
        "it waits to be processed, or to be tried again",
        [],
        0,
    )
    app.post("/v1/consolidate")
    done = app.get(path).json()
    fact = Fact.objects.get()
    assert done["candidates"] == [
        {
            "ordinal": 0,
            "result": "fact",
            "reason": "new",
            "explanation": "Nothing was known about this.",
            "statement": "",
            "quote": "",
            "fact_id": str(fact.id),
            "fact_status": "active",
        }
    ]
    assert (done["result"], done["counts"], done["provider"], done["attempts"], done["next_attempt_at"]) == (
        "facts",
        {"fact": 1},
        "rules",
        1,
        None,
    )
    monkeypatch.setattr(reading, "configured_extractor", lambda: FakeExtractor(refusing))
    refused = app.post("/v1/capture", {"events": [said("Where is Lyon?")]}).json()["events"][0]
    app.post("/v1/consolidate")
    (candidate,) = app.get(f"/v1/events/{refused['id']}/outcome").json()["candidates"]
    assert (candidate["reason"], candidate["explanation"], candidate["quote"]) == (
        "question",
        "The evidence is a question.",
        "Where is Lyon?",
    )


def test_the_job_of_a_capture_can_be_followed(app: Caller) -> None:
    job_id = app.post("/v1/capture", {"events": [said()]}).json()["consolidation_job_id"]
    job = app.get(f"/v1/jobs/{job_id}").json()
    assert (job["id"], job["kind"], job["status"], job["attempts"]) == (job_id, "ingest.process", "queued", 0)
    app.post("/v1/consolidate")
    job = app.get(f"/v1/jobs/{job_id}").json()
    assert (job["status"], job["attempts"], job["error_class"]) == ("done", 1, "")


def test_outcomes_and_jobs_of_others_are_not_there(app: Caller, account: Account) -> None:
    captured = app.post("/v1/capture", {"events": [said()]}).json()
    event, job = captured["events"][0]["id"], captured["consolidation_job_id"]
    other = AccountFactory()
    with entered(other):
        foreign = caller_with_key(other)
    strangers = [foreign, caller_with_key(account, scope_limit=ensure_scope(account.id, "/q"))]
    for stranger in strangers:
        assert problem(stranger.get(f"/v1/events/{event}/outcome")) == (404, "event_not_found", None)
        assert problem(stranger.get(f"/v1/jobs/{job}")) == (404, "job_not_found", None)
    assert problem(app.get(f"/v1/events/{unknown_id()}/outcome"))[:2] == (404, "event_not_found")
    assert problem(app.get(f"/v1/jobs/{unknown_id()}"))[:2] == (404, "job_not_found")


@pytest.mark.parametrize(
    ("key", "status"),
    [
        ({"rights": ["read", "read_as_subject"]}, 200),
        ({"rights": ["read"]}, 404),
        ({"rights": ["read"], "peer": "ana"}, 200),
        ({"rights": ["read"], "peer": "bo"}, 404),
        ({"rights": ["capture"]}, 403),
    ],
)
def test_who_may_know_what_became_of_a_personal_event(
    app: Caller, account: Account, key: dict[str, Any], status: int
) -> None:
    event = app.post("/v1/capture", {"events": [said()]}).json()["events"][0]["id"]
    peer = {"peer": ensure_subject(account.id, key=key["peer"])} if "peer" in key else {}
    assert caller_with_key(account, **{**key, **peer}).get(f"/v1/events/{event}/outcome").status_code == status


def test_a_published_client_is_served(app: Caller) -> None:
    """The two messages by which Haki's ``verify`` checks a server: a preference, then a change of mind."""
    event = {
        "org_id": "org_haki_verify",
        "project_id": "prj_haki_verify",
        "subject_type": "user",
        "subject_id": "usr_verify_1",
        "thread_id": "thr_1",
        "kind": "conversation.message",
    }
    texts = [
        "Je préfère recevoir mes factures en français.",
        "En fait, envoie-les moi en anglais plutôt, pas en français.",
    ]
    for number, text in enumerate(texts):
        sent = {
            **event,
            "occurred_at": f"2025-03-10T09:0{number}:00.000001+00:00",
            "payload": {"role": "user", "content": text},
            "idempotency_key": f"verify-{number}",
        }
        assert app.post("/v1/capture", {"events": [sent], "idempotency_key": None}).status_code == 202
        processed = app.post("/v1/consolidate/subject?project_id=prj_haki_verify&subject_id=usr_verify_1").json()
        assert processed["processed"] == 1
    assert sorted(Fact.objects.values_list("status", "predicate", "value")) == [
        ("active", "preferred_language", {"value": "en"}),
        ("superseded", "preferred_language", {"value": "fr"}),
    ]
