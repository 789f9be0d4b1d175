"""A server on 127.0.0.1 that speaks Slack's Web API for one workspace, and misbehaves on request.

Fill ``users``, ``channels``, ``messages`` and ``files``; what was asked is in ``calls``, what was posted in ``posted``.
Answers have the shape of Slack's documentation: ``{"ok": true, …}``, ``{"ok": false, "error": …}`` with status 200,
429 with ``Retry-After``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.stubs.serving import serving

TOKEN = "xoxb-stub"
TEAM, BOT, APP = "T1", "UBOT", "A1"

#: Methods whose answer is a list, with the name of that list.
_LISTS = {
    "users.list": "members",
    "conversations.list": "channels",
    "conversations.history": "messages",
    "conversations.replies": "messages",
}


@dataclass(frozen=True)
class Call:
    """One request: the method's name, its arguments, and the token it came with."""

    method: str
    arguments: Mapping[str, Any]
    token: str


@dataclass
class SlackServer:
    """The workspace, the faults to play, and what was received.

    ``channels`` are channel objects by id (``is_member`` false: ``not_in_channel``), ``messages`` records by channel,
    in any order, replies among them; ``files`` are bodies by path, with their content type.
    """

    users: list[dict[str, Any]] = field(default_factory=list)
    channels: dict[str, dict[str, Any]] = field(default_factory=dict)
    messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    files: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    posted: list[Call] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    port: int = 0
    page: int = 100
    _faults: dict[str, list[tuple[int, dict[str, Any], dict[str, str]] | str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def api_url(self) -> str:
        """The value of ``SLACK_API_URL``."""
        return f"{self.address}/api/"

    def limit(self, method: str, *, retry_after: int = 10, times: int = 1) -> None:
        """Answer the next calls of a method with 429."""
        answer = (429, {"ok": False, "error": "ratelimited"}, {"Retry-After": str(retry_after)})
        self._faults.setdefault(method, []).extend([answer] * times)

    def fails(self, method: str, error: str, *, times: int = 1) -> None:
        """Answer the next calls of a method with an error of Slack's, such as ``channel_not_found``."""
        self._faults.setdefault(method, []).extend([(200, {"ok": False, "error": error}, {})] * times)

    def breaks(self, method: str, *, status: int = 500, times: int = 1) -> None:
        """Answer the next calls of a method with a status and a body that is no JSON."""
        self._faults.setdefault(method, []).extend([(status, {}, {})] * times)

    def drops(self, method: str, *, times: int = 1) -> None:
        """Do what the next calls of a method ask, and close the connection instead of answering."""
        self._faults.setdefault(method, []).extend(["drop"] * times)

    def upload(self, path: str, body: bytes, *, content_type: str = "text/plain; charset=utf-8") -> str:
        """Keep a file and return its ``url_private``."""
        self.files[path] = (body, content_type)
        return f"{self.address}{path}"

    def next_fault(self, method: str) -> Any:
        """Take the next fault of a method; ``None`` when it is to be answered."""
        with self._lock:
            waiting = self._faults.get(method)
            return waiting.pop(0) if waiting else None

    def note(self, call: Call) -> None:
        """Keep what was asked."""
        with self._lock:
            self.calls.append(call)

    def answer(self, call: Call) -> dict[str, Any]:
        """Return the body of an answer."""
        if call.token != TOKEN:
            return {"ok": False, "error": "invalid_auth"}
        arguments = call.arguments
        channel = self.channels.get(str(arguments.get("channel", "")))
        match call.method:
            case "auth.test":
                return {"ok": True, "team_id": TEAM, "team": "Stub", "user_id": BOT, "bot_id": "BBOT", "user": "memory"}
            case "users.info":
                found = [user for user in self.users if user["id"] == arguments.get("user")]
                return {"ok": True, "user": found[0]} if found else {"ok": False, "error": "user_not_found"}
            case "users.list":
                return self._paged(call, self.users)
            case "conversations.list":
                return self._paged(call, list(self.channels.values()))
            case "conversations.info":
                return {"ok": True, "channel": channel} if channel else {"ok": False, "error": "channel_not_found"}
            case "conversations.open":
                return {"ok": True, "channel": {"id": f"D{arguments['users']}"}}
            case "conversations.history" | "conversations.replies":
                return self._conversation(call, channel)
            case "chat.postMessage" | "chat.postEphemeral":
                with self._lock:
                    self.posted.append(call)
                    ts = f"1700000000.{len(self.posted):06}"
                name = "message_ts" if call.method == "chat.postEphemeral" else "ts"
                return {"ok": True, "channel": arguments.get("channel"), name: ts}
        return {"ok": False, "error": "unknown_method"}

    def _conversation(self, call: Call, channel: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return a page of a channel's messages, newest first, or of a thread, oldest first."""
        if channel is None:
            return {"ok": False, "error": "channel_not_found"}
        if not channel.get("is_member", True):
            return {"ok": False, "error": "not_in_channel"}
        arguments = call.arguments
        records = sorted(self.messages.get(channel["id"], []), key=lambda record: Decimal(record["ts"]))
        if call.method == "conversations.replies":
            root = arguments.get("ts")
            records = [record for record in records if root in (record["ts"], record.get("thread_ts"))]
            if not records:
                return {"ok": False, "error": "thread_not_found"}
        else:
            records = [
                record
                for record in records
                if record.get("thread_ts", record["ts"]) == record["ts"]
                or record.get("subtype") in {"thread_broadcast", "reply_broadcast"}
            ][::-1]
        inclusive = str(arguments.get("inclusive", "0")).lower() in {"1", "true"}
        oldest, latest = Decimal(str(arguments.get("oldest", 0))), Decimal(str(arguments.get("latest", 10**12)))
        inside = [
            record
            for record in records
            if oldest < (ts := Decimal(record["ts"])) < latest or (inclusive and ts in (oldest, latest))
        ]
        return self._paged(call, inside)

    def _paged(self, call: Call, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        start = int(call.arguments.get("cursor") or 0)
        end = start + min(int(call.arguments.get("limit") or self.page), self.page)
        more = end < len(rows)
        return {
            "ok": True,
            _LISTS[call.method]: list(rows[start:end]),
            "has_more": more,
            "response_metadata": {"next_cursor": str(end) if more else ""},
        }


@contextmanager
def running() -> Iterator[SlackServer]:
    """Serve until the block ends."""
    state = SlackServer()
    with serving(_Handler, state):
        yield state


class _Handler(BaseHTTPRequestHandler):
    """Reads a request and answers for the workspace."""

    server_state: SlackServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one call of a method."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Type", "").startswith("application/json"):
            arguments = json.loads(body)
        else:
            arguments = dict(parse_qsl(body.decode(), keep_blank_values=True))
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        call = Call(urlsplit(self.path).path.removeprefix("/api/"), arguments, token)
        self.server_state.note(call)
        match self.server_state.next_fault(call.method):
            case (int() as status, body, headers):
                self._send(status, json.dumps(body).encode() if body else b"<html>", headers)
            case "drop":
                self.server_state.answer(call)
                self.close_connection = True
            case _:
                self._send(200, json.dumps(self.server_state.answer(call)).encode(), {})

    def do_GET(self) -> None:
        """Send a file to whoever has the token; anybody else gets the page to sign in, as Slack does it."""
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.server_state.note(Call(self.path, {}, token))
        body, kind = self.server_state.files.get(self.path, (b"", ""))
        if not kind:
            self._send(404, b"", {"Content-Type": "text/plain"})
        elif token != TOKEN:
            self._send(200, b"<html>Sign in</html>", {"Content-Type": "text/html"})
        else:
            self._send(200, body, {"Content-Type": kind})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json; charset=utf-8", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Stay silent."""
