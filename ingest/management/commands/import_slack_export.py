"""`import_slack_export`: take a Slack export into an account."""

from __future__ import annotations

import sys
import uuid
from argparse import ArgumentTypeError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts import long_jobs
from facts.actors import system
from facts.errors import DomainError
from facts.models import Account
from facts.progress_teller import Teller
from facts.tenancy import account_transaction
from facts.vocabulary import OriginTrust
from governance.fields import parse_instant
from ingest import line, processing, reasons
from ingest.line import Part
from ingest.slack import importing, summary
from ingest.slack.export import Unreadable
from ingest.slack.importing import Imported, Options
from ingest.slack.messages import SKIPPED

#: Seconds of one turn of processing, between two looks at what is left.
TURN = 2.0
#: Kind of long work (``facts.long_jobs``): reading what waits for facts.
EXTRACT = "extraction"


class Command(BaseCommand):
    """Imports a folder or a ZIP file as Slack exports it; started again, it goes on where it was."""

    help = "Import a Slack export (a folder or a ZIP file) into an account. Started again, it continues."

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer what can be chosen."""
        parser.add_argument("path", type=Path, help="The export: a folder or a ZIP file.")
        parser.add_argument("--account", default="demo", help="Key of the account (demo).")
        parser.add_argument(
            "--scope", default="", help="Path of the scope of all shared channels; without it, /slack/CHANNEL for each."
        )
        parser.add_argument(
            "--channel",
            action="append",
            default=[],
            type=_channel,
            metavar="NAME=/PATH",
            help="Scope of one channel; may be given several times. A channel that is bound to a scope stays there.",
        )
        parser.add_argument("--team", default="", help="Identifier of the workspace, where the export does not say it.")
        parser.add_argument("--since", type=_instant, help="Skip what is older: a day or an ISO 8601 instant.")
        parser.add_argument("--limit", type=_positive, help="Look at so many messages at most.")
        parser.add_argument("--trust", choices=OriginTrust.values, help="How far what people say there is trusted.")
        parser.add_argument("--dry-run", action="store_true", help="Say what would be imported and store nothing.")
        parser.add_argument(
            "--wait", action="store_true", help="Read the messages for facts at once, without a worker, and report."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and report; exit code 1 when something could not be read."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        wanted = Options(
            scope=options["scope"],
            scopes=dict(options["channel"]),
            team=options["team"],
            since=options["since"],
            limit=options["limit"],
            origin_trust=options["trust"],
        )
        try:
            if options["dry_run"]:
                imported = importing.examine(options["path"], wanted)
            else:
                teller = Teller(self.stdout)
                imported = importing.import_export(account.id, options["path"], wanted, watch=teller.tell)
                teller.end()
        except Unreadable as error:
            raise CommandError(f"{options['path']}: {error}") from error
        except DomainError as error:
            raise CommandError(error.message) from error
        except long_jobs.CancelAsked:
            raise CommandError("Cancelled; what was imported stays. Started again, it goes on.") from None
        self._report(imported, dry=options["dry_run"])
        if options["wait"] and not options["dry_run"]:
            self._process(account)
            self._report_facts(account, imported.run_id)
        if imported.faults:
            sys.exit(1)

    def _report(self, imported: Imported, *, dry: bool) -> None:
        """Say what was found, and what became of it."""
        self.stdout.write(f"{imported.messages} messages in {imported.files} files{' (nothing stored)' if dry else ''}")
        for name, count in sorted(imported.counts.items(), key=lambda pair: (-pair[1], pair[0])):
            self.stdout.write(f"{count:>8}  {name:<24}{_meaning(name)}".rstrip())
        for name, path in sorted(imported.scopes.items()):
            self.stdout.write(f"  #{name} -> {path}")
        if imported.direct_files:
            self.stdout.write(f"Direct messages are not imported: {imported.direct_files} files were left out.")
        for name, fault in sorted(imported.faults.items()):
            self.stderr.write(f"not read: {name}: {fault}")

    def _process(self, account: Account) -> None:
        """Read everything that waits in the account for facts."""
        with account_transaction(account.id):
            total = line.pending(Part(account_id=account.id)).count()
        teller, left = Teller(self.stdout), total
        with long_jobs.working(account.id, kind=EXTRACT, total=total, actor=system(EXTRACT)) as run:
            while left:
                drained = processing.drain(Part(account_id=account.id), seconds=TURN)
                run.advance(total - drained.pending if drained.pending < total else 0)
                teller.tell(run.job)
                if not drained.processed and drained.pending == left:
                    self.stderr.write(f"{left} messages pause before another try; the worker goes on with them.")
                    break
                left = drained.pending
        teller.end()

    def _report_facts(self, account: Account, run_id: uuid.UUID | None) -> None:
        """Say what came of the messages."""
        with account_transaction(account.id):
            found = summary.extraction_of(account.id, run_id)
        for title, counts in (("Messages", found.events), ("Possible facts", found.candidates)):
            self.stdout.write(f"{title}:")
            for (result, reason), count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
                self.stdout.write(f"{count:>8}  {result:<10}{reason:<24}{reasons.explain(reason)}".rstrip())


def _meaning(count: str) -> str:
    """Return the sentence that explains a count; "" for what explains itself."""
    return "A notice of Slack's own: nobody said it." if count.startswith("subtype:") else SKIPPED.get(count, "")


def _channel(text: str) -> tuple[str, str]:
    name, separator, path = text.partition("=")
    if not separator or not name.strip("# ") or not path.startswith("/"):
        raise ArgumentTypeError("a channel is given as NAME=/PATH")
    return name.strip("# "), path


def _instant(text: str) -> datetime:
    """Return an instant; of a day its beginning, so that the day is imported."""
    try:
        at = parse_instant(text, field="since").astimezone(UTC)
    except DomainError as error:
        raise ArgumentTypeError(error.message) from error
    return at if "T" in text else at.replace(hour=0, minute=0, second=0, microsecond=0)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError("a number of at least 1")
    return int(text)
