"""The adapters against a server that speaks the wire formats: what is sent, and what each kind of reply means."""

from __future__ import annotations

import gzip
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.conf import settings

from facts import outgoing
from ingest.extraction.providers import calls, schema
from ingest.extraction.providers.anthropic_client import AnthropicClient
from ingest.extraction.providers.calls import Answer, Ask, CallFailed, Client
from ingest.extraction.providers.openai_client import CHAT_JSON, CHAT_PLAIN, COMPATIBLE_WAYS, RESPONSES, OpenAIClient
from ingest.extraction.providers.schema import ANSWER
from tests.ingest.model_clients import CLIENTS, KEY, client_for
from tests.stubs import model_server
from tests.stubs.model_server import (
    CHAT,
    MESSAGES,
    ModelServer,
    drips,
    fails,
    floods,
    hangs,
    knowing_only,
    resets,
    says,
    sends,
)

SECRET_WORDS = "the launch moves to Friday"
ASK = Ask("Be brief.", (("user", SECRET_WORDS), ("assistant", "{}"), ("user", "Again.")))
SECONDS = 20.0


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server.running() as running:
        yield running


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest, server: ModelServer) -> Client:
    return client_for(request.param, server)


def failure(client: Client, *, timeout: float = SECONDS) -> CallFailed:
    with pytest.raises(CallFailed) as raised:
        client.send(ASK, timeout=timeout)
    return raised.value


def test_a_good_answer(client: Client, server: ModelServer) -> None:
    server.script = [says('{"facts": []}')]
    assert client.send(ASK, timeout=SECONDS) == Answer(text='{"facts": []}', input_tokens=1_000, output_tokens=200)


def test_an_answer_that_was_cut_off(client: Client, server: ModelServer) -> None:
    server.script = [says('{"facts": [{', cut=True)]
    answer = client.send(ASK, timeout=SECONDS)
    assert (answer.text, answer.truncated, answer.refused) == ('{"facts": [{', True, False)


def test_a_refusal(client: Client, server: ModelServer) -> None:
    server.script = [says("No.", refused=True)]
    assert client.send(ASK, timeout=SECONDS).refused


@pytest.mark.parametrize(
    ("status", "error_class"),
    [
        (400, "provider_rejected"),
        (401, "provider_denied"),
        (402, "provider_unpaid"),
        (403, "provider_denied"),
        (404, "provider_not_found"),
        (408, "provider_timeout"),
        (413, "provider_rejected"),
        (422, "provider_rejected"),
        (429, "provider_rate_limited"),
        (500, "provider_error"),
        (503, "provider_error"),
        (529, "provider_overloaded"),
    ],
)
def test_every_status_has_its_class(client: Client, server: ModelServer, status: int, error_class: str) -> None:
    server.script = [fails(status)]
    assert failure(client).error_class == error_class


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry_after": "7"}, 7.0),
        ({"retry_after_ms": "1500"}, 1.5),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_how_long_it_asks_to_wait(
    client: Client, server: ModelServer, headers: dict[str, str], seconds: float | None
) -> None:
    server.script = [fails(429, **headers)]
    assert failure(client).retry_after == seconds


def test_no_answer_in_time(client: Client, server: ModelServer) -> None:
    server.script = [hangs]
    assert failure(client, timeout=0.3).error_class == "provider_timeout"


def test_an_answer_that_drips(client: Client, server: ModelServer) -> None:
    server.script = [drips(0.05)]
    assert failure(client, timeout=0.5).error_class == "provider_timeout"


def test_a_reset_connection(client: Client, server: ModelServer) -> None:
    server.script = [resets]
    assert failure(client).error_class == "provider_unreachable"


@pytest.mark.parametrize("wire", CLIENTS)
def test_nobody_listens(wire: str) -> None:
    with model_server.running() as server:
        gone = client_for(wire, server)
    assert failure(gone).error_class == "provider_unreachable"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_reply_of_a_megabyte_is_not_read_to_its_end(client: Client, server: ModelServer, chunked: bool) -> None:
    server.script = [floods(1_000_000, chunked=chunked)]
    assert failure(client).error_class == "reply_too_large"


def test_a_reply_just_within_the_limit_is_read(client: Client, server: ModelServer) -> None:
    size = outgoing.MAX_REPLY_BYTES - 4_096
    server.script = [floods(size)]
    assert len(client.send(ASK, timeout=SECONDS).text) == size


def test_a_compressed_reply_is_not_unpacked(client: Client, server: ModelServer) -> None:
    server.script = [sends(gzip.compress(b"[" * 1_000), Content_Encoding="gzip")]
    assert failure(client).error_class == "reply_too_large"


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"null", b"[]", b"{}", b'{"choices": [], "content": "x", "output": 1}']
)
def test_a_reply_that_is_no_answer(client: Client, server: ModelServer, body: bytes) -> None:
    server.script = [sends(body)]
    assert failure(client).error_class == "reply_unreadable"


def test_the_library_tries_once(client: Client, server: ModelServer) -> None:
    server.script = [fails(500)]
    failure(client)
    assert len(server.received) == 1


def test_neither_key_nor_content_is_in_errors_or_logs(
    client: Client, server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(settings.LOGGING["loggers"]["openai"]["level"])
    for name in ("anthropic", "openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(settings.LOGGING["loggers"][name]["level"])
    server.script = [fails(400), fails(500), says(SECRET_WORDS)]
    raised = [failure(client)]
    for reply in (fails(429), resets, sends(SECRET_WORDS.encode())):
        server.script = [reply]
        raised.append(failure(client))
    told = caplog.text + "".join(f"{error!r}{error.__cause__!r}{error.args}" for error in raised)
    assert KEY not in told
    assert SECRET_WORDS not in told
    assert all(error.__suppress_context__ for error in raised)


def test_what_is_sent_to_anthropic(server: ModelServer) -> None:
    server.script = [says("{}")]
    client_for("messages", server).send(ASK, timeout=SECONDS)
    [request] = server.received
    assert (request.path, request.headers["authorization"]) == (MESSAGES, f"Bearer {KEY}")
    assert request.body == {
        "model": "claude-haiku-4-5",
        "max_tokens": calls.MAX_OUTPUT_TOKENS,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": SECRET_WORDS},
            {"role": "assistant", "content": "{}"},
            {"role": "user", "content": "Again."},
        ],
        "output_config": {"format": {"type": "json_schema", "schema": ANSWER}},
    }


def test_what_is_sent_to_openai(server: ModelServer) -> None:
    server.script = [says("{}")]
    client_for("responses", server).send(ASK, timeout=SECONDS)
    [request] = server.received
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "gpt-5.4-mini",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": SECRET_WORDS},
            {"role": "assistant", "content": "{}"},
            {"role": "user", "content": "Again."},
        ],
        "max_output_tokens": calls.MAX_OUTPUT_TOKENS,
        "store": False,
        "text": {"format": {"type": "json_schema", "name": "facts", "schema": ANSWER, "strict": True}},
    }


def test_what_is_sent_to_others(server: ModelServer) -> None:
    server.script = [says("{}")]
    client_for("chat", server).send(ASK, timeout=SECONDS)
    [request] = server.received
    assert request.body == {
        "model": "gpt-5.4-mini",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": SECRET_WORDS},
            {"role": "assistant", "content": "{}"},
            {"role": "user", "content": "Again."},
        ],
        "max_tokens": calls.MAX_OUTPUT_TOKENS,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "facts", "schema": ANSWER, "strict": True},
        },
    }


def format_of(body: dict[str, object]) -> object:
    """Return the name of the response format that a chat request asks for."""
    asked = body.get("response_format")
    return asked["type"] if isinstance(asked, dict) else None


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ("json_schema", ["json_schema"]),
        ("json_object", ["json_schema", "json_object"]),
        (None, ["json_schema", "json_object", None]),
    ],
)
def test_a_server_is_asked_as_strictly_as_it_can_take(
    server: ModelServer, known: str | None, asked: list[str | None]
) -> None:
    server.script = [knowing_only(lambda request: format_of(request.body) == known, says("{}"))]
    client = OpenAIClient(api_key="", model="local", address=f"{server.address}/v1")
    client.send(ASK, timeout=SECONDS)
    client.send(ASK, timeout=SECONDS)
    assert [format_of(request.body) for request in server.received] == [*asked, asked[-1]]
    told = [schema.AS_JSON in request.body["messages"][0]["content"] for request in server.received]
    assert told == [way != "json_schema" for way in (*asked, asked[-1])]


def test_a_server_without_responses_is_asked_by_chat(server: ModelServer) -> None:
    server.script = [knowing_only(lambda request: request.path == CHAT, says("{}"), status=404)]
    client = OpenAIClient(api_key=KEY, model="m", address=f"{server.address}/v1", ways=(RESPONSES, *COMPATIBLE_WAYS))
    assert client.send(ASK, timeout=SECONDS).text == "{}"


def test_a_failure_changes_no_way_of_asking(server: ModelServer) -> None:
    server.script = [fails(500), says("{}")]
    client = OpenAIClient(api_key=KEY, model="m", address=f"{server.address}/v1", ways=(CHAT_JSON, CHAT_PLAIN))
    assert failure(client).error_class == "provider_error"
    client.send(ASK, timeout=SECONDS)
    assert [format_of(request.body) for request in server.received] == ["json_object", "json_object"]


def test_a_server_without_schemas_is_asked_in_words(server: ModelServer) -> None:
    server.script = [knowing_only(lambda request: "output_config" not in request.body, says("{}"))]
    client = AnthropicClient(api_key=KEY, model="m", address=server.address)
    client.send(ASK, timeout=SECONDS)
    client.send(ASK, timeout=SECONDS)
    assert ["output_config" in request.body for request in server.received] == [True, False, False]
    assert [schema.AS_JSON in request.body["system"] for request in server.received] == [False, True, True]


def test_spent_quota_is_no_passing_limit(server: ModelServer) -> None:
    server.script = [fails(429, code="insufficient_quota")]
    assert failure(client_for("chat", server)).error_class == "provider_unpaid"


def test_redirects_are_not_followed(client: Client, server: ModelServer) -> None:
    server.script = [fails(307, location="/elsewhere")]
    assert failure(client).error_class == "provider_not_found"
    assert len(server.received) == 1


def test_no_client_library_is_imported_before_the_first_call() -> None:
    code = """
import sys, django
django.setup()
import memory_site.urls
from django.contrib import admin
from django.urls import reverse
reverse("admin:index")
from ingest.extraction import get_extractor
assert get_extractor("anthropic").identity.model == "claude-haiku-4-5"
assert get_extractor("openai").identity.provider == "openai"
print(sorted(name for name in sys.modules if name in {"anthropic", "openai", "httpx2", "httpx"}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=settings.BASE_DIR,
        env={"DJANGO_SETTINGS_MODULE": "memory_site.settings", "PATH": "", "MEMORY_VAR_DIR": str(settings.VAR_DIR)},
        check=True,
    )
    assert json.loads(done.stdout.replace("'", '"')) == []
