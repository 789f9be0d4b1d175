"""Asking, checking and repairing, with the answers of real wire formats."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ingest.extraction import ExtractionFailed, ExtractionInput, ExtractionResult
from ingest.extraction.base import MAX_CANDIDATES, Rejection, Usage
from ingest.extraction.providers import prices, prompt
from ingest.extraction.providers.anthropic_client import AnthropicClient
from ingest.extraction.providers.calls import Answer, Ask, Call
from ingest.extraction.providers.extractor import ModelExtractor
from tests.ingest.model_clients import CLIENTS, client_for
from tests.stubs import model_server
from tests.stubs.model_server import ModelServer, facts, fails, says

ITEM = ExtractionInput(
    text="I live in Lyon. Bo hates tea. My password is hunter2hunter2.",
    occurred_at=datetime(2026, 3, 25, 9, tzinfo=UTC),
    speaker_name="Ana",
    participants=("Ana", "Bo"),
)
CITY = {
    "quote": "I live in Lyon",
    "statement": "Ana lives in Lyon.",
    "confidence": 0.95,
    "predicate": "home_city",
    "value": "Lyon",
    "category": "general",
    "kind": "attribute",
    "form": "state",
    "volatility": "slow",
}
TEA = {
    **CITY,
    "quote": "Bo hates tea",
    "statement": "Bo hates tea.",
    "about": "Bo",
    "predicate": "likes",
    "value": False,
}
WRONG = {**TEA, "quote": "Bo loathes tea"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server.running() as running:
        yield running


def extractor(server: ModelServer, *, wire: str = "messages", books: Any = None) -> ModelExtractor:
    # Circuits last as long as the process: each server has its own.
    return ModelExtractor(client_for(wire, server), circuit_name=server.address, timeout=20.0, books=books)


def extract(
    server: ModelServer, *replies: Any, item: ExtractionInput = ITEM, wire: str = "messages"
) -> ExtractionResult:
    server.script = [says(reply) if isinstance(reply, str) else reply for reply in replies]
    return extractor(server, wire=wire).extract(item)


def statements(result: ExtractionResult) -> list[str]:
    return [candidate.statement for candidate in result.candidates]


@pytest.mark.parametrize("wire", CLIENTS)
@pytest.mark.parametrize(
    "text",
    [
        facts(CITY, TEA),
        f"Of course!\n```json\n{facts(CITY, TEA)}\n```\nTell me if you need more.",
        facts(CITY, {**TEA, "category": "gossip", "kind": None}),
        facts(CITY, TEA)[:-2] + ', {"quote": "My pass',
    ],
)
def test_answers_in_any_form(server: ModelServer, wire: str, text: str) -> None:
    result = extract(server, text, wire=wire)
    assert statements(result) == ["Ana lives in Lyon.", "Bo hates tea."]
    assert result.rejections == ()
    assert (result.usage.input_tokens, result.usage.output_tokens) == (1_000, 200)
    assert len(server.received) == 1


def test_half_a_list_at_the_output_limit_keeps_the_whole_facts(server: ModelServer) -> None:
    result = extract(server, says(facts(CITY, TEA)[:-9], cut=True))
    assert statements(result) == ["Ana lives in Lyon."]


def test_the_model_sees_the_message_as_data(server: ModelServer) -> None:
    extract(server, facts())
    [request] = server.received
    assert request.body["system"] == prompt.SYSTEM
    assert [json.loads(text) for text in request.texts] == [json.loads(prompt.render(ITEM))]


@pytest.mark.parametrize("wire", CLIENTS)
def test_a_failed_check_is_named_and_repaired(server: ModelServer, wire: str) -> None:
    result = extract(server, facts(CITY, WRONG), facts(TEA), wire=wire)
    assert statements(result) == ["Ana lives in Lyon.", "Bo hates tea."]
    assert result.rejections == ()
    again = server.received[1].texts
    assert again[1] == facts(CITY, WRONG)
    assert "2. The quoted words do not occur in the message. (quote_not_in_source)" in again[2]
    assert "1. " not in again[2]
    assert result.usage.input_tokens == 2_000


def test_repairs_are_bounded_and_what_holds_is_kept(server: ModelServer) -> None:
    result = extract(server, facts(CITY, WRONG), facts(WRONG))
    assert len(server.received) == 3
    assert statements(result) == ["Ana lives in Lyon."]
    assert result.rejections == (
        Rejection(code="quote_not_in_source", statement="Bo hates tea.", quote="Bo loathes tea"),
    )


def test_what_a_repair_leaves_out_is_refused(server: ModelServer) -> None:
    result = extract(server, facts(WRONG, {**CITY, "statement": "I live in Lyon."}), facts(CITY))
    assert statements(result) == ["Ana lives in Lyon."]
    assert [rejection.code for rejection in result.rejections] == ["quote_not_in_source"]


def test_verdicts_about_the_message_are_not_argued_about(server: ModelServer) -> None:
    rows = [
        {**CITY, "quote": "My password is hunter2hunter2", "statement": "Ana's password is hunter2hunter2."},
        {**CITY, "confidence": 0.3},
        {**CITY, "statement": "Ana asked where Lyon is."},
        {**CITY, "statement": "The assistant lives in Lyon."},
    ]
    result = extract(server, facts(*rows))
    assert [rejection.code for rejection in result.rejections] == [
        "secret",
        "low_confidence",
        "speech_act",
        "machine_claim",
    ]
    assert result.rejections[0] == Rejection(code="secret")
    assert len(server.received) == 1


def test_a_repair_that_cannot_be_had_costs_nothing_that_holds(server: ModelServer) -> None:
    result = extract(server, facts(CITY, WRONG), fails(400))
    assert statements(result) == ["Ana lives in Lyon."]
    assert [rejection.code for rejection in result.rejections] == ["quote_not_in_source"]


def test_an_unreadable_answer_is_asked_for_again(server: ModelServer) -> None:
    result = extract(server, "I see a city here.", facts(CITY))
    assert statements(result) == ["Ana lives in Lyon."]
    assert server.received[1].texts[1:] == ["I see a city here.", prompt.REPAIR_FORMAT]


def test_an_answer_that_stays_unreadable_fails_the_message(server: ModelServer) -> None:
    with pytest.raises(ExtractionFailed) as raised:
        extract(server, "No JSON today.")
    assert (raised.value.error_class, raised.value.retryable, raised.value.outside) == ("reply_unreadable", True, False)
    assert len(server.received) == 3


def test_an_empty_answer_can_be_shown_again(server: ModelServer) -> None:
    assert statements(extract(server, "", facts(CITY))) == ["Ana lives in Lyon."]
    assert server.received[1].texts[1] == "(nothing)"


@pytest.mark.parametrize("wire", CLIENTS)
def test_a_refusal_is_a_reason(server: ModelServer, wire: str) -> None:
    result = extract(server, says("I cannot read this.", refused=True), wire=wire)
    assert (result.candidates, result.rejections) == ((), (Rejection(code="provider_refused"),))
    assert len(server.received) == 1


def test_an_unknown_person_is_left_to_the_pipeline(server: ModelServer) -> None:
    result = extract(server, facts({**TEA, "about": "Zoe", "statement": "Zoe hates tea."}))
    assert statements(result) == ["Zoe hates tea."]


def test_the_same_thing_is_listed_once_and_never_too_many(server: ModelServer) -> None:
    many = [{**CITY, "statement": f"Ana lives in Lyon {number}."} for number in range(40)]
    assert len(extract(server, facts(*many)).candidates) == MAX_CANDIDATES
    assert statements(extract(server, facts(CITY, CITY))) == ["Ana lives in Lyon."]


@pytest.mark.parametrize("text", ["", " \n", "👍", "assistant: I live in Lyon.", "<memory>Ana lives in Lyon.</memory>"])
def test_nothing_to_read_costs_nothing(server: ModelServer, text: str) -> None:
    assert extract(server, fails(500), item=replace(ITEM, text=text)) == ExtractionResult()
    assert server.received == []


def test_what_lies_beyond_the_limit_is_reported(server: ModelServer) -> None:
    result = extract(server, facts(CITY), item=replace(ITEM, text=ITEM.text + " x" * 10_000))
    assert [rejection.code for rejection in result.rejections] == ["beyond_limit"]


class Recalling:
    """Books in which the first answer stands already."""

    def __init__(self, known: str) -> None:
        self.known, self.booked = known, []

    def before(self, ask: Ask) -> Answer | None:
        return Answer(text=self.known) if len(ask.turns) == 1 else None

    def book(self, call: Call) -> None:
        self.booked.append(call)


def test_an_answer_that_was_paid_for_is_not_asked_for_again(server: ModelServer) -> None:
    books = Recalling(facts(CITY, WRONG))
    server.script = [says(facts(TEA))]
    result = extractor(server, books=books).extract(ITEM)
    assert statements(result) == ["Ana lives in Lyon.", "Bo hates tea."]
    assert len(server.received) == 1
    [call] = books.booked
    assert (call.error_class, call.notes, call.answer.text) == ("", (), facts(TEA))


def test_the_books_say_what_was_odd(server: ModelServer) -> None:
    books = Recalling("")
    books.before = lambda ask: None
    server.script = [says("Hm."), says(f"So: {facts({**CITY, 'category': 'gossip'})}", cut=True)]
    extractor(server, books=books).extract(ITEM)
    assert [(call.error_class, call.notes) for call in books.booked] == [
        ("reply_unreadable", ()),
        ("", ("cut_short", "searched_for", "category")),
    ]


@pytest.mark.parametrize(
    ("model", "address", "own", "usd"),
    [
        ("claude-haiku-4-5", "", (), 0.002),
        ("claude-haiku-4-5-20251001", "", (), 0.002),
        ("claude-unheard-of", "", (), None),
        ("claude-haiku-4-5", "http://elsewhere.example", (), None),
        ("claude-haiku-4-5", "http://elsewhere.example", ("claude-haiku-4-5=2/10",), 0.004),
        ("claude-unheard-of", "", ("claude-unheard-of=0/0",), 0.0),
    ],
)
def test_what_an_answer_costs(settings: Any, model: str, address: str, own: tuple[str, ...], usd: float | None) -> None:
    settings.MODEL_PRICES = own
    client = AnthropicClient(api_key="", model=model, address=address)
    cost = prices.cost(client, Answer(text="", input_tokens=1_000, output_tokens=200))
    assert (None if cost is None else float(cost)) == usd
    assert prices.cost(client, Answer(text="")) is None


def test_the_cost_of_a_message_is_that_of_all_its_calls(server: ModelServer, settings: Any) -> None:
    settings.MODEL_PRICES = ("claude-haiku-4-5=1/5",)
    assert extract(server, "Hm.", facts(CITY)).usage == Usage(input_tokens=2_000, output_tokens=400, cost_usd=0.004)


def test_an_unknown_price_is_not_nothing(server: ModelServer) -> None:
    assert extract(server, facts(CITY)).usage.cost_usd is None


@pytest.mark.parametrize("entry", ["gpt", "gpt=1", "gpt=1/x", "=1/2", "gpt=1/2/3", "gpt=-1/2", "gpt=1/NaN"])
def test_a_malformed_price_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match=re.escape(entry)):
        prices.parse(["fine=1/2", entry])
