"""A mail server on 127.0.0.1 that takes messages, or refuses them on request."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message


@dataclass
class MailServer:
    """What arrived, and the replies to play: ``replies`` by command, each used once.

    A reply of "" closes the connection: after ``DATA.`` that is after the message was taken.
    """

    messages: list[Message] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    replies: dict[str, list[str]] = field(default_factory=dict)
    port: int = 0

    def plays(self, command: str, reply: str) -> None:
        """Answer the next such command so; ``DATA.`` is the end of a message."""
        self.replies.setdefault(command, []).append(reply)

    def next_reply(self, command: str, usual: str) -> str:
        """Return what to answer."""
        waiting = self.replies.get(command)
        return waiting.pop(0) if waiting else usual


@contextmanager
def running() -> Iterator[MailServer]:
    """Take messages until the block ends."""
    state = MailServer()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 stub")
            while line := self.rfile.readline():
                command = line.decode().strip().upper()[:4]
                if command == "QUIT":
                    self._say("221 bye")
                    return
                if not self._say(state.next_reply(command, "354 go on" if command == "DATA" else "250 ok")):
                    return
                if command == "RCPT":
                    state.recipients.append(line.decode().strip())
                if command == "DATA" and not self._take():
                    return

        def _take(self) -> bool:
            lines = []
            while (line := self.rfile.readline()) not in {b".\r\n", b""}:
                lines.append(line)
            reply = state.next_reply("DATA.", "250 taken")
            if not reply or reply.startswith("2"):
                state.messages.append(message_from_bytes(b"".join(lines)))
            return self._say(reply)

        def _say(self, reply: str) -> bool:
            if reply:
                self.wfile.write(f"{reply}\r\n".encode())
            return bool(reply)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
