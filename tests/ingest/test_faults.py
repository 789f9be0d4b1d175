"""What goes wrong around processing: threads and processes on one job, deaths, hangs, lost connections."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection, connections

from facts import audit, embedding, index, jobs, tenancy
from facts.clock import now
from facts.errors import Conflicting
from facts.models import Account, Event, Evidence, Fact, FactRevision, Job, Passage
from facts.models.records import JobStatus
from facts.tenancy import account_transaction
from governance.access import Principal
from ingest import line, processing, reading, tasks
from ingest.extraction import ExtractionInput
from ingest.line import Part
from ingest.models import CandidateOutcome, EventOutcome
from ingest.processing import Drained
from tests.database import owner_parameters
from tests.factories import MARCH, MAY, key_principal
from tests.ingest.fakes import FakeExtractor, cities, city, tell

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 20  # seconds after which a test that waits for another thread or process fails


@pytest.fixture
def committed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    """An account whose rows are committed, so that other connections see them."""
    monkeypatch.setattr(embedding, "_spaces", {})
    yield tenancy.create_account(key="acme", name="Acme")
    connections.close_all()


@pytest.fixture
def app(committed: Account) -> Principal:
    return key_principal(committed)


def use(monkeypatch: pytest.MonkeyPatch, answer: Callable[[ExtractionInput], Any]) -> FakeExtractor:
    extractor = FakeExtractor(answer)
    monkeypatch.setattr(reading, "configured_extractor", lambda: extractor)
    return extractor


def drain(principal: Principal) -> Drained:
    return processing.drain(Part(account_id=principal.account_id), seconds=5)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Run the calls on a thread each, started together, and return what they return or raise."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            start.wait(PATIENCE)
            return call()
        except Exception as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def in_account(principal: Principal, look: Callable[[], Any]) -> Any:
    with account_transaction(principal.account_id):
        return look()


def counts(principal: Principal) -> tuple[int, ...]:
    """Return how many facts, first revisions, pieces of evidence, passages and candidate outcomes there are."""
    return in_account(
        principal,
        lambda: (
            Fact.objects.count(),
            FactRevision.objects.filter(version=1).count(),
            Evidence.objects.count(),
            Passage.objects.count(),
            CandidateOutcome.objects.count(),
        ),
    )


def job_of(principal: Principal, event: Event) -> Job:
    return in_account(principal, lambda: Job.objects.get(input_key=str(event.id)))


def let_claims_die(principal: Principal) -> None:
    long_ago = now() - jobs.CLAIM_LASTS - timedelta(seconds=1)
    in_account(principal, lambda: Job.objects.filter(status=JobStatus.RUNNING).update(claimed_at=long_ago))


def test_one_job_delivered_to_many_workers_runs_once(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = use(monkeypatch, cities)
    job = job_of(app, tell(app))
    deliver = lambda: tasks.process(str(job.id), str(app.account_id))  # noqa: E731 - one call, many threads
    assert at_once(*[deliver] * 4) == [None] * 4
    assert len(extractor.seen) == 1
    assert counts(app) == (1, 1, 1, 1, 1)
    assert job_of(app, Event(id=job.input_key)).attempts == 1


def test_many_workers_share_a_line_without_loss_or_repeat(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = use(monkeypatch, cities)
    for number in range(12):
        tell(app, f"i live in City{number}", at=MARCH + timedelta(hours=number), subject_id=f"s{number % 3}")
    ids = in_account(app, lambda: list(Job.objects.values_list("id", flat=True)))
    deliveries = [lambda job_id=job_id: tasks.process(str(job_id), str(app.account_id)) for job_id in ids]
    assert at_once(*deliveries[:4]) + at_once(*deliveries[4:8]) + at_once(*deliveries[8:]) == [None] * 12
    assert sorted(item.text for item in extractor.seen) == sorted(f"i live in City{number}" for number in range(12))
    assert counts(app) == (12, 12, 12, 12, 12)
    assert in_account(app, lambda: list(audit.verify(app.account_id))) == []


def test_a_later_event_waits_for_an_earlier_one_in_other_hands(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier_is_read, later_waits = threading.Event(), threading.Event()

    def read(item: ExtractionInput) -> list[Any]:
        if "Lyon" in item.text:
            earlier_is_read.set()
            assert later_waits.wait(PATIENCE)
            return [city("Lyon")]
        return [city("Rome", quote="now Rome", update_marker="now")]

    overtakes = line.is_overtaking

    def noted(outcome: EventOutcome) -> bool:
        answer = overtakes(outcome)
        if answer:
            later_waits.set()
        return answer

    use(monkeypatch, read)
    monkeypatch.setattr(line, "is_overtaking", noted)
    tell(app, "Lyon", at=MARCH)
    tell(app, "now Rome", at=MAY)
    part = Part(account_id=app.account_id)

    def second() -> bool:
        assert earlier_is_read.wait(PATIENCE)
        return processing.process_front(part)

    assert at_once(lambda: processing.process_front(part), second) == [True, True]
    statuses = in_account(app, lambda: dict(Fact.objects.values_list("value__value", "status")))
    assert statuses == {"Lyon": "superseded", "Rome": "active"}


@pytest.mark.parametrize("claim_has_run_out", [False, True])
def test_a_later_event_gives_way_to_an_earlier_one_in_dead_hands(
    app: Principal, monkeypatch: pytest.MonkeyPatch, claim_has_run_out: bool
) -> None:
    monkeypatch.setattr(processing, "PATIENCE_SECONDS", 0.2)
    earlier, later = tell(app, "i live in Lyon", at=MARCH), tell(app, "i live in Rome", at=MAY)
    part = Part(account_id=app.account_id)
    assert in_account(app, lambda: jobs.claim(app.account_id, job_of(app, earlier).id)) is not None

    def read(item: ExtractionInput) -> list[Any]:
        if claim_has_run_out:
            long_ago = now() - jobs.CLAIM_LASTS - timedelta(seconds=1)
            mine = Job.objects.filter(input_key=str(earlier.id))
            in_account(app, lambda: mine.update(claimed_at=long_ago))
        return cities(item)

    use(monkeypatch, read)
    assert not processing.process_front(part)
    job = job_of(app, later)
    assert (job.status, job.attempts, job.claim_token) == (JobStatus.QUEUED, 0, None)
    assert counts(app) == (0, 0, 0, 0, 0)
    let_claims_die(app)
    assert drain(app) == Drained(processed=2, pending=0)
    statuses = in_account(app, lambda: dict(Fact.objects.values_list("value__value", "status")))
    assert statuses == {"Lyon": "active", "Rome": "candidate"}


def test_consolidating_waits_for_what_is_in_other_hands(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    is_read, somebody_waits = threading.Event(), threading.Event()

    def read(item: ExtractionInput) -> list[Any]:
        is_read.set()
        assert somebody_waits.wait(PATIENCE)
        return cities(item)

    use(monkeypatch, read)
    tell(app)
    part = Part(account_id=app.account_id)
    looks: list[int] = []
    look = line.soon

    def noted(waiting: Any) -> Any:
        looks.append(1)
        if len(looks) > 2:
            somebody_waits.set()
        return look(waiting)

    monkeypatch.setattr(line, "soon", noted)

    def consolidate() -> Drained:
        assert is_read.wait(PATIENCE)
        return processing.drain(part, seconds=PATIENCE)

    assert at_once(lambda: processing.process_front(part), consolidate) == [True, Drained(processed=1, pending=0)]


def test_consolidating_does_not_wait_for_the_dead(app: Principal) -> None:
    tell(app)
    in_account(app, lambda: Job.objects.update(status=JobStatus.RUNNING, claimed_at=now()))
    part = Part(account_id=app.account_id)
    assert processing.drain(part, seconds=0.1) == Drained(processed=0, pending=1)


def test_the_model_works_without_a_connection(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    def sessions() -> set[int]:
        with psycopg.connect(**owner_parameters()) as owner:
            rows = owner.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
                " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            ).fetchall()
        return {row[0] for row in rows}

    seen: list[set[int]] = []

    def look(item: ExtractionInput) -> list[Any]:
        seen.append(sessions())
        return [city("Lyon", quote="Lyon")]

    use(monkeypatch, look)
    tell(app)
    connections.close_all()
    # Sessions of other threads, which an earlier test may have left, are none of ours.
    left = sessions()
    drain(app)
    assert len(seen) == 1
    assert seen[0] <= left
    assert in_account(app, lambda: Fact.objects.get().value) == {"value": "Lyon"}


def test_an_extractor_that_hangs_is_given_up_on_and_what_it_says_later_is_lost(
    app: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def hang(item: ExtractionInput) -> list[Any]:
        release.wait(PATIENCE)
        return cities(item)

    use(monkeypatch, hang)
    monkeypatch.setattr(reading, "EXTRACTION_SECONDS", 0.05)
    event = tell(app)
    assert drain(app) == Drained(processed=0, pending=1)
    release.set()
    job = job_of(app, event)
    assert (job.status, job.attempts, job.error_class) == (JobStatus.QUEUED, 1, "timeout")
    assert counts(app) == (0, 0, 0, 1, 0)


def test_a_lost_connection_while_writing_is_survived(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, cities)
    write = index.write_passage_text

    def cut_off(passages: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (pid,) = cursor.fetchone()
        with psycopg.connect(**owner_parameters(), autocommit=True) as owner:
            owner.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        write(passages)

    monkeypatch.setattr(index, "write_passage_text", cut_off)
    event = tell(app)
    assert drain(app) == Drained(processed=0, pending=1)
    job = job_of(app, event)
    assert (job.status, job.attempts, job.error_class) == (JobStatus.QUEUED, 1, "OperationalError")
    assert counts(app) == (0, 0, 0, 0, 0)
    monkeypatch.setattr(index, "write_passage_text", write)
    in_account(app, lambda: Job.objects.update(run_after=now()))
    assert drain(app) == Drained(processed=1, pending=0)
    assert counts(app) == (1, 1, 1, 1, 1)


#: A worker that gets as far as ``{stage}``, says so, and stays there until it is killed.
WORKER = """
import sys, time, django
django.setup()
from django.db import connections
for alias in ("default", "owner"):
    connections[alias].settings_dict["NAME"] = {database!r}
from governance import placement
from ingest import reading, tasks
from tests.ingest.fakes import FakeExtractor, cities

def stay(*arguments, **named):
    print("there", flush=True)
    time.sleep(60)

def place_one_and_stay(submission, *, actor, submit=placement.submit):
    submit(submission, actor=actor)
    stay()

answer = stay if {stage!r} == "model" else cities
if {stage!r} == "write":
    placement.submit = place_one_and_stay
reading.configured_extractor = lambda: FakeExtractor(answer)
tasks.process({job!r}, {account!r})
"""


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["model", "write"])
def test_a_worker_killed_in_the_middle_leaves_nothing_half_done(
    app: Principal, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    event = tell(app)
    script = WORKER.format(
        database=connection.settings_dict["NAME"],
        stage=stage,
        job=str(job_of(app, event).id),
        account=str(app.account_id),
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        cwd=Path(settings.BASE_DIR),
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "memory_site.settings"},
    )
    try:
        assert worker.stdout.readline() == b"there\n"
    finally:
        worker.kill()
        worker.communicate()
    job = job_of(app, event)
    assert (job.status, job.attempts) == (JobStatus.RUNNING, 1)
    assert counts(app) == (0, 0, 0, 0, 0)

    use(monkeypatch, cities)
    assert not processing.process_front(Part(account_id=app.account_id))
    let_claims_die(app)
    assert in_account(app, lambda: line.requeue(app.account_id)) == 1
    tasks.process(str(job.id), str(app.account_id))
    job = job_of(app, event)
    assert (job.status, job.attempts) == (JobStatus.DONE, 2)
    assert counts(app) == (1, 1, 1, 1, 1)


def test_concurrent_deliveries_of_one_message_leave_one_row(app: Principal) -> None:
    events = at_once(*[lambda: tell(app, idempotency_key="k")] * 6)
    assert len({event.id for event in events}) == 1
    assert in_account(app, lambda: (Event.objects.count(), Job.objects.count(), EventOutcome.objects.count())) == (
        1,
        1,
        1,
    )
    assert in_account(app, lambda: list(audit.verify(app.account_id))) == []


def test_concurrent_contents_under_one_key_leave_the_first(app: Principal) -> None:
    answers = at_once(*[lambda text=text: tell(app, text, idempotency_key="k") for text in ("a", "b", "c", "d")])
    refused = [answer for answer in answers if isinstance(answer, Conflicting)]
    assert [answer.code for answer in refused] == ["idempotency_mismatch"] * 3
    assert in_account(app, Event.objects.count) == 1


def test_concurrent_batches_of_the_same_messages_do_not_wait_in_a_circle(app: Principal) -> None:
    from ingest.capture import capture
    from ingest.observations import read_batch

    def batch(numbers: Any) -> Any:
        events = [
            {"project_id": f"p{number}", "subject_id": f"s{number}", "text": "Hi.", "idempotency_key": str(number)}
            for number in numbers
        ]
        observations, _ = read_batch({"events": events}, at=now())
        return capture(app, observations)

    numbers = list(range(40))
    receipts = at_once(
        *[lambda order=order: batch(order) for order in (numbers, numbers[::-1], numbers[20:] + numbers[:20])]
    )
    assert sum(not event.deduplicated for receipt in receipts for event in receipt.events) == 40
    assert in_account(app, Event.objects.count) == 40
