"""A server on 127.0.0.1 that speaks the wire formats of model providers, and misbehaves on request.

It serves Anthropic's Messages and OpenAI's Responses and Chat Completions; the path tells which is meant, so that one
script of replies serves all three. Replies are used up in order; the last one stays.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.stubs.serving import serving

MESSAGES = "/v1/messages"
RESPONSES = "/v1/responses"
CHAT = "/v1/chat/completions"

#: What every reply says it cost.
INPUT_TOKENS, OUTPUT_TOKENS = 1_000, 200


@dataclass(frozen=True)
class Received:
    """One request: its path, its headers in lower case and its body."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        """The texts of its turns, the system's left out."""
        turns = self.body.get("messages") or self.body["input"]
        return [turn["content"] for turn in turns if turn["role"] != "system"]


#: Answers one request.
Reply = Callable[["_Handler", Received], None]


@dataclass
class ModelServer:
    """The server's script and what it received."""

    script: list[Reply] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    port: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def next_reply(self, received: Received) -> Reply:
        """Note the request and return what to answer."""
        with self._lock:
            self.received.append(received)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]


@contextmanager
def running() -> Iterator[ModelServer]:
    """Serve until the block ends."""
    state = ModelServer()
    with serving(_Handler, state):
        yield state


def facts(*rows: Mapping[str, Any]) -> str:
    """Return the text of a well-formed answer."""
    return json.dumps({"facts": list(rows)}, ensure_ascii=False)


def says(text: str, *, cut: bool = False, refused: bool = False) -> Reply:
    """Answer with this text."""
    return lambda handler, received: handler.send_json(200, _answer(received, text, cut=cut, refused=refused))


def fails(status: int, *, code: str = "some_error", **headers: str) -> Reply:
    """Answer with an error status; headers are given with underscores."""

    def reply(handler: _Handler, received: Received) -> None:
        error = {"type": code, "code": code, "message": "the request was: " + json.dumps(received.body)[:200]}
        body = {"type": "error", "error": error} if received.path == MESSAGES else {"error": error}
        handler.send_json(status, body, {name.replace("_", "-"): value for name, value in headers.items()})

    return reply


def hangs(handler: _Handler, received: Received) -> None:
    """Never answer."""
    handler.server_state.closing.wait(60)


def resets(handler: _Handler, received: Received) -> None:
    """Reset the connection instead of answering."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    # Whatever still reads from the socket keeps it open.
    handler.rfile.close()
    handler.connection.close()
    handler.close_connection = True


def floods(size: int, *, chunked: bool = False) -> Reply:
    """Answer with a well-formed reply of about that many bytes."""

    def reply(handler: _Handler, received: Received) -> None:
        body = json.dumps(_answer(received, "x" * size)).encode()
        if not chunked:
            handler.send_bytes(200, body, {"Content-Type": "application/json"})
            return
        handler.send_head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
        for start in range(0, len(body), 8192):
            part = body[start : start + 8192]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        handler.wfile.write(b"0\r\n\r\n")

    return reply


def drips(seconds: float) -> Reply:
    """Answer byte by byte, with a pause before each, until the client goes away."""

    def reply(handler: _Handler, received: Received) -> None:
        handler.send_head(200, {"Content-Type": "application/json", "Content-Length": "100000"})
        while not handler.server_state.closing.wait(seconds):
            handler.wfile.write(b" ")

    return reply


def sends(body: bytes, **headers: str) -> Reply:
    """Answer 200 with exactly these bytes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, received: handler.send_bytes(200, body, {"Content-Type": "application/json", **named})


def while_looking(look: Callable[[], None], reply: Reply) -> Reply:
    """Call ``look`` while the client waits, then answer."""

    def both(handler: _Handler, received: Received) -> None:
        look()
        reply(handler, received)

    return both


def knowing_only(accepts: Callable[[Received], bool], reply: Reply, *, status: int = 400) -> Reply:
    """Answer requests of a kind; refuse the others, as servers do with what they do not know."""

    def choose(handler: _Handler, received: Received) -> None:
        (reply if accepts(received) else fails(status))(handler, received)

    return choose


class _Handler(BaseHTTPRequestHandler):
    """Reads a request and plays the next reply."""

    server_state: ModelServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.path, headers, body)
        try:
            self.server_state.next_reply(received)(self, received)
        except (BrokenPipeError, ConnectionResetError):
            # The client had enough.
            self.close_connection = True

    def send_json(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        """Send a JSON body."""
        self.send_bytes(status, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})})

    def send_bytes(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a body of known length."""
        self.send_head(status, {**headers, "Content-Length": str(len(body))})
        self.wfile.write(body)

    def send_head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send status and headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Stay silent."""


def _answer(received: Received, text: str, *, cut: bool = False, refused: bool = False) -> dict[str, Any]:
    """Return the body of a reply in the format that the path asks for."""
    model = received.body["model"]
    if received.path == MESSAGES:
        return _message(model, text, "refusal" if refused else "max_tokens" if cut else "end_turn")
    if received.path == CHAT:
        return _completion(model, text, "content_filter" if refused else "length" if cut else "stop")
    assert received.path == RESPONSES, received.path
    return _response(model, text, "max_output_tokens" if cut else "", refused=refused)


def _message(model: str, text: str, stop_reason: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
    }


def _completion(model: str, text: str, finish_reason: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": INPUT_TOKENS,
            "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    }


def _response(model: str, text: str, incomplete: str, *, refused: bool) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    if refused:
        part = {"type": "refusal", "refusal": text}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "incomplete" if incomplete else "completed",
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "error": None,
        "model": model,
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]},
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    }
