"""Configuration of gunicorn, as `python:memory_site.gunicorn_config`."""

from __future__ import annotations

import contextlib
import gc
import threading
from typing import Any

from memory_site import logs, processes
from memory_site.database.aliases import WEB_THREADS

worker_class = "gthread"
workers = 2
threads = WEB_THREADS
timeout = 60  # seconds without a sign of life from a worker
graceful_timeout = 10  # seconds for requests that are being served when it stops
# The application is loaded once, before the workers fork: they start faster and share its memory. Nothing
# that loading does may open a connection or start a thread.
preload_app = True
logconfig_dict = logs.configuration("WARNING")


def when_ready(server: Any) -> None:
    """Stop when the process that started gunicorn is gone."""
    processes.stop_with_parent()


def pre_fork(server: Any, worker: Any) -> None:
    """Take what is loaded out of garbage collection: it stays, and looking through it costs a request about 1 ms."""
    gc.freeze()


def post_worker_init(worker: Any) -> None:
    """Load the models and open the pool of connections beside the first requests."""
    threading.Thread(target=_warm, name="warm", daemon=True).start()


def _warm() -> None:
    """Embed one word, load the reranker, connect once; failures are for whoever needs them to report."""
    from django.db import DatabaseError, connection

    from facts import embedding
    from retrieval.rerankers import registry as rerankers

    embedding.try_embed(["ready"])
    rerankers.warm()
    with contextlib.suppress(DatabaseError):
        connection.ensure_connection()
    connection.close()
    gc.freeze()
