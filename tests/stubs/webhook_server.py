"""A receiver of webhooks on 127.0.0.1 that misbehaves on request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.stubs.serving import serving


@dataclass(frozen=True)
class Received:
    """One request: its headers in lower case, and its body as it came."""

    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The body as JSON."""
        return json.loads(self.raw)


@dataclass
class WebhookServer:
    """What to answer, status and headers in order, the last one for good; and what was received.

    A status of 0 takes the request and closes the connection without an answer.
    """

    script: list[tuple[int, Mapping[str, str]]] = field(default_factory=lambda: [(200, {})])
    received: list[Received] = field(default_factory=list)
    port: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def host(self) -> str:
        """Host and port, as ``MEMORY_INTERNAL_HOSTS`` names them."""
        return f"127.0.0.1:{self.port}"

    def answers(self, *statuses: int, **headers: str) -> None:
        """Answer with these statuses; headers, with underscores, go with each."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.script = [(status, named) for status in statuses]

    def next_answer(self, received: Received) -> tuple[int, Mapping[str, str]]:
        """Note the request and return what to answer."""
        with self._lock:
            self.received.append(received)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]


@contextmanager
def running() -> Iterator[WebhookServer]:
    """Receive until the block ends."""
    state = WebhookServer()
    with serving(_Handler, state):
        yield state


class _Handler(BaseHTTPRequestHandler):
    """Notes a request and answers by the script."""

    server_state: WebhookServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, extra = self.server_state.next_answer(Received(headers, raw))
        self.close_connection = True
        if not status:
            return
        self.send_response(status)
        for name, value in extra.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Stay silent."""
