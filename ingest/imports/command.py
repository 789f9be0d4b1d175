"""What the import commands share: options, the run with its progress, and the report."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts import long_work
from facts.actors import system
from facts.errors import DomainError
from facts.models import Account
from facts.models.long_jobs import LongJobState
from facts.progress_teller import Teller
from facts.tenancy import account_transaction
from ingest.imports import running
from ingest.imports.running import Options
from ingest.models import ImportFault

#: Faults that are written out one by one.
SHOWN_FAULTS = 20


def add_arguments(parser: CommandParser) -> None:
    """Offer what every import can be told."""
    parser.add_argument("path", type=Path, help="The file.")
    parser.add_argument("--account", required=True, help="Key of the account.")
    parser.add_argument(
        "--scope", default=running.DEFAULT_SCOPE, help=f"Scope of records that name none ({running.DEFAULT_SCOPE})."
    )
    parser.add_argument("--subject", default="", help="Key of the person that records are about which name nobody.")
    parser.add_argument("--dry-run", action="store_true", help="Say what would happen and store nothing.")


def run(command: BaseCommand, options: Mapping[str, Any], *, source: str) -> None:
    """Import a file and report; exit code 1 when records could not be taken in, or the work did not come to its end."""
    account = Account.objects.filter(key=options["account"]).first()
    if account is None:
        raise CommandError(f"There is no account '{options['account']}'.")
    wanted = Options(source=source, scope=options["scope"], subject=options["subject"])
    if running.consent_is_automatic(account.id):
        command.stdout.write("This account takes the consent of people for given (consent_mode=auto).")
    try:
        if options["dry_run"]:
            _dry(command, account, options["path"], wanted)
            return
        work = running.begin(account.id, options["path"], wanted, actor=system("manage.py"))
        teller = Teller(command.stdout)
        work = long_work.drive(account.id, work.pk, tell=teller.tell)
        teller.end(work)
    except DomainError as error:
        raise CommandError(f"{options['path']}: {error.message}") from error
    _counts(command, work.counts)
    with account_transaction(account.id):
        found = ImportFault.objects.filter(account_id=account.id, run_id=work.options["run"]).order_by("line")
        faults = [(fault.line, fault.field, fault.code) for fault in found]
    _faults(command, faults)
    if work.state != LongJobState.DONE:
        command.stderr.write(f"{work.state}: {work.error_class}" if work.error_class else str(work.state))
    if faults or work.state != LongJobState.DONE:
        sys.exit(1)


def _dry(command: BaseCommand, account: Account, path: Path, wanted: Options) -> None:
    found = running.examine(account.id, path, wanted)
    command.stdout.write(f"{found.records} records (nothing stored)")
    _counts(command, found.counts)
    _faults(command, [(fault.line, fault.field, fault.code) for fault in found.faults])


def _counts(command: BaseCommand, counts: Mapping[str, int]) -> None:
    for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        command.stdout.write(f"{count:>8}  {name}")


def _faults(command: BaseCommand, faults: list[tuple[int, str, str]]) -> None:
    for line, field, code in faults[:SHOWN_FAULTS]:
        command.stderr.write(f"record {line}: {code}{f' ({field})' if field else ''}")
    if len(faults) > SHOWN_FAULTS:
        command.stderr.write(f"… and {len(faults) - SHOWN_FAULTS} more; the admin's page of imports lists them.")
