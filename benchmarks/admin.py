"""What the pages of the admin cost on a large account: server time, CPU and queries of every list and page.

    python -m benchmarks.admin [--directory DIR] [--json OUT]

The store (:mod:`benchmarks.admin_store`) is loaded into a throw-away database, or into the one that ``--directory``
keeps. Pages are found by looking at the admin site: every list, under every choice of every filter and searched, the
page of a record of each, and every other address that answers to GET. So what is added is measured too.

Each page is asked for several times in this process, as the administrator of the account; printed is the median of
milliseconds, those spent in the database, CPU milliseconds of this process and of its database connection (what a busy
machine does not change; only where that runs on this machine under Linux), and the number of queries. A page over
``--slow`` milliseconds is named at the end, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from benchmarks import admin_store, corpora

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin
    from django.test import Client

    from facts.models import Membership

#: A word that many facts of the store hold, as somebody would look for it.
WORD = "coffee"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One page. Times are medians, in milliseconds."""

    page: str
    status: int
    queries: int
    ms: float
    database_ms: float
    cpu_ms: float
    database_cpu_ms: float | None
    kilobytes: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Load the store where it is not there, and measure every page; return the exit status."""
    options = _options(arguments)
    sizes = admin_store.Sizes(
        facts=options.facts,
        events=options.events,
        traces=options.traces,
        reviews=options.reviews,
        records=options.records,
    )
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as temporary:
        directory = (options.directory or Path(temporary)).resolve()
        # The embedded server may run as another user, who has to reach its files.
        directory.mkdir(parents=True, exist_ok=True)
        Path(temporary).chmod(0o755)
        corpora.use_directory(directory)
        began = time.perf_counter()
        member = admin_store.load(sizes)
        print(f"loaded in {time.perf_counter() - began:.0f} s", file=sys.stderr)
        found = list(_measure(member, options))
    slow = [one for one in found if one.ms > options.slow]
    print("over the limit: " + (", ".join(f"{one.page} {one.ms:.0f}" for one in slow) or "none"))
    if options.json:
        about = {
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": {"processors": os.cpu_count(), "system": platform.platform()},
            "command": f"python -m benchmarks.admin {' '.join(arguments or sys.argv[1:])}",
            "store": asdict(sizes),
            "pages": [asdict(one) for one in found],
        }
        options.json.write_text(json.dumps(about, indent=2) + "\n")
    return 1 if slow else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, help="keeps the loaded database for the next run")
    parser.add_argument("--facts", type=int, default=500_000)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--reviews", type=int, default=10_000)
    parser.add_argument("--records", type=int, default=200_000, help="jobs, entries of the audit chain, and the like")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--slow", type=float, default=200.0, help="milliseconds that no page may take longer than")
    parser.add_argument("--only", default="", help="a regular expression that addresses have to match")
    parser.add_argument("--json", type=Path, metavar="OUT")
    return parser.parse_args(arguments)


def _measure(member: Membership, options: argparse.Namespace) -> Iterator[Measured]:
    """Yield the figures of each page, printing them."""
    from django.test import Client

    client = Client(SERVER_NAME="localhost", raise_request_exception=False)
    client.force_login(member.user)
    for address in addresses(member, client):
        if not re.search(options.only, address):
            continue
        measured = _page(client, address, times=options.times)
        if measured is None:
            continue
        print(
            f"{measured.ms:7.0f} ms {measured.database_ms:7.0f} db {measured.cpu_ms:6.0f} cpu"
            f" {measured.database_cpu_ms or 0:6.0f} db cpu {measured.queries:4} queries "
            f" {measured.status} {measured.page}",
            flush=True,
        )
        yield measured


def _page(client: Client, address: str, *, times: int) -> Measured | None:
    """Ask for a page once to warm up, then ``times`` times; ``None`` for what only takes posts."""
    if client.get(address).status_code == 405:
        return None
    runs = [_once(client, address) for _ in range(times)]
    backend = [run[-1] for run in runs]
    response = runs[-1][0]
    return Measured(
        page=address,
        status=response.status_code,
        queries=runs[-1][1].count,
        ms=round(median(wall for _, _, wall, _, _ in runs), 1),
        database_ms=round(median(counted.seconds for _, counted, *_ in runs) * 1000, 1),
        cpu_ms=round(median(cpu for *_, cpu, _ in runs), 1),
        database_cpu_ms=None if None in backend else round(median(backend), 1),
        kilobytes=0 if response.streaming else len(response.content) // 1024,
    )


class _Counted:
    """Counts the statements of a page and how long they take."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        self.count += 1
        began = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            self.seconds += time.perf_counter() - began


def _once(client: Client, address: str) -> tuple[Any, _Counted, float, float, float | None]:
    """Ask for a page; return the answer, its statements, and its milliseconds: passed, of CPU here and in the store."""
    from django.db import connection

    counted = _Counted()
    process = _backend()
    wall, cpu, backend = time.perf_counter(), time.process_time(), _cpu_of(process)
    with connection.execute_wrapper(counted):
        response = client.get(address)
    passed, used, after = time.perf_counter() - wall, time.process_time() - cpu, _cpu_of(process)
    in_store = None if backend is None or after is None else after - backend
    return response, counted, passed * 1000, used * 1000, in_store


def _backend() -> int:
    """Return the process that serves this connection."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def _cpu_of(process: int) -> float | None:
    """Return the CPU milliseconds of a process of this machine, ``None`` where the system does not say."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1_000_000
    except (OSError, ValueError):
        return None


def addresses(member: Membership, client: Client) -> Iterator[str]:
    """Yield the address of everything in the admin that can be looked at, each list with each choice of its filters."""
    from django.contrib import admin

    yield "/admin/"
    for model, page in admin.site._registry.items():
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        response = client.get(base + "?_all")
        changelist = (response.context_data or {}).get("cl") if hasattr(response, "context_data") else None
        yield base + "?_all"
        if changelist is not None:
            yield from (base + query for query in _under_filters(changelist))
            yield from _searched(base, page, changelist)
        yield from _pages_of(model, page, member, changelist)
    for pattern in admin.site.get_urls():
        converters = getattr(getattr(pattern, "pattern", None), "converters", {})
        route = str(getattr(pattern, "pattern", ""))
        if (
            hasattr(pattern, "callback")
            and not converters
            and route not in {"", "logout/", "jsi18n/"}
            and "(" not in route
        ):
            yield f"/admin/{route}"


def _under_filters(changelist: Any) -> Iterator[str]:
    for spec in changelist.filter_specs:
        for choice in spec.choices(changelist):
            query = choice.get("query_string", "")
            if query and not choice.get("selected"):
                yield query
        if getattr(spec, "parameter", "") == "subject":
            yield "?subject=person42"
            yield "?subject=Person+4"
    if changelist.multi_page:
        yield f"?p={min(changelist.paginator.num_pages, 200)}"


def _searched(base: str, page: ModelAdmin, changelist: Any) -> Iterator[str]:
    """Yield the list searched for a word, for the id of its first row, and for what nothing holds."""
    if page.search_fields:
        first = next(iter(changelist.result_list), None)
        for text in (WORD, f"{WORD} shipping", "quagmire", *([str(first.pk)] if first is not None else [])):
            yield f"{base}?{urlencode({'q': text})}"


def _pages_of(model: Any, page: ModelAdmin, member: Membership, changelist: Any) -> Iterator[str]:
    """Yield the pages of the first record of a list, and the model's pages that belong to no record."""
    from facts.tenancy import account_transaction

    with account_transaction(member.account_id):
        first = next(iter(changelist.result_list), None) if changelist is not None else None
    base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    for pattern in page.get_urls():
        route = str(pattern.pattern)
        names = set(pattern.pattern.converters)
        if not names and route and "(" not in route and route != "add/":
            yield base + route
        elif names and names <= {"pk", "object_id"} and first is not None and not re.search("delete|history", route):
            yield base + re.sub(r"<[^>]*>", str(first.pk), route)


if __name__ == "__main__":
    sys.exit(main())
