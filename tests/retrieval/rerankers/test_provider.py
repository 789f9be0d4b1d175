from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from retrieval.rerankers.base import Ranking, RerankerFailed
from retrieval.rerankers.provider import ProviderReranker
from tests.stubs import model_server
from tests.stubs.model_server import ModelServer

TEXTS = ("one", "two", "three")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server.running() as running:
        yield running


def reranker(server: ModelServer, *, kind: str = "http", model: str = "m", api_key: str = "secret") -> ProviderReranker:
    return ProviderReranker(kind=kind, url=f"{server.address}/v1/rerank", model=model, api_key=api_key)


def answers(body: Any) -> model_server.Reply:
    return model_server.sends(json.dumps(body).encode())


def results(*pairs: tuple[Any, Any]) -> model_server.Reply:
    return answers({"results": [{"index": index, "relevance_score": score} for index, score in pairs]})


def ask(server: ModelServer, *, seconds: float = 30, **how: str) -> Ranking:
    return reranker(server, **how).rerank("who?", TEXTS, seconds=seconds)


def test_the_providers_scores_order_the_texts(server: ModelServer) -> None:
    server.script = [results((2, 0.9), (0, 0.1), (1, 0.1))]
    assert ask(server) == Ranking(order=(2, 0, 1), scores=(0.9, 0.1, 0.1), partial=False)
    (received,) = server.received
    assert received.body == {"model": "m", "query": "who?", "documents": list(TEXTS), "top_n": 3}
    assert (received.path, received.headers["authorization"]) == ("/v1/rerank", "Bearer secret")


def test_without_model_and_key_none_is_sent(server: ModelServer) -> None:
    server.script = [results((0, 1), (1, 0), (2, -1))]
    assert ask(server, model="", api_key="").scores == (1.0, 0.0, -1.0)
    assert "model" not in server.received[0].body
    assert "authorization" not in server.received[0].headers


def test_the_other_format(server: ModelServer) -> None:
    server.script = [answers([{"index": 1, "score": 0.5}, {"index": 0, "score": 0.4}, {"index": 2, "score": 0.3}])]
    assert ask(server, kind="tei").order == (1, 0, 2)
    assert server.received[0].body == {"query": "who?", "texts": list(TEXTS), "truncate": True}


def test_an_answer_about_some_texts_is_partial(server: ModelServer) -> None:
    server.script = [results((1, 0.9))]
    assert ask(server) == Ranking(order=(1,), scores=(0.9,), partial=True)


@pytest.mark.parametrize(
    "reply",
    [
        results((0, 0.5), (0, 0.4)),
        results((3, 0.5)),
        results((-1, 0.5)),
        results(("0", 0.5)),
        results((True, 0.5)),
        results((0, "high")),
        results((0, None)),
        results(),
        answers({"results": None}),
        answers({"data": []}),
        answers([]),
        model_server.sends(b"{"),
        model_server.sends(b'{"results": [{"index": 0, "relevance_score": NaN}]}'),
    ],
)
def test_an_answer_that_is_no_ranking_is_an_invalid_result(server: ModelServer, reply: model_server.Reply) -> None:
    server.script = [reply]
    with pytest.raises(RerankerFailed) as raised:
        ask(server)
    assert raised.value.outcome == "invalid_result"


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (model_server.fails(401), "answered 401"),
        (model_server.fails(503), "answered 503"),
        (model_server.resets, "failed with"),
        (model_server.sends(b" " * 600_000), "ReplyTooLarge"),
    ],
)
def test_a_provider_that_fails_is_reported_without_content(
    server: ModelServer, reply: model_server.Reply, message: str
) -> None:
    server.script = [reply]
    with pytest.raises(RerankerFailed, match=message) as raised:
        ask(server)
    assert raised.value.outcome == "provider_error"
    assert not {"who", "one", "secret"} & set(str(raised.value).replace("?", "").split())
    assert len(server.received) == 1


@pytest.mark.parametrize("reply", [model_server.hangs, model_server.drips(0.05)])
def test_a_late_provider_is_dropped(server: ModelServer, reply: model_server.Reply) -> None:
    server.script = [reply]
    with pytest.raises(RerankerFailed) as raised:
        ask(server, seconds=0.2)
    assert raised.value.outcome == "timeout"


def test_nothing_to_rank_asks_nobody(server: ModelServer) -> None:
    assert reranker(server).rerank("who?", [], seconds=1) == Ranking(order=(), scores=(), partial=False)
    assert server.received == []


@pytest.mark.parametrize("url", ["example.org/rerank", "ftp://example.org", "http://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="RERANKER_URL"):
        ProviderReranker(kind="http", url=url, model="", api_key="")
