"""Channel messages that a model reads together: which belong together, and that nothing is lost, doubled or held up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection, connections

from facts import audit, embedding, jobs, tenancy
from facts.clock import now
from facts.models import Event, Fact, Job
from facts.models.records import JobStatus
from facts.tenancy import account_transaction
from governance.access import Principal
from ingest import batch_reading, batches, line, processing, reading, tasks
from ingest.capture import capture
from ingest.extraction.providers import circuit, retrying, together
from ingest.extraction.providers.extractor import ModelExtractor
from ingest.line import Part
from ingest.models import EventOutcome, MessageBatch, ModelCall
from ingest.observations import read_batch
from ingest.withdrawal import withdraw
from tests.factories import MARCH, key_principal
from tests.ingest.model_clients import client_for
from tests.stubs import model_server
from tests.stubs.model_server import ModelServer, Reply, fails, says

pytestmark = pytest.mark.django_db(transaction=True)

SIZE = 4


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Principal]:
    monkeypatch.setattr(embedding, "_spaces", {})
    settings.EXTRACTION_PROVIDER = "anthropic"
    settings.CONTEXT_BATCH_SIZE = SIZE
    yield key_principal(tenancy.create_account(key="acme", name="Acme"))
    connections.close_all()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.0)
    with model_server.running() as running:
        running.script = [reads]
        extractor = ModelExtractor(client_for("messages", running), circuit_name=running.address, timeout=5.0)
        monkeypatch.setattr(reading, "configured_extractor", lambda: extractor)
        yield running


def lines_of(text: str) -> list[dict[str, str]]:
    """Return the lines of a question about several messages, of a question about one that line."""
    asked = json.loads(text)
    if "message" in asked:
        return [{"id": "", "text": asked["message"]}]
    return [line_ for told in asked["conversations"] for line_ in told["lines"] if "id" in line_]


def facts_in(text: str) -> list[dict[str, Any]]:
    """List what a good model lists: every "i live in X" of every message."""
    return [
        {
            "message": line_["id"],
            "quote": line_["text"],
            "statement": f"{line_['text'].removeprefix('i live in ')} is the speaker's home.",
            "confidence": 0.9,
            "predicate": "home_city",
            "value": line_["text"].removeprefix("i live in "),
        }
        for line_ in lines_of(text)
        if line_["text"].startswith("i live in ")
    ]


def reads(handler: Any, received: Any) -> None:
    """Answer as a good model does."""
    says(json.dumps({"facts": facts_in(received.texts[0])}))(handler, received)


def message(number: int, text: str = "", *, channel: str = "C1", **fields: Any) -> dict[str, Any]:
    """Return a channel message of a person of its own."""
    return {
        "project_id": channel,
        "speaker": f"person{number}",
        "speaker_name": f"Person {number}",
        "channel_id": channel,
        "channel_name": channel.lower(),
        "text": text or f"i live in City{number}",
        "occurred_at": (MARCH + timedelta(minutes=number)).isoformat(),
        "idempotency_key": f"k{number}",
        **fields,
    }


def tell(app: Principal, *events: dict[str, Any]) -> None:
    observations, _ = read_batch({"events": list(events)}, at=now())
    capture(app, observations)


def look(app: Principal, what: Callable[[], Any]) -> Any:
    with account_transaction(app.account_id):
        return what()


def found(app: Principal) -> list[tuple[int, bool, bool]]:
    """Return the size of every batch, in order, and whether it is closed and done."""
    rows = look(app, lambda: list(MessageBatch.objects.order_by("id")))
    return [(row.size, row.closed_at is not None, row.done_at is not None) for row in rows]


def run_batches(app: Principal) -> None:
    """Deliver the jobs of all batches that are due."""
    due = look(app, lambda: list(Job.objects.filter(kind=batches.READ, run_after__lte=now()).order_by("id")))
    for job in due:
        tasks.read_batch(str(job.id), str(app.account_id))


def drain(app: Principal) -> processing.Drained:
    return processing.drain(Part(account_id=app.account_id), seconds=120)


def homes(app: Principal) -> list[str]:
    return look(app, lambda: sorted(fact.value["value"] for fact in Fact.objects.all()))


def let_time_pass(app: Principal, by: timedelta) -> None:
    """Make it as if everything had happened so much earlier."""

    def move() -> None:
        for batch in MessageBatch.objects.all():
            batch.last_at -= by
            batch.save()
        for job in Job.objects.filter(status=JobStatus.QUEUED):
            job.run_after -= by
            job.save()

    look(app, move)
    circuit._circuits.clear()


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            start.wait(20)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_messages_of_two_scopes_never_stand_in_one_question(app: Principal, server: ModelServer) -> None:
    tell(app, message(0), message(1), message(2, channel="C2"), message(3, channel="C2"))
    run_batches(app)
    assert drain(app) == processing.Drained(processed=4, pending=0)
    asked = [json.loads(received.texts[0])["conversations"] for received in server.received]
    assert [[told["channel"] for told in conversations] for conversations in asked] == [["c1"], ["c2"]]
    assert "Person 2" not in json.dumps(asked[0])
    assert "Person 0" not in json.dumps(asked[1])
    assert homes(app) == ["City0", "City1", "City2", "City3"]


def test_a_full_batch_is_read_in_one_call_and_every_message_has_its_own_outcome(
    app: Principal, server: ModelServer
) -> None:
    tell(app, message(0), message(1, "hello"), message(2, channel="C2", project_id="C1"))
    assert found(app) == [(3, False, False)]
    assert drain(app) == processing.Drained(processed=0, pending=3)
    assert {row.reason for row in look(app, lambda: list(EventOutcome.objects.all()))} == {"waits_for_batch"}
    tell(app, message(3))
    assert found(app) == [(4, True, False)]
    run_batches(app)
    assert found(app) == [(4, True, True)]
    assert drain(app) == processing.Drained(processed=4, pending=0)
    assert len(server.received) == 1
    asked = json.loads(server.received[0].texts[0])["conversations"]
    assert [(told["channel"], [row["speaker"] for row in told["lines"]]) for told in asked] == [
        ("c1", ["Person 0", "Person 1", "Person 3"]),
        ("c2", ["Person 2"]),
    ]
    assert asked[0]["lines"][0]["said_at"] == MARCH.isoformat(timespec="minutes")
    assert homes(app) == ["City0", "City2", "City3"]
    outcomes = look(app, lambda: list(EventOutcome.objects.order_by("occurred_at").select_related("job")))
    assert [(row.result, row.provider, row.prompt_version) for row in outcomes] == [
        ("facts", "anthropic", together.VERSION),
        ("nothing", "anthropic", together.VERSION),
        ("facts", "anthropic", together.VERSION),
        ("facts", "anthropic", together.VERSION),
    ]
    assert {(row.job.status, json.dumps(row.job.payload)) for row in outcomes} == {("done", "{}")}
    assert look(app, lambda: ModelCall.objects.count()) == 1
    assert look(app, lambda: Job.objects.get(kind=batches.READ).payload) == {}


def test_captures_and_machines_do_not_wait_nor_does_anything_for_the_rules(
    app: Principal, server: ModelServer, settings: Any
) -> None:
    tell(app, {"project_id": "p", "subject_id": "ana", "text": "i live in Lyon"})
    tell(app, message(1, actor_type="agent"))
    assert drain(app) == processing.Drained(processed=2, pending=0)
    settings.EXTRACTION_PROVIDER = "rules"
    tell(app, message(2))
    assert found(app) == []
    assert drain(app) == processing.Drained(processed=1, pending=0)


def test_half_an_hour_after_the_last_message_a_batch_is_read(app: Principal, server: ModelServer) -> None:
    tell(app, message(0))
    let_time_pass(app, timedelta(minutes=29))
    tell(app, message(1))
    tasks.requeue_waiting()
    assert found(app) == [(2, False, False)]
    let_time_pass(app, timedelta(minutes=30))
    tasks.requeue_waiting()
    tasks.requeue_waiting()
    assert found(app) == [(2, True, False)]
    run_batches(app)
    assert drain(app) == processing.Drained(processed=2, pending=0)
    assert len(server.received) == 1


def test_a_message_after_the_half_hour_is_in_the_next_batch_though_nobody_looked_at_the_clock(app: Principal) -> None:
    tell(app, message(0))
    let_time_pass(app, timedelta(minutes=31))
    tell(app, message(1))
    assert found(app) == [(1, True, False), (1, False, False)]


def test_a_big_capture_is_cut_in_the_order_in_which_it_was_said(app: Principal) -> None:
    tell(app, *[message(number) for number in reversed(range(10))])
    assert found(app) == [(4, True, False), (4, True, False), (2, False, False)]
    rows = look(app, lambda: list(EventOutcome.objects.order_by("occurred_at").values_list("batch_id", flat=True)))
    assert [len(set(rows[start : start + 4])) for start in (0, 4, 8)] == [1, 1, 1]


def test_eight_at_once_fill_batches_of_the_right_size_and_read_each_once(app: Principal, server: ModelServer) -> None:
    at_once(*[lambda part=part: tell(app, *[message(10 * part + n) for n in range(3)]) for part in range(8)])
    assert found(app) == [(4, True, False)] * 6
    ids = look(app, lambda: list(Job.objects.filter(kind=batches.READ).values_list("id", flat=True)))
    assert len(ids) == 6
    deliver = lambda job: tasks.read_batch(str(job), str(app.account_id))  # noqa: E731 - one call, many threads
    at_once(*[lambda job=job: deliver(job) for job in [*ids, *ids[:2]]])
    at_once(*[lambda: drain(app) for _ in range(4)])
    assert len(server.received) == 6
    assert Counter(homes(app)) == Counter(f"City{10 * part + n}" for part in range(8) for n in range(3))
    assert look(app, lambda: list(audit.verify(app.account_id))) == []


def test_an_outage_keeps_the_batch_and_costs_nobody_a_try(app: Principal, server: ModelServer) -> None:
    tell(app, *[message(number) for number in range(SIZE)])
    server.script = [fails(529)]
    for _ in range(3):
        run_batches(app)
        assert drain(app) == processing.Drained(processed=0, pending=4)
        let_time_pass(app, timedelta(hours=1))
    rows = look(app, lambda: list(EventOutcome.objects.select_related("job")))
    assert {(row.reason, row.error_class, row.job.attempts, row.waits_for_batch) for row in rows} == {
        ("provider_unavailable", "provider_overloaded", 0, True)
    }
    server.script = [reads]
    run_batches(app)
    assert drain(app) == processing.Drained(processed=4, pending=0)
    assert homes(app) == [f"City{number}" for number in range(SIZE)]


def test_a_used_up_budget_delays_a_batch(app: Principal, server: ModelServer, settings: Any) -> None:
    settings.MODEL_BUDGET_TOKENS = 1
    tell(app, *[message(number) for number in range(2 * SIZE)])
    run_batches(app)
    rows = look(app, lambda: list(EventOutcome.objects.order_by("occurred_at")))
    assert [row.reason for row in rows] == [""] * SIZE + ["budget_exhausted"] * SIZE
    assert len(server.received) == 1
    settings.MODEL_BUDGET_TOKENS = 0
    let_time_pass(app, timedelta(days=1))
    run_batches(app)
    assert drain(app) == processing.Drained(processed=2 * SIZE, pending=0)


def poisoned(status: int) -> Reply:
    """Fail whenever there is poison among what is to be read."""

    def reply(handler: Any, received: Any) -> None:
        poison = any("poison" in line_["text"] for line_ in lines_of(received.texts[0]))
        (fails(status) if poison else reads)(handler, received)

    return reply


@pytest.mark.parametrize("status", [400, 500])
def test_one_bad_message_does_not_sink_the_others(
    app: Principal, server: ModelServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(batch_reading, "PATIENCE", 1)
    monkeypatch.setattr(retrying, "TRIES", 1)
    server.script = [poisoned(status)]
    tell(app, message(0), message(1, "poison"), message(2), message(3))
    for _ in range(3):
        run_batches(app)
        drain(app)
        let_time_pass(app, timedelta(hours=1))
    assert found(app) == [(4, True, True)]
    assert homes(app) == ["City0", "City2", "City3"]


def cut_off_above(most: int) -> Reply:
    """Answer whole about at most so many messages."""

    def reply(handler: Any, received: Any) -> None:
        text = json.dumps({"facts": facts_in(received.texts[0])})
        cut = len(lines_of(received.texts[0])) > most
        says(text[: len(text) // 2] if cut else text, cut=cut)(handler, received)

    return reply


def test_an_answer_that_is_cut_off_is_asked_for_in_halves(app: Principal, server: ModelServer) -> None:
    server.script = [cut_off_above(2)]
    tell(app, *[message(number) for number in range(SIZE)])
    run_batches(app)
    assert drain(app) == processing.Drained(processed=4, pending=0)
    assert [len(lines_of(received.texts[0])) for received in server.received] == [4, 2, 2]
    assert homes(app) == [f"City{number}" for number in range(SIZE)]


def test_what_is_too_much_for_one_question_is_asked_in_several(
    app: Principal, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "MAX_CHARACTERS", 40)
    tell(app, *[message(number) for number in range(SIZE)])
    run_batches(app)
    assert [len(lines_of(received.texts[0])) for received in server.received] == [2, 2]


def test_a_fact_that_fails_a_check_has_its_message_read_alone(app: Principal, server: ModelServer) -> None:
    def misquotes(handler: Any, received: Any) -> None:
        rows = facts_in(received.texts[0])
        if len(rows) > 1:
            rows[1]["quote"] = "i live nowhere"
        says(json.dumps({"facts": rows}))(handler, received)

    server.script = [misquotes]
    tell(app, *[message(number) for number in range(SIZE)])
    run_batches(app)
    assert drain(app) == processing.Drained(processed=4, pending=0)
    assert [len(lines_of(received.texts[0])) for received in server.received] == [4, 1]
    assert homes(app) == [f"City{number}" for number in range(SIZE)]


def test_what_is_withdrawn_while_it_waits_is_not_shown_to_the_model(app: Principal, server: ModelServer) -> None:
    tell(app, *[message(number) for number in range(SIZE - 1)])
    key = look(app, lambda: Event.objects.order_by("occurred_at").first().source_key)
    look(app, lambda: withdraw(app.account_id, key, actor=app.actor, reason="gone"))
    tell(app, message(SIZE))
    run_batches(app)
    assert drain(app) == processing.Drained(processed=4, pending=0)
    assert "City0" not in server.received[0].texts[0]
    assert homes(app) == ["City1", "City2", "City4"]


def test_messages_of_one_person_are_taken_in_their_order(app: Principal, server: ModelServer) -> None:
    cities = ["Lyon", "Rome", "Oslo", "Bern"]
    tell(app, *[message(n, f"i live in {city}", speaker="ana") for n, city in enumerate(cities)])
    run_batches(app)
    drain(app)
    first = look(app, lambda: [(f.value["value"], f.status) for f in Fact.objects.order_by("id")])
    assert first == [("Lyon", "active"), ("Rome", "candidate"), ("Oslo", "candidate"), ("Bern", "candidate")]


#: A worker that has its answer, and is killed before it hands it out.
WORKER = """
import sys, time, django
django.setup()
from django.db import connections
for alias in ("default", "owner"):
    connections[alias].settings_dict["NAME"] = {database!r}
from ingest import batch_reading, reading, tasks
from ingest.extraction.providers.anthropic_client import AnthropicClient
from ingest.extraction.providers.extractor import ModelExtractor

def stay(*arguments, **named):
    print("there", flush=True)
    time.sleep(60)

batch_reading._hand_out = stay
client = AnthropicClient(api_key="key", model="claude-haiku-4-5", address={address!r})
reading.configured_extractor = lambda: ModelExtractor(client, circuit_name="c", timeout=5.0)
tasks.read_batch({job!r}, {account!r})
"""


@pytest.mark.slow
def test_a_worker_killed_with_the_answer_in_hand_costs_neither_money_nor_messages(
    app: Principal, server: ModelServer
) -> None:
    tell(app, *[message(number) for number in range(SIZE)])
    job = look(app, lambda: Job.objects.get(kind=batches.READ))
    script = WORKER.format(
        database=connection.settings_dict["NAME"],
        address=server.address,
        job=str(job.id),
        account=str(app.account_id),
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        cwd=Path(django_settings.BASE_DIR),
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "memory_site.settings"},
    )
    try:
        assert worker.stdout.readline() == b"there\n"
    finally:
        worker.kill()
        worker.communicate()
    run_batches(app)
    assert drain(app) == processing.Drained(processed=0, pending=4)
    long_ago: datetime = now() - jobs.CLAIM_LASTS - timedelta(seconds=1)
    look(app, lambda: Job.objects.filter(status=JobStatus.RUNNING).update(claimed_at=long_ago))
    run_batches(app)
    assert drain(app) == processing.Drained(processed=4, pending=0)
    assert len(server.received) == 1
    assert homes(app) == [f"City{number}" for number in range(SIZE)]


def test_a_batch_whose_workers_all_died_is_read_one_by_one(app: Principal, server: ModelServer) -> None:
    tell(app, *[message(number) for number in range(SIZE)])
    long_ago = now() - jobs.CLAIM_LASTS - timedelta(seconds=1)
    look(
        app,
        lambda: Job.objects.filter(kind=batches.READ).update(status=JobStatus.RUNNING, attempts=5, claimed_at=long_ago),
    )
    run_batches(app)
    assert drain(app) == processing.Drained(processed=4, pending=0)
    assert len(server.received) == SIZE


def test_the_line_gives_no_waiting_message_to_anybody(app: Principal) -> None:
    tell(app, message(0))
    outcome = look(app, lambda: EventOutcome.objects.get())
    assert look(app, lambda: line.requeue(app.account_id)) == 0
    tasks.process(str(outcome.job_id), str(app.account_id))
    assert look(app, lambda: Job.objects.get(pk=outcome.job_id).attempts) == 0


def test_what_was_held_back_is_put_into_batches_when_it_is_let_go(app: Principal, server: ModelServer) -> None:
    tell(app, *[message(number) for number in range(2)])
    claims = {"backfill": True}
    observations, _ = read_batch({"events": [message(number) for number in range(2, 7)]}, at=now())
    capture(app, [replace(item, recorded_claims=claims) for item in observations])
    assert found(app) == [(2, False, False)]
    held = look(app, lambda: list(Event.objects.filter(recorded_claims__backfill=True)))
    assert look(app, lambda: batches.assign_held(app.account_id, held)) == 5
    assert found(app) == [(4, True, False), (3, False, False)]
    run_batches(app)
    assert drain(app) == processing.Drained(processed=4, pending=3)
