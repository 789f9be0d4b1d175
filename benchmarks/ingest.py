"""What taking things in costs: capture over HTTP, then extraction and consolidation with the local rules.

    python -m benchmarks.ingest [--facts 100000] [--messages 300] [--export DIRECTORY] [--json OUT]

Runs on an empty store and on one that holds ``--facts`` facts already, each in a database of its own, made for the
purpose and thrown away. For capture: milliseconds at the 50th and 95th percentile and messages a second, one and
``--batch`` messages a request, one and eight clients. For consolidation: milliseconds and CPU a message of one worker,
and of that CPU how much is the database's. CPU is the steadier figure; the aims are in ``benchmarks/README.md``. With
``--export`` (or ``MEMORY_SLACK_EXPORT``) a Slack export is imported and extracted from end to end as well.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import corpora, web_load

if TYPE_CHECKING:
    from facts.models import Account

#: What people say, with a number that makes every message new: two in five state a fact, as in a lively channel.
SAID = (
    "I live in Town{n}.",
    "Thanks, that helps a lot!",
    "Could somebody look at build {n}?",
    "I will send the report number {n} to Ana on Friday.",
    "The meeting went well, see you at {n}.",
)
#: Persons who speak, and scopes in which they do: a line of the queue is a person in a scope.
PERSONS, SCOPES = 50, 5
#: Facts of one person that the full store holds, as many as each has who was listened to for years.
FACTS_A_PERSON = 200
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both stores and print or write the figures as JSON."""
    options = _options(arguments)
    results: dict[str, Any] = {}
    for name, facts in (("empty", 0), ("full", options.facts)):
        results[name] = _apart(_measure, facts, options)
    results["ratio"] = _ratios(results["empty"]["consolidation"], results["full"]["consolidation"])
    if options.export is not None and Path(options.export).exists():
        results["slack_export"] = _apart(_measure_export, Path(options.export), options.limit)
    else:
        print("No Slack export: not imported.", file=sys.stderr)
    report = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpus": os.cpu_count(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "results": results,
    }
    text = json.dumps(report, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=100_000, help="facts that the full store holds")
    parser.add_argument("--messages", type=int, default=300, help="messages that are consolidated")
    parser.add_argument("--requests", type=int, default=200, help="requests for each way of capturing")
    parser.add_argument("--batch", type=int, default=50, help="messages of one request in batches")
    parser.add_argument("--port", type=int, default=8791)
    parser.add_argument("--export", type=Path, default=os.environ.get("MEMORY_SLACK_EXPORT"))
    parser.add_argument("--limit", type=int, help="most messages that are imported of the export")
    parser.add_argument("--json", type=Path)
    return parser.parse_args(arguments)


def _apart(work: Any, *arguments: Any) -> Any:
    """Run a measurement in a process of its own: Django is set up for one database in each."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


@contextmanager
def _database() -> Iterator[None]:
    """Have Django work on a database of its own for a while."""
    directory = Path(tempfile.mkdtemp(prefix="ingest-benchmark-"))
    # The embedded server may run as another user, who has to reach its files.
    directory.chmod(0o755)
    corpora.use_directory(directory)
    from django.db import connections

    from memory_site.database import base

    try:
        yield
    finally:
        connections.close_all()
        base.server().release()
        shutil.rmtree(directory, ignore_errors=True)


def _measure(facts: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one store: consolidation first, then capture over HTTP."""
    with _database():
        from facts import tenancy

        account = tenancy.create_account(key="bench", name="Benchmark")
        began = time.perf_counter()
        _fill(account, facts)
        loaded = time.perf_counter() - began
        print(f"{facts} facts: loaded in {loaded:.0f} s", file=sys.stderr, flush=True)
        consolidation = _consolidate(account, options.messages)
        print(f"{facts} facts: {json.dumps(consolidation)}", file=sys.stderr, flush=True)
        return {
            "facts": facts,
            "loaded_seconds": round(loaded, 1),
            "consolidation": consolidation,
            "capture": _capture(account, options),
        }


def _fill(account: Account, facts: int) -> None:
    """Write the facts of a store: :data:`FACTS_A_PERSON` for each person in each scope, those who speak among them.

    Those of one are written, with vectors near to nothing that is said; the others are copies made inside the database,
    of other subjects in other scopes.
    """
    from facts.tenancy import account_transaction, ensure_scope, ensure_subject

    if not facts:
        return
    with account_transaction(account.id):
        scopes = [ensure_scope(account.id, f"/scope{number}") for number in range(SCOPES)]
        persons = [
            ensure_subject(account.id, key=f"person{number}", name=f"Person{number}")
            for number in range(max(1, facts // FACTS_A_PERSON // SCOPES))
        ]
        at = [BEGAN - timedelta(days=n) for n in range(FACTS_A_PERSON)]
        turns = [corpora.Said(key=str(n), speaker="", text=f"I noted thing {n}.", at=at[n]) for n in range(len(at))]
        known = [
            corpora.Known(
                statement=f"The user noted thing {n}.",
                at=at[n],
                predicate=f"noted_{n}",
                value={"value": str(n)},
                sources=(str(n),),
            )
            for n in range(len(at))
        ]
        events = corpora.say(account, scopes[0], persons[0], turns, searchable=False)
        _write_vectors(account, corpora.know(account, scopes[0], persons[0], known, events=events))
    for person in persons:
        for scope in scopes:
            if (scope, person) != (scopes[0], persons[0]):
                corpora.copy_facts(account.id, source=scopes[0].id, target=scope.id, about=(persons[0].id, person.id))
    corpora.settle()


def _write_vectors(account: Account, facts: Sequence[Any]) -> None:
    """Give facts vectors that are near to nothing that is said: spread by a fixed rule, not embedded."""
    import numpy as np

    from facts import embedding, index
    from facts.embedding import Embedded

    provider = embedding.writing()
    if provider is None:
        return
    spread = np.random.default_rng(len(facts)).normal(size=(len(facts), provider.identity.dimensions))
    spread /= np.linalg.norm(spread, axis=1, keepdims=True)
    rows = [(fact.id, Embedded(provider.identity, vector)) for fact, vector in zip(facts, spread, strict=True)]
    index.write_fact_vectors(account.id, vectors=rows)


def _events(first: int, count: int) -> list[dict[str, Any]]:
    """Return so many events, all new, from the number ``first`` on."""
    return [
        {
            "project_id": f"scope{number % SCOPES}",
            "subject_id": f"person{number // SCOPES % PERSONS}",
            "subject_name": f"Person{number // SCOPES % PERSONS}",
            "text": SAID[number // 3 % len(SAID)].format(n=number),
            "occurred_at": (BEGAN + timedelta(seconds=number)).isoformat(),
        }
        for number in range(first, first + count)
    ]


def _consolidate(account: Account, messages: int) -> dict[str, Any]:
    """Capture messages in this process and process them, one worker; the first tenth warms up."""
    from facts.clock import now
    from ingest import processing
    from ingest.capture import capture
    from ingest.line import Part
    from ingest.observations import read_batch
    from tests.factories import key_principal

    observations, _ = read_batch({"events": _events(0, messages)}, at=now())
    capture(key_principal(account), observations)
    part = Part(account_id=account.id)
    for _ in range(messages // 10):
        processing.process_front(part)
    server, own, began = _server_cpu(), _own_cpu(), time.perf_counter()
    done = 0
    while processing.process_front(part):
        done += 1
    wall, own, server = time.perf_counter() - began, _own_cpu() - own, _server_cpu() - server
    return {
        "messages": done,
        "messages_a_second": round(done / wall, 1),
        "ms_a_message": round(wall / done * 1000, 1),
        "cpu_ms_a_message": round((own + server) / done * 1000, 1),
        "of_which_database": round(server / done * 1000, 1),
        "results": _results(account),
    }


def _results(account: Account) -> dict[str, int]:
    from django.db.models import Count

    from facts.tenancy import account_transaction
    from ingest.models import EventOutcome

    with account_transaction(account.id):
        rows = EventOutcome.objects.values_list("result").annotate(count=Count("id")).order_by("result")
        return dict(rows)


def _capture(account: Account, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Capture over HTTP, one message and ``options.batch`` messages a request, with one and with eight clients."""
    from facts.actors import system
    from facts.tenancy import account_transaction
    from governance import access, keys

    with account_transaction(account.id):
        _, key = keys.create_key(
            account_id=account.id, label="benchmark", rights=access.APP_RIGHTS, actor=system("benchmark")
        )
    measured, first = [], 1_000_000
    with web_load.Server(options.port) as server:
        for size in (1, options.batch):
            requests = options.requests if size == 1 else max(16, options.requests // 4)
            for clients in (1, 8):
                bodies = [{"events": _events(first + size * n, size), "query": ""} for n in range(requests + 8)]
                first += size * len(bodies)
                web_load.run(options.port, "/v1/capture", key, bodies[requests:], clients=1, requests=8)
                used = server.cpu_seconds()
                figures = web_load.run(
                    options.port, "/v1/capture", key, bodies[:requests], clients=clients, requests=requests
                )
                used = server.cpu_seconds() - used
                measured.append(
                    {
                        "messages_a_request": size,
                        **{name: value for name, value in figures.items() if name != "degraded"},
                        "messages_a_second": round(figures["rps"] * size, 1),
                        "cpu_ms_a_message": round(used / requests / size * 1000, 2),
                    }
                )
    return measured


def _measure_export(export: Path, limit: int | None) -> dict[str, Any]:
    """Import an export and read it, as ``benchmarks.slack_export`` does."""
    from benchmarks import slack_export

    with _database():
        return slack_export.measure(export, limit=limit, facts=None)


def _ratios(empty: dict[str, Any], full: dict[str, Any]) -> dict[str, float]:
    """Return what a message costs in the full store, in terms of the empty one."""
    return {name: round(full[name] / empty[name], 2) for name in ("ms_a_message", "cpu_ms_a_message")}


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _server_cpu() -> float:
    """Return the CPU seconds that the session of this process has used in the database server (Linux)."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / web_load.TICKS


if __name__ == "__main__":
    sys.exit(main())
