"""`export_account`: write an account's events and facts to a file that `import_events` reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts import long_jobs
from facts.actors import system
from facts.models import Account
from facts.progress_teller import Teller
from ingest.imports import exporting

#: Kind of long work (``facts.long_jobs``).
EXPORT = "export_account"


class Command(BaseCommand):
    """Writes one JSON object a line: events first, then facts with what they rest on."""

    help = (
        "Write what an account remembers to a file: its events, and its facts with their evidence, without what is"
        " shown to nobody any more. The file holds what people said: it is made readable for its owner alone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer what is written, and where to."""
        parser.add_argument("path", type=Path, help="The file, which must not be there yet.")
        parser.add_argument("--account", required=True, help="Key of the account.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write and say how much."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        try:
            descriptor = os.open(options["path"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"{options['path']}: {error.strerror}") from error
        teller = Teller(self.stdout)
        try:
            with (
                os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogatepass") as out,
                long_jobs.working(
                    account.id, kind=EXPORT, total=exporting.count(account.id), actor=system(EXPORT)
                ) as run,
            ):

                def note(done: int) -> None:
                    run.advance(done)
                    teller.tell(run.job)

                counts = exporting.export(account.id, out, note=note)
        except long_jobs.CancelAsked:
            options["path"].unlink()
            raise CommandError("Cancelled; nothing was written.") from None
        teller.end()
        self.stdout.write(f"{counts[exporting.EVENT]} events and {counts[exporting.FACT]} facts in {options['path']}")
