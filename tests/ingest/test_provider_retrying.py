"""Trying again: how often, after what, and when a provider is left alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from ingest.extraction import ExtractionFailed
from ingest.extraction.providers import circuit, retrying
from ingest.extraction.providers.calls import Answer, Ask, Call
from ingest.extraction.providers.circuit import Circuit
from tests.ingest.model_clients import CLIENTS, client_for
from tests.stubs import model_server
from tests.stubs.model_server import ModelServer, Reply, fails, floods, hangs, resets, says

ASK = Ask("Be brief.", (("user", "Hello."),))
GOOD = says("{}")


class Noted:
    """Books that note every call."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def before(self, ask: Ask) -> Answer | None:
        return None

    def book(self, call: Call) -> None:
        self.calls.append(call)

    @property
    def errors(self) -> list[str]:
        return [call.error_class for call in self.calls]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server.running() as running:
        yield running


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds slept between tries; nobody really sleeps."""
    slept: list[float] = []
    monkeypatch.setattr(retrying.time, "sleep", slept.append)
    return slept


def send(client: Any, books: Noted, *, seconds: float = 60.0, on: Circuit | None = None, timeout: float = 20.0) -> str:
    return retrying.send(
        client, ASK, books=books, circuit=on or Circuit(), timeout=timeout, deadline=time.monotonic() + seconds
    )[0].text


def failed(client: Any, books: Noted, **options: Any) -> ExtractionFailed:
    with pytest.raises(ExtractionFailed) as raised:
        send(client, books, **options)
    return raised.value


@pytest.mark.parametrize("wire", CLIENTS)
@pytest.mark.parametrize(
    ("reply", "error_class"),
    [
        (fails(500), "provider_error"),
        (fails(529), "provider_overloaded"),
        (fails(429), "provider_rate_limited"),
        (fails(429, retry_after="2"), "provider_rate_limited"),
        (resets, "provider_unreachable"),
    ],
)
def test_what_may_pass_is_tried_again(
    server: ModelServer, pauses: list[float], wire: str, reply: Reply, error_class: str
) -> None:
    server.script = [reply, reply, GOOD]
    books = Noted()
    assert send(client_for(wire, server), books) == "{}"
    assert books.errors == [error_class] * 2
    assert len(server.received) == 3
    assert len(pauses) == 2


def test_a_timeout_is_tried_again(server: ModelServer, pauses: list[float]) -> None:
    server.script = [hangs, GOOD]
    books = Noted()
    assert send(client_for("chat", server), books, timeout=0.3) == "{}"
    assert books.errors == ["provider_timeout"]


def test_it_is_given_up_after_three_tries(server: ModelServer, pauses: list[float]) -> None:
    server.script = [fails(503)]
    books = Noted()
    failure = failed(client_for("messages", server), books)
    assert (failure.error_class, failure.retryable, failure.outside) == ("provider_error", True, True)
    assert len(server.received) == len(books.calls) == retrying.TRIES == 3


def test_pauses_grow_and_vary(server: ModelServer, pauses: list[float]) -> None:
    server.script = [fails(500)]
    client = client_for("messages", server)
    for _ in range(10):
        failed(client, Noted())
    first, second = pauses[::2], pauses[1::2]
    assert all(0.5 <= pause <= 1.0 for pause in first)
    assert all(1.0 <= pause <= 2.0 for pause in second)
    assert len(set(first)) > 1


def test_a_short_wait_is_granted_as_asked(server: ModelServer, pauses: list[float]) -> None:
    server.script = [fails(429, retry_after="4"), GOOD]
    send(client_for("messages", server), Noted())
    assert pauses == [4.0]


@pytest.mark.parametrize(("asked", "pause"), [("90", timedelta(seconds=90)), ("86400", timedelta(hours=1))])
def test_a_long_wait_is_left_to_the_queue(
    server: ModelServer, pauses: list[float], asked: str, pause: timedelta
) -> None:
    server.script = [fails(429, retry_after=asked)]
    failure = failed(client_for("messages", server), Noted())
    assert (failure.error_class, failure.pause, pauses) == ("provider_rate_limited", pause, [])
    assert len(server.received) == 1


@pytest.mark.parametrize("reply", [fails(400), fails(401), fails(402), fails(404), floods(1_000_000)])
def test_what_will_not_pass_is_not_tried_again(server: ModelServer, pauses: list[float], reply: Reply) -> None:
    server.script = [reply]
    books = Noted()
    assert failed(client_for("responses", server), books).outside
    assert len(server.received) == len(books.calls) == 1


def test_no_try_begins_without_time_for_it(server: ModelServer, pauses: list[float]) -> None:
    server.script = [GOOD]
    failure = failed(client_for("messages", server), Noted(), seconds=1.0)
    assert (failure.error_class, failure.outside, failure.progressed) == ("out_of_time", True, False)
    assert server.received == []


def test_a_pause_beyond_the_deadline_is_not_begun(server: ModelServer, pauses: list[float]) -> None:
    server.script = [fails(429, retry_after="8")]
    assert failed(client_for("messages", server), Noted(), seconds=9.0).error_class == "provider_rate_limited"
    assert pauses == []


def test_the_circuit_opens_and_lets_one_call_look(
    server: ModelServer, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, client = Circuit(), client_for("messages", server)
    server.script = [fails(500)]
    failed(client, Noted(), on=shared)
    failure = failed(client, Noted(), on=shared)
    assert (failure.error_class, len(server.received)) == ("provider_unavailable", circuit.FAILURES)
    assert timedelta(seconds=20) < failure.pause <= timedelta(seconds=circuit.OPEN_SECONDS)
    assert failed(client, Noted(), on=shared).error_class == "provider_unavailable"
    assert len(server.received) == circuit.FAILURES
    monkeypatch.setattr(circuit, "OPEN_SECONDS", 0.0)
    server.script = [GOOD]
    assert send(client, Noted(), on=shared) == "{}"
    assert shared.wait() == 0.0


def test_a_probe_that_fails_opens_the_circuit_again(monkeypatch: pytest.MonkeyPatch) -> None:
    breaker, at = Circuit(), [100.0]
    monkeypatch.setattr(circuit.time, "monotonic", lambda: at[0])
    for _ in range(circuit.FAILURES - 1):
        breaker.failed()
        assert breaker.wait() == 0.0
    breaker.failed()
    assert breaker.wait() == 30.0
    at[0] += 30.0
    assert (breaker.wait(), breaker.wait()) == (0.0, 30.0)
    breaker.failed()
    assert breaker.wait() == 30.0
    at[0] += 31.0
    assert breaker.wait() == 0.0
    breaker.answered()
    assert (breaker.wait(), breaker.wait()) == (0.0, 0.0)


def test_a_refused_key_does_not_open_the_circuit(server: ModelServer, pauses: list[float]) -> None:
    shared = Circuit()
    server.script = [fails(401)]
    for _ in range(circuit.FAILURES + 1):
        assert failed(client_for("messages", server), Noted(), on=shared).error_class == "provider_denied"


def test_circuits_are_told_apart_by_name() -> None:
    assert circuit.of("one") is circuit.of("one")
    assert circuit.of("one") is not circuit.of("two")
