"""Serving what a stub answers, on a port of its own, until a block ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], state: Any) -> Iterator[None]:
    """Serve with ``handler``, which finds ``state`` as ``server_state``; set ``state.port``, and at the end its
    ``closing``, where it has one."""
    bound = type("Handler", (handler,), {"server_state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
    server.daemon_threads = True
    # A client that goes away is part of what is tested.
    server.handle_error = lambda request, client_address: None
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        closing = getattr(state, "closing", None)
        if closing is not None:
            closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
