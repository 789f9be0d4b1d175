"""What a context call costs over HTTP: latency, throughput and CPU.

    python -m benchmarks.context_latency --corpus corpus.jsonl.gz --queries queries.jsonl [--with-turns]

Loads the facts of a corpus into one scope and subject of a throw-away database (``--with-turns``: and the
turns they came from as searchable passages), starts the web server as ``make run`` does, and sends context
calls in a closed loop, every question a new text. Prints one JSON object for each number of clients:
milliseconds at the 50th, 95th and 99th percentile, calls a second, and the CPU that web server and database
used for a call.

A corpus line has ``text``, ``predicate``, ``object``, ``valid_from``, ``utterance`` and ``id``; a query
line ``query``. Where the files are can also be said by ``MEMORY_BENCH_CORPUS`` and
``MEMORY_BENCH_QUERIES``; without them nothing is measured. ``--directory`` keeps the loaded database for
the next run, ``--serve`` only starts the server.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks import corpora

ACCOUNT = "bench"
#: Seconds until the server has to answer.
PATIENCE = 60
TICKS = os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] | None = None) -> int:
    """Load, serve, measure; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, default=os.environ.get("MEMORY_BENCH_CORPUS"))
    parser.add_argument("--queries", type=Path, default=os.environ.get("MEMORY_BENCH_QUERIES"))
    parser.add_argument("--with-turns", action="store_true")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--warmup", type=int, default=60)
    parser.add_argument("--budget", type=int, default=900)
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--vectors", type=Path, help="file (.npz) that keeps vectors between runs")
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args(arguments)
    for path in (options.corpus, options.queries):
        if path is None or not Path(path).exists():
            print("No corpus or no queries: nothing measured.", file=sys.stderr)
            return 0
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as temporary:
        directory = (options.directory or Path(temporary)).resolve()
        # The embedded server may run as another user, who has to reach its files.
        directory.mkdir(parents=True, exist_ok=True)
        Path(temporary).chmod(0o755)
        corpora.use_directory(directory)
        key = load(Path(options.corpus), with_turns=options.with_turns, vectors=options.vectors)
        with Server(options.port) as server:
            if options.serve:
                print(f"http://127.0.0.1:{options.port}/v1/context  Authorization: Bearer {key}", flush=True)
                signal.pause()
            lines = Path(options.queries).read_text(encoding="utf-8").splitlines()
            questions = [json.loads(line)["query"] for line in lines]
            bodies = _bodies(questions, options.budget)
            _run(options.port, key, bodies, clients=2, requests=options.warmup)
            for clients in options.clients:
                before = server.cpu_seconds()
                result = _run(options.port, key, bodies, clients=clients, requests=options.requests)
                used = server.cpu_seconds() - before
                result["cpu_ms_per_request"] = round(used * 1000 / options.requests, 2)
                print(json.dumps({"with_turns": options.with_turns, "budget": options.budget, **result}), flush=True)
    return 0


def load(corpus: Path, *, with_turns: bool, vectors: Path | None) -> str:
    """Write the corpus where it is not there yet; return a new key for it."""
    from facts.actors import system
    from facts.models import Account
    from facts.tenancy import account_transaction, create_account, ensure_scope, ensure_subject
    from governance import access, keys
    from retrieval import common_lexemes

    account = Account.objects.filter(key=ACCOUNT).first()
    if account is None:
        account = create_account(key=ACCOUNT, name="Benchmark")
        with gzip.open(corpus, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        turns = [
            corpora.Said(key=row["id"], speaker="", text=row["utterance"], at=datetime.fromisoformat(row["valid_from"]))
            for row in rows
        ]
        known = [
            corpora.Known(
                statement=row["text"],
                at=datetime.fromisoformat(row["valid_from"]),
                predicate=row["predicate"],
                value={"value": row["object"]},
                sources=(row["id"],),
            )
            for row in rows
        ]
        with account_transaction(account.id):
            scope = ensure_scope(account.id, f"/{ACCOUNT}")
            subject = ensure_subject(account.id, key=ACCOUNT)
            events = corpora.say(account, scope, subject, turns, searchable=with_turns)
            corpora.know(account, scope, subject, known, events=events)
            corpora.embed_everything(account.id, cache=vectors)
        corpora.settle()
        common_lexemes.refresh_all()
    with account_transaction(account.id):
        _, raw = keys.create_key(
            account_id=account.id, label="benchmark", rights=access.APP_RIGHTS, actor=system("benchmark")
        )
    return raw


class Server:
    """The web server as ``make run`` starts it, for as long as the context lasts."""

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


def _bodies(questions: Sequence[str], budget: int) -> list[dict[str, Any]]:
    call = {"project_id": ACCOUNT, "subject_id": ACCOUNT, "purpose": "benchmark", "budget_tokens": budget}
    return [{**call, "query": question} for question in questions]


_asked = iter(range(10**9))


def _run(port: int, key: str, bodies: Sequence[dict[str, Any]], *, clients: int, requests: int) -> dict[str, Any]:
    """Send ``requests`` calls from ``clients`` threads, each sending the next when it has read its answer."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    lock = threading.Lock()
    left = iter(range(requests))
    milliseconds: list[float] = []
    statuses: dict[int, int] = {}

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            with lock:
                number = next(left, None)
                unique = next(_asked)
            if number is None:
                break
            body = bodies[number % len(bodies)]
            sent = json.dumps({**body, "query": f"{body['query']} #{unique}"})
            began = time.perf_counter()
            connection.request("POST", "/v1/context", sent, headers)
            response = connection.getresponse()
            response.read()
            took = (time.perf_counter() - began) * 1000
            with lock:
                milliseconds.append(took)
                statuses[response.status] = statuses.get(response.status, 0) + 1
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
        "statuses": statuses,
        "p50_ms": round(cut[49], 2),
        "p95_ms": round(cut[94], 2),
        "p99_ms": round(cut[98], 2),
        "rps": round(requests / wall, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
