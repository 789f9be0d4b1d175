"""A server on 127.0.0.1 for what comes from the web: pages that misbehave on request, the Jina Reader and Tavily."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.stubs.serving import serving

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Received:
    """One request: method, path with query, headers in lower case, body."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body as JSON."""
        return json.loads(self.body)


#: Answers one request.
Reply = Callable[["_Handler", Received], None]


@dataclass
class WebServer:
    """What is at which path, and what was asked."""

    pages: dict[str, Reply] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def address(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running() -> Iterator[WebServer]:
    """Serve until the block ends."""
    state = WebServer()
    with serving(_Handler, state):
        yield state


def says(body: str | bytes, *, content_type: str = HTML, status: int = 200, **headers: str) -> Reply:
    """Answer with this body; headers are given with underscores."""

    def reply(handler: _Handler, received: Received) -> None:
        sent = body.encode() if isinstance(body, str) else body
        extra = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.send_body(status, sent, {"Content-Type": content_type, **extra})

    return reply


def says_json(body: Any, *, status: int = 200) -> Reply:
    """Answer with JSON."""
    return says(json.dumps(body), content_type="application/json", status=status)


def packed(body: bytes) -> Reply:
    """Answer with this body, compressed."""
    return says(gzip.compress(body), Content_Encoding="gzip")


def redirects(location: str) -> Reply:
    """Send the asker elsewhere."""
    return says("", status=302, Location=location)


def drips(seconds: float, *, head: bool = False) -> Reply:
    """Answer byte by byte, with a pause before each: the body, or also the head."""

    def reply(handler: _Handler, received: Received) -> None:
        start = b"HTTP/1.1 200 OK\r\n" if head else b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
        handler.wfile.write(start)
        while not handler.server_state.closing.wait(seconds):
            handler.wfile.write(b"x")
            handler.wfile.flush()

    return reply


def endless(handler: _Handler, received: Received) -> None:
    """Answer without end, as fast as it is read."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while not handler.server_state.closing.is_set():
        handler.wfile.write(b"<p>more</p>" * 1_000)


class _Handler(BaseHTTPRequestHandler):
    """Notes the request and answers with what is at its path."""

    server_state: WebServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer a GET."""
        self._answer()

    def do_POST(self) -> None:
        """Answer a POST."""
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(method=self.command, path=self.path, headers=headers, body=body)
        self.server_state.received.append(received)
        self.close_connection = True
        missing = says("<h1>Not here</h1>", status=404)
        self.server_state.pages.get(self.path.partition("?")[0], missing)(self, received)

    def send_body(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test output quiet."""
