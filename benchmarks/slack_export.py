"""Import a Slack export end to end, in a database of its own: what is captured, what is extracted, and how fast.

    python -m benchmarks.slack_export --export DIRECTORY [--facts FILE] [--limit N]

``--export`` may be left out when ``MEMORY_SLACK_EXPORT`` names it. ``--facts`` writes every fact with the message that
it was read from, to be read by somebody: whether they are right is nothing that a script can tell.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.corpora import use_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from facts.models import Account


def main() -> None:
    """Run the benchmark; without an export it says so and does nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--export", type=Path, default=os.environ.get("MEMORY_SLACK_EXPORT"))
    parser.add_argument("--facts", type=Path)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    if options.export is None or not Path(options.export).exists():
        sys.exit("No export: name one by --export or MEMORY_SLACK_EXPORT.")
    with tempfile.TemporaryDirectory() as directory:
        use_directory(Path(directory))
        try:
            print(json.dumps(measure(Path(options.export), limit=options.limit, facts=options.facts), indent=2))
        finally:
            _stop()


def measure(export: Path, *, limit: int | None, facts: Path | None) -> dict[str, Any]:
    """Import, extract and count; times in seconds of this process."""
    from facts import tenancy
    from facts.tenancy import account_transaction
    from ingest import processing
    from ingest.line import Part
    from ingest.slack.importing import Options, import_export
    from ingest.slack.summary import extraction_of

    account = tenancy.create_account(key="export", name="Export")
    began = time.perf_counter()
    imported = import_export(account.id, export, Options(limit=limit))
    captured = time.perf_counter()
    again = import_export(account.id, export, Options(limit=limit))
    repeated = time.perf_counter()
    processor = time.process_time()
    pending = imported.messages
    while pending:
        pending = processing.drain(Part(account_id=account.id), seconds=10).pending
        print(f"{pending} left after {time.perf_counter() - repeated:.0f} s", file=sys.stderr)
    done = time.perf_counter()
    with account_transaction(account.id):
        extraction = extraction_of(account.id, imported.run_id)
        if facts is not None:
            facts.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in _facts(account)) + "\n")
    return {
        "messages": imported.messages,
        "captured": dict(imported.counts),
        "imported again": dict(again.counts),
        "capture seconds": round(captured - began, 1),
        "again seconds": round(repeated - captured, 1),
        "extraction seconds": round(done - repeated, 1),
        "extraction processor seconds": round(time.process_time() - processor, 1),
        "messages by outcome": {" ".join(key).strip(): count for key, count in sorted(extraction.events.items())},
        "candidates by outcome": {" ".join(key).strip(): n for key, n in sorted(extraction.candidates.items())},
    }


def _facts(account: Account) -> Iterator[dict[str, Any]]:
    from facts.models import Fact

    for fact in Fact.objects.filter(account_id=account.id).select_related("subject").order_by("id"):
        evidence = fact.evidence.select_related("event__speaker").order_by("id")[0]
        yield {
            "statement": fact.statement,
            "status": fact.status,
            "withheld": fact.withheld,
            "category": fact.category,
            "predicate": fact.predicate,
            "subject": f"{fact.subject.kind}:{fact.subject.key}",
            "speaker": str(evidence.event.speaker),
            "quote": evidence.quote,
            "message": evidence.event.text,
        }


def _stop() -> None:
    from django.db import connections

    from memory_site.database import base

    connections.close_all()
    base.server().release()


if __name__ == "__main__":
    main()
