from __future__ import annotations

import base64
import json
import logging
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from facts import embedding_usage
from retrieval.embedders.base import EmbeddingUnavailable
from retrieval.embedders.openai_compatible import OpenAIEmbedder
from tests.stubs import model_server
from tests.stubs.model_server import ModelServer

SECRET_TEXT = "Ana takes her tea without milk"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server.running() as running:
        yield running


def embedder(server: ModelServer, **changes: Any) -> OpenAIEmbedder:
    how = {"model": "text-embedding-3-small", "dimensions": 4, "api_key": "secret", "timeout": 5.0, **changes}
    return OpenAIEmbedder(address=f"{server.address}/v1", **how)


def embeds(*, width: int = 4, backwards: bool = False, plain: bool = False) -> model_server.Reply:
    """Answer with a vector for each text whose first number is the text's length and the last 1."""

    def reply(handler: Any, received: model_server.Received) -> None:
        rows = []
        for index, text in enumerate(received.body["input"]):
            numbers = np.array([len(text), *[0] * (width - 2), 1], dtype=np.float32)
            written = numbers.tolist() if plain else base64.b64encode(numbers.tobytes()).decode()
            rows.append({"object": "embedding", "index": index, "embedding": written})
        body = {
            "object": "list",
            "data": rows[::-1] if backwards else rows,
            "model": received.body["model"],
            "usage": {"prompt_tokens": 5, "total_tokens": 5},
        }
        handler.send_json(200, body)

    return reply


def test_texts_become_unit_vectors_in_their_order(server: ModelServer) -> None:
    server.script = [embeds(backwards=True)]
    vectors = embedder(server).embed_documents(["abc", "", "a"])
    # A text without characters is sent as a blank.
    expected = np.array([[3, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1]]) / np.sqrt([[10], [2], [2]])
    assert vectors == pytest.approx(expected, abs=1e-6)
    (received,) = server.received
    assert received.path == "/v1/embeddings"
    assert received.headers["authorization"] == "Bearer secret"
    assert {name: received.body[name] for name in ("model", "input", "dimensions")} == {
        "model": "text-embedding-3-small",
        "input": ["abc", " ", "a"],
        "dimensions": 4,
    }


def test_a_server_that_writes_numbers_out_is_understood(server: ModelServer) -> None:
    server.script = [embeds(plain=True)]
    assert embedder(server).embed_query("abc") == pytest.approx([3 / 10**0.5, 0, 0, 1 / 10**0.5], abs=1e-6)


def test_many_texts_go_in_batches(server: ModelServer) -> None:
    server.script = [embeds()]
    assert embedder(server).embed_documents(["a"] * 250).shape == (250, 4)
    assert [len(received.body["input"]) for received in server.received] == [100, 100, 50]


def test_prefixes_are_put_before_texts(server: ModelServer) -> None:
    server.script = [embeds()]
    prefixed = embedder(server, query_prefix="query: ", document_prefix="passage: ")
    prefixed.embed_query("tea")
    prefixed.embed_documents(["tea"])
    assert [received.body["input"] for received in server.received] == [["query: tea"], ["passage: tea"]]


def test_a_server_that_does_not_know_the_width_is_asked_without(server: ModelServer) -> None:
    server.script = [model_server.knowing_only(lambda received: "dimensions" not in received.body, embeds())]
    one = embedder(server)
    for _ in range(2):
        one.embed_query("abc")
    assert ["dimensions" in received.body for received in server.received] == [True, False, False]


def test_stored_texts_are_tried_twice_and_questions_once(server: ModelServer) -> None:
    server.script = [model_server.fails(503, retry_after_ms="1"), embeds()]
    assert embedder(server).embed_documents(["abc"]).shape == (1, 4)
    server.script = [model_server.fails(503)]
    server.received.clear()
    with pytest.raises(EmbeddingUnavailable, match="answered 503"):
        embedder(server).embed_query("abc")
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (model_server.fails(401), "answered 401"),
        (model_server.fails(400), "answered 400"),
        (model_server.resets, "failed with APIConnectionError"),
        (model_server.sends(b"{"), "failed with"),
        (model_server.sends(b"{}"), "failed with"),
        (model_server.sends(b'{"data": []}'), "failed with|other texts"),
        (embeds(width=5), "of 5 numbers, the settings say 4"),
        (model_server.sends(json.dumps({"data": [{"index": 1, "embedding": [1, 0, 0, 0]}]}).encode()), "other texts"),
        (model_server.sends(json.dumps({"data": [{"index": 0, "embedding": [0, 0, 0, 0]}]}).encode()), "direction"),
        (model_server.sends(json.dumps({"data": [{"index": 0, "embedding": ["a"]}]}).encode()), "no vector"),
    ],
)
def test_what_is_no_vector_is_unavailable_and_nothing_is_told(
    server: ModelServer, caplog: pytest.LogCaptureFixture, reply: model_server.Reply, message: str
) -> None:
    server.script = [reply]
    with (
        caplog.at_level(logging.DEBUG, logger="retrieval"),
        pytest.raises(EmbeddingUnavailable, match=message) as raised,
    ):
        embedder(server).embed_query(SECRET_TEXT)
    assert SECRET_TEXT not in str(raised.value) + caplog.text
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_a_slow_server_is_unavailable(server: ModelServer) -> None:
    server.script = [model_server.hangs]
    with pytest.raises(EmbeddingUnavailable, match="APITimeoutError"):
        embedder(server, timeout=0.05).embed_documents(["abc"])


def test_what_shapes_stored_vectors_is_the_identity(server: ModelServer) -> None:
    first = embedder(server)
    assert (first.identity.provider, first.identity.model, first.identity.dimensions) == (
        "openai",
        "text-embedding-3-small",
        4,
    )
    assert embedder(server, query_prefix="q").identity == first.identity
    assert embedder(server, document_prefix="d").identity != first.identity
    assert embedder(server, dimensions=5).identity != first.identity
    assert embedder(server, model="other").identity != first.identity
    own = OpenAIEmbedder(model="text-embedding-3-small", dimensions=4, api_key="secret", timeout=5.0)
    assert (own.identity.version, own.identity == first.identity) == ("openai", False)
    assert "secret" not in json.dumps(first.blueprint)


def test_every_call_is_booked_on_the_account_it_is_made_for(server: ModelServer) -> None:
    booked: list[tuple[uuid.UUID, embedding_usage.Usage]] = []
    before = embedding_usage._book
    embedding_usage.register(lambda account_id, usage: booked.append((account_id, replace(usage, latency_ms=0))))
    try:
        server.script = [embeds(), model_server.fails(401)]
        one = embedder(server)
        with embedding_usage.on_account(uuid.UUID(int=7)):
            one.embed_documents(["abc"])
            with pytest.raises(EmbeddingUnavailable):
                one.embed_query("abc")
        with pytest.raises(EmbeddingUnavailable):
            one.embed_query("on nobody's account")
    finally:
        embedding_usage.register(before)
    told = {"provider": "openai", "model": "text-embedding-3-small", "list_prices": False, "latency_ms": 0}
    assert booked == [
        (uuid.UUID(int=7), embedding_usage.Usage(tokens=5, **told)),
        (uuid.UUID(int=7), embedding_usage.Usage(tokens=None, error_class="http_401", **told)),
    ]


def test_books_that_fail_lose_a_line_and_no_vector(server: ModelServer) -> None:
    def fail(account_id: uuid.UUID, usage: embedding_usage.Usage) -> None:
        raise RuntimeError("no books")

    before = embedding_usage._book
    embedding_usage.register(fail)
    try:
        server.script = [embeds()]
        with embedding_usage.on_account(uuid.UUID(int=7)):
            assert embedder(server).embed_documents(["abc"]).shape == (1, 4)
    finally:
        embedding_usage.register(before)
