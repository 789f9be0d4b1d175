"""What reads cost over HTTP: latency, throughput and CPU of context calls and searches, on stores of several sizes.

    python -m benchmarks.context_latency --corpus corpus.jsonl.gz --queries queries.jsonl [--store NAME ...]

Each store is loaded into a throw-away database; the web server is started as ``make run`` does; calls are sent in a
closed loop, every question a new text. Printed, for each store, call and number of clients: milliseconds at the 50th,
95th and 99th percentile, calls a second, the CPU that web server and database used for a call, and how many answers
said that something was dropped.

Stores: ``turns`` (the facts of the corpus with the turns they came from; the default), ``facts`` (without), ``large``
(one scope of ``--large-corpus``, measured by the exact search, then through indexes of its own), ``many``
(``--many-facts`` facts in scopes of a thousand) and, beside it, ``alone`` (one of those scopes in a store of its own).
With ``--recall`` the recall of the search by vector is measured as well.

A corpus line has ``text``, ``predicate``, ``object``, ``valid_from``, ``utterance`` and ``id``; a query line ``query``.
Where the files are can also be said by ``MEMORY_BENCH_CORPUS`` and ``MEMORY_BENCH_QUERIES``; without them nothing is
measured. ``--directory`` keeps the loaded databases for the next run, ``--serve`` only starts the server.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import corpora, latency_stores, web_load
from benchmarks.latency_stores import ACCOUNT, STORES, Store

#: The calls that are measured: path and what is sent beside the question.
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "context": ("/v1/context", {}),
    "search-balanced": ("/v1/search", {"profile": "balanced"}),
    "search-thorough": ("/v1/search", {"profile": "thorough"}),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each store in a process of its own; return the exit status."""
    options = _options(arguments)
    corpus = options.large_corpus if options.store == ["large"] else options.corpus
    for path in (corpus, options.queries):
        if path is None or not Path(path).exists():
            print("No corpus or no queries: nothing measured.", file=sys.stderr)
            return 0
    results = []
    if len(options.store) == 1:
        results = list(_measure(options.store[0], Path(corpus), options))
    else:
        for name in options.store:
            results += _in_own_process(name, arguments if arguments is not None else sys.argv[1:])
    results += _compared(results)
    if options.json:
        options.json.write_text(json.dumps({**_where(arguments), "results": results}, indent=2) + "\n")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, default=os.environ.get("MEMORY_BENCH_CORPUS"))
    parser.add_argument("--large-corpus", type=Path, default=os.environ.get("MEMORY_BENCH_LARGE_CORPUS"))
    parser.add_argument("--queries", type=Path, default=os.environ.get("MEMORY_BENCH_QUERIES"))
    parser.add_argument("--store", nargs="+", choices=STORES, default=["turns"])
    parser.add_argument("--calls", nargs="+", choices=CALLS, default=["context"])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--facts", type=int, default=10_000, help="most facts of the stores of one scope")
    parser.add_argument("--large-facts", type=int, default=100_000)
    parser.add_argument("--many-facts", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--warmup", type=int, default=60)
    parser.add_argument("--budget", type=int, default=900)
    parser.add_argument("--recall", action="store_true")
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--vectors", type=Path, help="file (.npz) that keeps vectors between runs")
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--serve", action="store_true")
    return parser.parse_args(arguments)


def _in_own_process(name: str, arguments: Sequence[str]) -> list[dict[str, Any]]:
    """Measure one store in a process of its own, because a process has one database; return its results."""
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as temporary:
        out = Path(temporary) / "results.json"
        command = [sys.executable, "-m", "benchmarks.context_latency", *arguments, "--store", name, "--json", str(out)]
        subprocess.run(command, check=True)
        return json.loads(out.read_text())["results"]


def _measure(name: str, corpus: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Load a store and yield what was measured on it, printing each result."""
    facts = {"large": options.large_facts, "many": options.many_facts}.get(name, options.facts)
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as temporary:
        directory = (options.directory / name if options.directory else Path(temporary)).resolve()
        # The embedded server may run as another user, who has to reach its files.
        directory.mkdir(parents=True, exist_ok=True)
        Path(temporary).chmod(0o755)
        corpora.use_directory(directory)
        began = time.perf_counter()
        store = latency_stores.load(name, corpus, facts=facts, vectors=options.vectors)
        print(f"{name}: loaded in {time.perf_counter() - began:.0f} s", file=sys.stderr)
        lines = Path(options.queries).read_text(encoding="utf-8").splitlines()
        questions = [json.loads(line)["query"] for line in lines]
        for path in ("exact", "large scope") if name == "large" else ("exact",):
            if name == "large":
                _index(store, drop=path == "exact")
            for result in _of_path(name, path, store, questions, options):
                print(json.dumps(result), flush=True)
                yield result


def _of_path(
    name: str, path: str, store: Store, questions: Sequence[str], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Yield what each call costs on the loaded store, from each number of clients; then the recall."""
    said = {"store": name, "path": path}
    with web_load.Server(options.port) as server:
        if options.serve:
            print(f"http://127.0.0.1:{options.port}/v1/  Authorization: Bearer {store.key}", flush=True)
            signal.pause()
        for call in options.calls:
            url, fields = CALLS[call]
            bodies = [_body(question, call, fields, options.budget) for question in questions]
            web_load.run(options.port, url, store.key, bodies, clients=2, requests=options.warmup)
            for clients in options.clients:
                before = server.cpu_seconds()
                result = web_load.run(options.port, url, store.key, bodies, clients=clients, requests=options.requests)
                used = (server.cpu_seconds() - before) * 1000 / options.requests
                yield {**said, "call": call, **result, "cpu_ms_per_request": round(used, 2)}
    if options.recall:
        from benchmarks import vector_recall

        yield {**said, "recall": vector_recall.measure(store, questions, large=path == "large scope")}


def _body(question: str, call: str, fields: dict[str, Any], budget: int) -> dict[str, Any]:
    body = {"project_id": ACCOUNT, "subject_id": ACCOUNT, "purpose": "benchmark", "query": question, **fields}
    return {**body, "budget_tokens": budget} if call == "context" else body


def _index(store: Store, *, drop: bool) -> None:
    """Give the scope indexes of its own, or take away those of an earlier run, as an operator would."""
    from django.core.management import call_command

    call_command("index_large_scope", account=store.account.key, scope=store.scope.path, drop=drop, stdout=sys.stderr)


def _compared(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, for each call, how much dearer one scope is among many than alone (CPU and p50, as factors)."""
    by_name = {(result["store"], result["call"], result["clients"]): result for result in results if "call" in result}
    found = []
    for (name, call, clients), result in by_name.items():
        alone = by_name.get(("alone", call, clients))
        if name == "many" and alone:
            factors = {key: round(result[key] / alone[key], 2) for key in ("p50_ms", "cpu_ms_per_request")}
            found.append({"store": "many / alone", "of": call, "clients": clients, **factors})
    for line in found:
        print(json.dumps(line), flush=True)
    return found


def _where(arguments: Sequence[str] | None) -> dict[str, Any]:
    """Return what a figure is worth nothing without: when, on what, and by which command it was measured."""
    from retrieval.profiles.shipped import CONTEXT, RANKER_VERSION

    given = sys.argv[1:] if arguments is None else list(arguments)
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"processors": os.cpu_count(), "processor": _processor(), "system": platform.platform()},
        "command": f"python -m benchmarks.context_latency {' '.join(given)}",
        "profile": CONTEXT.label,
        "ranker": RANKER_VERSION,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


if __name__ == "__main__":
    sys.exit(main())
