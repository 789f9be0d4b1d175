"""Processing with a model behind it: what is booked, what waits and for how long, and what is never lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from django.db import connection, connections

from facts import embedding, jobs, tenancy
from facts.clock import now
from facts.models import Account, Event, Fact, Job, Passage
from facts.models.records import JobStatus
from facts.tenancy import account_transaction
from governance.access import Principal
from ingest import budget, outcomes, processing, reading, usage
from ingest.extraction.providers import circuit, prompt, retrying
from ingest.extraction.providers.extractor import ModelExtractor
from ingest.line import Part
from ingest.models import EventOutcome, ModelCall
from tests.database import owner_parameters
from tests.factories import MARCH, MAY, key_principal
from tests.ingest.fakes import tell
from tests.ingest.model_clients import CLIENTS, KEY, client_for
from tests.stubs import model_server
from tests.stubs.model_server import ModelServer, Reply, facts, fails, hangs, resets, says, while_looking

pytestmark = pytest.mark.django_db(transaction=True)

CITY = {
    "quote": "i live in Lyon",
    "statement": "Ana lives in Lyon.",
    "confidence": 0.95,
    "predicate": "home_city",
    "value": "Lyon",
}
GOOD = says(facts(CITY))


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[Principal]:
    monkeypatch.setattr(embedding, "_spaces", {})
    yield key_principal(tenancy.create_account(key="acme", name="Acme", timezone="Europe/Paris"))
    connections.close_all()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[ModelServer]:
    """A provider that answers well, asked by processing; nobody sleeps between tries."""
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.0)
    settings.MODEL_PRICES = ("claude-haiku-4-5=1/5", "gpt-5.4-mini=1/5")
    with model_server.running() as running:
        running.script = [GOOD]
        ask(running, monkeypatch)
        yield running


def ask(server: ModelServer, monkeypatch: pytest.MonkeyPatch, *, wire: str = "messages") -> None:
    extractor = ModelExtractor(client_for(wire, server), circuit_name=server.address, timeout=5.0)
    monkeypatch.setattr(reading, "configured_extractor", lambda: extractor)


def drain(app: Principal) -> processing.Drained:
    return processing.drain(Part(account_id=app.account_id), seconds=10)


def look(app: Principal, what: Callable[[], Any]) -> Any:
    with account_transaction(app.account_id):
        return what()


def outcome_of(app: Principal, event: Event) -> EventOutcome:
    return look(app, lambda: EventOutcome.objects.select_related("job").get(event_id=event.id))


def calls(app: Principal) -> list[ModelCall]:
    return look(app, lambda: list(ModelCall.objects.order_by("id")))


def let_time_pass(app: Principal) -> None:
    """Make everything due that pauses, and the provider's circuit closed."""
    look(app, lambda: Job.objects.filter(status=JobStatus.QUEUED).update(run_after=now()))
    circuit._circuits.clear()


def statements(app: Principal) -> list[str]:
    return look(app, lambda: list(Fact.objects.order_by("statement").values_list("statement", flat=True)))


@pytest.mark.parametrize("wire", CLIENTS)
def test_a_message_becomes_a_fact_and_is_booked(
    app: Principal, server: ModelServer, monkeypatch: pytest.MonkeyPatch, wire: str
) -> None:
    ask(server, monkeypatch, wire=wire)
    event = tell(app)
    drain(app)
    fact = look(app, lambda: Fact.objects.get())
    provider, model = ("anthropic", "claude-haiku-4-5") if wire == "messages" else ("openai", "gpt-5.4-mini")
    assert (fact.statement, fact.value) == ("Ana lives in Lyon.", {"value": "Lyon"})
    assert (fact.extractor_provider, fact.extractor_model, fact.prompt_version) == (provider, model, prompt.VERSION)
    [call] = calls(app)
    assert (call.event_id, call.role, call.provider, call.model, call.prompt_version) == (
        event.id,
        "extraction",
        provider,
        model,
        prompt.VERSION,
    )
    assert (call.input_tokens, call.output_tokens, call.cost_usd, call.error_class) == (
        1_000,
        200,
        Decimal("0.002"),
        "",
    )
    assert set(call.notes) == {"category", "kind", "form", "volatility"}
    outcome = outcome_of(app, event)
    assert (outcome.result, outcome.provider, outcome.job.status) == ("facts", provider, JobStatus.DONE)


@pytest.mark.parametrize(
    ("reply", "error_class", "tries"),
    [
        (fails(500), "provider_error", 3),
        (fails(529), "provider_overloaded", 3),
        (fails(429), "provider_rate_limited", 3),
        (fails(429, retry_after="120"), "provider_rate_limited", 1),
        (resets, "provider_unreachable", 3),
        (fails(401), "provider_denied", 1),
        (fails(402), "provider_unpaid", 1),
    ],
)
def test_an_outage_delays_and_loses_nothing(
    app: Principal, server: ModelServer, reply: Reply, error_class: str, tries: int
) -> None:
    event = tell(app)
    server.script = [reply]
    for number in range(1, 9):
        assert drain(app) == processing.Drained(processed=0, pending=1)
        outcome = outcome_of(app, event)
        assert (outcome.result, outcome.reason, outcome.error_class) == ("pending", "provider_unavailable", error_class)
        assert (outcome.job.status, outcome.job.attempts) == (JobStatus.QUEUED, 0)
        assert outcome.job.payload[jobs.POSTPONED] == number
        let_time_pass(app)
    assert {(call.error_class, call.cost_usd, call.input_tokens) for call in calls(app)} == {(error_class, None, None)}
    assert len(calls(app)) == len(server.received) == 8 * tries
    assert look(app, lambda: Passage.objects.count()) == 1
    server.script = [GOOD]
    assert drain(app) == processing.Drained(processed=1, pending=0)
    assert statements(app) == ["Ana lives in Lyon."]
    done = outcome_of(app, event)
    assert (done.result, done.reason, done.error_class, done.job.payload) == ("facts", "", "", {})


def test_pauses_grow_to_a_quarter_of_an_hour(app: Principal, server: ModelServer) -> None:
    event = tell(app)
    server.script = [fails(503)]
    pauses = []
    for _ in range(8):
        began = now()
        drain(app)
        pauses.append((outcome_of(app, event).job.run_after - began).total_seconds())
        let_time_pass(app)
    for pause, least in zip(pauses, (30, 60, 120, 240, 480, 900, 900, 900), strict=True):
        assert least <= pause <= least * 1.2 + 10


def test_a_wait_that_the_provider_asks_for_is_kept(app: Principal, server: ModelServer) -> None:
    event = tell(app)
    server.script = [fails(429, retry_after="1800")]
    began = now()
    drain(app)
    assert outcome_of(app, event).job.run_after >= began + timedelta(minutes=30)


def test_an_open_circuit_spares_the_provider(app: Principal, server: ModelServer) -> None:
    events = [tell(app, f"i live in Lyon {number}", at=MARCH + timedelta(hours=number)) for number in range(6)]
    server.script = [fails(500)]
    drain(app)
    assert len(server.received) == circuit.FAILURES
    assert [outcome_of(app, event).error_class for event in events] == ["provider_error", *["provider_unavailable"] * 5]
    assert {outcome_of(app, event).job.attempts for event in events} == {0}


def poisoned(good: Reply) -> Reply:
    """Fail on a message that holds the word, answer all others."""

    def reply(handler: Any, received: Any) -> None:
        (fails(500) if "poison" in received.texts[0] else good)(handler, received)

    return reply


def test_a_message_that_alone_fails_ends_among_the_dead(app: Principal, server: ModelServer) -> None:
    bad = tell(app, "poison", at=MARCH)
    server.script = [poisoned(GOOD)]
    drain(app)
    assert outcome_of(app, bad).job.attempts == 0
    good = tell(app, at=MAY)
    for _ in range(6):
        let_time_pass(app)
        drain(app)
    assert outcome_of(app, good).result == "facts"
    outcome = outcome_of(app, bad)
    assert (outcome.result, outcome.reason, outcome.error_class) == ("failed", "extraction_failed", "provider_error")
    assert (outcome.job.status, outcome.job.attempts) == (JobStatus.DEAD, 5)
    server.script = [GOOD]
    look(app, lambda: outcomes.retry(app.account_id, bad.id, actor=app.actor))
    drain(app)
    assert outcome_of(app, bad).result == "rejected"


def test_what_pauses_can_be_tried_at_once(app: Principal, server: ModelServer) -> None:
    event = tell(app)
    server.script = [fails(401)]
    drain(app)
    server.script = [GOOD]
    job = outcome_of(app, event).job
    assert jobs.may_retry(job)
    look(app, lambda: jobs.retry(app.account_id, job.id))
    drain(app)
    assert outcome_of(app, event).result == "facts"


def test_a_worker_that_dies_after_the_answer_makes_nobody_pay_twice(
    app: Principal, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = tell(app)
    write = processing._write

    def dies(*arguments: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(processing, "_write", dies)
    with pytest.raises(KeyboardInterrupt):
        drain(app)
    monkeypatch.setattr(processing, "_write", write)
    job = outcome_of(app, event).job
    assert (job.status, len(job.payload[jobs.KEPT])) == (JobStatus.RUNNING, 1)
    long_ago = now() - jobs.CLAIM_LASTS - timedelta(seconds=1)
    look(app, lambda: Job.objects.update(claimed_at=long_ago))
    drain(app)
    assert statements(app) == ["Ana lives in Lyon."]
    assert len(server.received) == len(calls(app)) == 1
    assert outcome_of(app, event).job.payload == {}


def test_what_was_withdrawn_is_not_sent(app: Principal, server: ModelServer) -> None:
    event = tell(app)
    look(app, lambda: Event.objects.update(withdrawn_at=now()))
    drain(app)
    assert server.received == []
    assert outcome_of(app, event).reason == "event_withdrawn"


def test_the_ledger_holds_no_content_and_no_key(app: Principal, server: ModelServer) -> None:
    tell(app)
    server.script = [fails(400), GOOD]
    drain(app)
    rows = look(app, lambda: list(ModelCall.objects.values()))
    told = repr([rows, look(app, lambda: list(Job.objects.values()))])
    assert "Lyon" not in told
    assert KEY not in told


def test_a_long_conversation_goes_on_where_its_time_ended(
    app: Principal, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = [{"role": "user", "text": "i live in Lyon"}, {"role": "user", "text": "i live in Lyon too"}]
    event = tell(app, payload={"messages": messages})
    monkeypatch.setattr(retrying, "SHORTEST_TRY", 0.0)
    book = usage.AccountBooks.book

    def slow(self: usage.AccountBooks, call: Any) -> None:
        book(self, call)
        monkeypatch.setattr(retrying, "SHORTEST_TRY", 1e9)

    monkeypatch.setattr(usage.AccountBooks, "book", slow)
    began = now()
    processing.process_front(Part(account_id=app.account_id))
    outcome = outcome_of(app, event)
    assert (outcome.error_class, outcome.job.attempts) == ("out_of_time", 0)
    assert outcome.job.run_after <= now()
    assert outcome.job.run_after >= began
    monkeypatch.setattr(retrying, "SHORTEST_TRY", 0.0)
    monkeypatch.setattr(usage.AccountBooks, "book", book)
    drain(app)
    assert outcome_of(app, event).result == "facts"
    assert len(server.received) == 2


@pytest.fixture
def in_march(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """It is 22:30 in Paris, whose day the account keeps."""
    at = datetime(2026, 3, 25, 21, 30, tzinfo=UTC)
    monkeypatch.setattr(budget, "now", lambda: at)
    return at


def test_a_used_up_budget_makes_wait_until_the_next_day(
    app: Principal, server: ModelServer, settings: Any, in_march: datetime
) -> None:
    settings.MODEL_BUDGET_USD = 0.003
    events = [tell(app, f"i live in Lyon {number}", at=MARCH + timedelta(hours=number)) for number in range(3)]
    began = now()
    look(app, lambda: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelCall._meta.get_field("created_at"), "default", lambda: in_march)
        drain(app)
    assert len(server.received) == 2
    waiting = outcome_of(app, events[2])
    assert (waiting.result, waiting.reason, waiting.error_class) == ("pending", "budget_exhausted", "budget_exhausted")
    assert (waiting.job.status, waiting.job.attempts) == (JobStatus.QUEUED, 0)
    assert began + timedelta(minutes=90) <= waiting.job.run_after <= now() + timedelta(minutes=90) * 1.2
    settings.MODEL_BUDGET_USD = 1.0
    let_time_pass(app)
    drain(app)
    assert outcome_of(app, events[2]).reason == ""


def test_yesterdays_spending_does_not_count(app: Principal, in_march: datetime, settings: Any) -> None:
    settings.MODEL_BUDGET_TOKENS = 100

    def spend(at: datetime) -> bool:
        ModelCall.objects.create(
            account_id=app.account_id,
            role="extraction",
            provider="p",
            model="m",
            prompt_version="1",
            request_digest="d",
            input_tokens=60,
            output_tokens=40,
            latency_ms=1,
            created_at=at,
        )
        return budget.today(app.account_id).is_used_up

    assert look(app, lambda: spend(datetime(2026, 3, 24, 22, 59, tzinfo=UTC))) is False
    assert look(app, lambda: spend(datetime(2026, 3, 24, 23, 0, tzinfo=UTC))) is True
    found = look(app, lambda: budget.today(app.account_id))
    assert (found.spent_tokens, found.spent_usd) == (100, Decimal(0))
    assert found.resets_at == datetime(2026, 3, 25, 23, tzinfo=UTC)


def test_the_local_rules_take_over_only_where_that_is_wanted(
    app: Principal, server: ModelServer, settings: Any
) -> None:
    settings.MODEL_BUDGET_TOKENS = 1
    settings.MODEL_BUDGET_FALLBACK = True
    tell(app, at=MARCH)
    drain(app)
    event = tell(app, "I prefer tea.", at=MAY)
    drain(app)
    assert len(server.received) == 1
    outcome = outcome_of(app, event)
    assert (outcome.result, outcome.provider) == ("facts", "rules")


def test_no_connection_is_held_while_a_model_thinks(
    app: Principal, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen from the database server: no backend of ours is connected; seen from here: no transaction is open."""
    parameters = owner_parameters()
    seen: list[tuple[int, bool]] = []
    here = threading.get_ident()
    main = connection.settings_dict and connections["default"]

    def sessions() -> set[int]:
        with psycopg.connect(**parameters, autocommit=True) as own:
            rows = own.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            ).fetchall()
        return {row[0] for row in rows}

    def count() -> None:
        seen.append((len(sessions() - left), main.in_atomic_block))

    wrong = {**CITY, "quote": "i dwell in Lyon"}
    server.script = [
        while_looking(count, fails(500)),
        while_looking(count, says(facts(wrong))),
        while_looking(count, GOOD),
    ]
    tell(app)
    connections.close_all()
    # Sessions of other threads, which an earlier test may have left, are none of ours.
    left = sessions()
    assert processing.process_front(Part(account_id=app.account_id))
    assert seen == [(0, False)] * 3
    assert threading.get_ident() == here
    assert statements(app) == ["Ana lives in Lyon."]


def test_a_model_that_never_answers_is_given_up_in_time(
    app: Principal, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = tell(app)
    extractor = ModelExtractor(client_for("messages", server), circuit_name=server.address, timeout=0.3)
    monkeypatch.setattr(reading, "configured_extractor", lambda: extractor)
    server.script = [hangs]
    processing.process_front(Part(account_id=app.account_id))
    assert outcome_of(app, event).error_class == "provider_timeout"


def test_books_are_kept_apart_by_account(app: Principal, server: ModelServer) -> None:
    other = tenancy.create_account(key="other", name="Other")
    tell(app)
    drain(app)
    with account_transaction(other.id):
        assert not ModelCall.objects.exists()
        assert Account.objects.get(pk=other.id) == other
