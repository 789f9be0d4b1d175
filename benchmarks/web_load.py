"""The web server as `make run` starts it, and clients that keep it busy."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

#: Seconds until the server has to answer.
PATIENCE = 60
TICKS = os.sysconf("SC_CLK_TCK")

_asked = itertools.count()


class Server:
    """The web server, for as long as the context lasts."""

    def __init__(self, port: int) -> None:
        self._port = port

    def __enter__(self) -> Server:
        command = [sys.executable, "-m", "gunicorn", "--config", "python:memory_site.gunicorn_config"]
        command += ["--bind", f"127.0.0.1:{self._port}", "memory_site.wsgi:application"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.2)
        self._process.terminate()
        raise RuntimeError("The web server did not start.")

    def __exit__(self, *raised: object) -> None:
        self._process.terminate()
        self._process.wait()

    def cpu_seconds(self) -> float:
        """Return the CPU that the web server and the database have used so far (Linux)."""
        from django.conf import settings

        data = settings.EMBEDDED_POSTGRES_DIRECTORY / "data" / "postmaster.pid"
        roots = {self._process.pid, int(data.read_text().split()[0])}
        parents: dict[int, int] = {}
        used: dict[int, float] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                parents[int(entry.name)] = int(fields[1])
                # Its own time, and that of children it has waited for.
                used[int(entry.name)] = sum(map(int, fields[11:15])) / TICKS
        return sum(seconds for pid, seconds in used.items() if _descends(pid, roots, parents))


def _descends(pid: int, roots: set[int], parents: dict[int, int]) -> bool:
    while pid and pid not in roots:
        pid = parents.get(pid, 0)
    return pid in roots


def _dropped_something(answer: bytes) -> bool:
    """Tell whether an answer of a context call or a search says that a strategy was left out."""
    body = orjson.loads(answer)
    outcomes = body.get("strategies", {})
    return bool(body.get("dropped_strategies")) or any(word.startswith("dropped") for word in outcomes.values())


def run(
    port: int, path: str, key: str, bodies: Sequence[dict[str, Any]], *, clients: int, requests: int
) -> dict[str, Any]:
    """Send ``requests`` calls from ``clients`` threads, each sending the next when it has read its answer.

    Every question is a new text. ``degraded`` counts the answers that say that something was dropped.
    """
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    lock = threading.Lock()
    left = iter(range(requests))
    milliseconds: list[float] = []
    statuses: Counter[int] = Counter()
    degraded = 0

    def client() -> None:
        nonlocal degraded
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            with lock:
                number = next(left, None)
            if number is None:
                break
            body = bodies[number % len(bodies)]
            sent = json.dumps({**body, "query": f"{body['query']} #{next(_asked)}"})
            began = time.perf_counter()
            connection.request("POST", path, sent, headers)
            response = connection.getresponse()
            answer = response.read()
            took = (time.perf_counter() - began) * 1000
            with lock:
                milliseconds.append(took)
                statuses[response.status] += 1
                degraded += _dropped_something(answer)
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall = time.perf_counter() - began
    cut = statistics.quantiles(milliseconds, n=100, method="inclusive")
    return {
        "clients": clients,
        "requests": requests,
        "statuses": dict(statuses),
        "degraded": degraded,
        "p50_ms": round(cut[49], 2),
        "p95_ms": round(cut[94], 2),
        "p99_ms": round(cut[98], 2),
        "rps": round(requests / wall, 1),
    }
