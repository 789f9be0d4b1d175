"""What the pages of the admin cost on a large account: server time, CPU and queries of every list and page.

    python -m benchmarks.admin [--directory DIR] [--json OUT]

The store (:mod:`benchmarks.admin_store`) is loaded into a throw-away database, or into the one that ``--directory``
keeps. Pages are found by looking at the admin site: every list, under every choice of every filter and searched, the
page of a record of each, and every other address that answers to GET. So what is added is measured too.

Each page is asked for several times in this process, as the administrator of the account; the lists and the home page
as a curator of some scopes and as a reader too, and the portal as the reader, of whom much is known. Printed is the
median of milliseconds, those spent in the database, CPU milliseconds of this process and of its database connection
(what a busy machine changes little; only where that runs on this machine under Linux), and the number of queries. A
page over ``--slow`` milliseconds is named at the end, and makes the exit status 1; with ``--by-cpu`` by its CPU.
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

    from benchmarks.admin_store import People
    from facts.models import Membership

#: Pages of a list that are looked at beside the first: where somebody leafs to, and the last there is.
DEEP = 100
#: The portal: what somebody sees of themselves. A download is not a page.
PORTAL = ("/me/", "/me/facts/", "/me/messages/", "/me/reads/", "/me/consents/", "/me/export/", "/me/erase/")
#: Days of the page of figures, beside the days that it shows unless asked.
FIGURES = ("days=7", "days=90", "days=90&scope=/team3", "days=90&purpose=support")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One page. Times are medians, in milliseconds."""

    by: str
    page: str
    status: int
    queries: int
    ms: float
    database_ms: float
    cpu_ms: float
    database_cpu_ms: float | None
    kilobytes: int

    @property
    def name(self) -> str:
        """The page, and by whom it was asked for unless by the administrator."""
        return self.page if self.by == "administrator" else f"{self.page} ({self.by})"

    def cost(self, *, by_cpu: bool) -> float:
        """Return the milliseconds that it took by the clock, or of CPU."""
        return self.cpu_ms + (self.database_cpu_ms or 0) if by_cpu else self.ms


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
        people = admin_store.load(sizes)
        print(f"loaded in {time.perf_counter() - began:.0f} s", file=sys.stderr)
        found = list(_measure(people, options))
    slow = {one.name: one.cost(by_cpu=options.by_cpu) for one in found}
    slow = {name: cost for name, cost in slow.items() if cost > options.slow}
    print(
        f"{len(found)} pages; over the limit: " + (", ".join(f"{name} {ms:.0f}" for name, ms in slow.items()) or "none")
    )
    print("\n".join(table(found)))
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


def table(found: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of a Markdown table: one for each list with all its views, and one for each page of a record.

    Milliseconds: the median of the views and the slowest of them, then the greatest of CPU here and in the database.
    """
    yield "| Page | Views | Queries | Median | Slowest | CPU | Database CPU |"
    yield "|---|---|---|---|---|---|---|"
    kinds: dict[str, list[Measured]] = {}
    for one in found:
        path = re.sub(r"/[0-9a-f-]{36}/", "/…/", one.page.partition("?")[0])
        kinds.setdefault(path.removeprefix("/admin"), []).append(one)
    for path, views in sorted(kinds.items()):
        times = [one.ms for one in views]
        cpu, in_database = max(one.cpu_ms for one in views), max(one.database_cpu_ms or 0 for one in views)
        yield (
            f"| `{path}` | {len(views)} | {max(one.queries for one in views)} | {median(times):.0f}"
            f" | {max(times):.0f} | {cpu:.0f} | {in_database:.0f} |"
        )


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
    parser.add_argument("--by-cpu", action="store_true", help="hold CPU to it, where others use the machine too")
    parser.add_argument("--only", default="", help="a regular expression that addresses have to match")
    parser.add_argument("--json", type=Path, metavar="OUT")
    return parser.parse_args(arguments)


def _measure(people: People, options: argparse.Namespace) -> Iterator[Measured]:
    """Yield the figures of each page, printing them."""
    from django.test import Client

    for by, member in (
        ("administrator", people.administrator),
        ("curator", people.curator),
        ("reader", people.reader),
    ):
        client = Client(SERVER_NAME="localhost", raise_request_exception=False)
        client.force_login(member.user)
        asked = addresses(member, client) if by == "administrator" else others(by, member, client)
        for address in dict.fromkeys(asked):
            if not re.search(options.only, address):
                continue
            measured = _page(client, address, by=by, times=options.times)
            if measured is None:
                continue
            print(
                f"{measured.ms:7.0f} ms {measured.database_ms:7.0f} db {measured.cpu_ms:6.0f} cpu"
                f" {measured.database_cpu_ms or 0:6.0f} db cpu {measured.queries:4} queries "
                f" {measured.status} {measured.name}",
                flush=True,
            )
            yield measured


def _page(client: Client, address: str, *, by: str, times: int) -> Measured | None:
    """Ask for a page once to warm up, then ``times`` times; ``None`` for what is no page: posts, and what is closed."""
    if client.get(address).status_code in {302, 403, 405}:
        return None
    runs = [_once(client, address) for _ in range(times)]
    backend = [run[-1] for run in runs]
    response = runs[-1][0]
    return Measured(
        by=by,
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
    yield from (f"/admin/figures/?{query}" for query in FIGURES)
    for model, page in admin.site._registry.items():
        base = _base(model)
        changelist = _changelist(client, base)
        yield base + "?_all"
        if changelist is not None:
            yield from (base + query for query in _under_filters(changelist))
            yield from _searched(base, page, changelist)
        yield from _pages_of(base, page, member, changelist)
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
    yield "/admin/subjects.json?q=person4"


def others(by: str, member: Membership, client: Client) -> Iterator[str]:
    """Yield what is looked at again as somebody who sees less: home, lists as they come, searched, pages of records."""
    from django.contrib import admin

    from facts.models import Fact
    from facts.tenancy import account_transaction

    yield "/admin/"
    yield from (f"/admin/figures/?{query}" for query in FIGURES)
    for model, page in admin.site._registry.items():
        base = _base(model)
        changelist = _changelist(client, base)
        if changelist is not None:
            yield base + "?_all"
            yield from _deep(base, changelist)
            yield from _searched(base, page, changelist)
            yield from _pages_of(base, page, member, changelist)
    if by == "reader":
        yield from PORTAL
        with account_transaction(member.account_id):
            facts = Fact.objects.filter(account_id=member.account_id, subject_id=member.subject_id)
            yield f"/me/facts/{facts.values_list('pk', flat=True).order_by('-pk')[0]}/"


def _base(model: Any) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def _changelist(client: Client, base: str) -> Any:
    """Return the list behind an address, as it comes; ``None`` where there is another page, or none for this person."""
    response = client.get(base + "?_all")
    return (getattr(response, "context_data", None) or {}).get("cl")


def _deep(base: str, changelist: Any) -> Iterator[str]:
    """Yield the pages of a list further back."""
    last = changelist.paginator.num_pages
    yield from (f"{base}?p={page}" for page in sorted({min(DEEP, last), last}) if page > 1)


def _under_filters(changelist: Any) -> Iterator[str]:
    for spec in changelist.filter_specs:
        for choice in spec.choices(changelist):
            query = choice.get("query_string", "")
            if query and not choice.get("selected"):
                yield query
        if getattr(spec, "parameter", "") == "subject":
            yield "?subject=person42"
            yield "?subject=person1"
            yield "?subject=Person+4"
    yield from _deep("", changelist)
    for number, column in enumerate(changelist.list_display):
        if column in (changelist.sortable_by or ()):
            yield f"?o={number}"
            yield f"?o=-{number}"


def _searched(base: str, page: ModelAdmin, changelist: Any) -> Iterator[str]:
    """Yield the list searched for words that many, few and no facts hold, and for the id of its first row."""
    if page.search_fields:
        first = next(iter(changelist.result_list), None)
        words = [admin_store.FREQUENT, f"{admin_store.FREQUENT} shipping", admin_store.RARE, admin_store.ABSENT]
        for text in (*words, *([str(first.pk)] if first is not None else [])):
            yield f"{base}?{urlencode({'q': text})}"


def _pages_of(base: str, page: ModelAdmin, member: Membership, changelist: Any) -> Iterator[str]:
    """Yield the pages of the first record of a list, and the model's pages that belong to no record."""
    from facts.tenancy import account_transaction

    with account_transaction(member.account_id):
        first = next(iter(changelist.result_list), None) if changelist is not None else None
    for pattern in page.get_urls():
        route = str(pattern.pattern)
        names = set(pattern.pattern.converters)
        if not names and route and "(" not in route and route != "add/":
            yield base + route
        elif names and names <= {"pk", "object_id"} and first is not None and not re.search("delete|history", route):
            yield base + re.sub(r"<[^>]*>", str(first.pk), route)


if __name__ == "__main__":
    sys.exit(main())
