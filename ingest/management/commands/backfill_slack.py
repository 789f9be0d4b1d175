"""`backfill_slack`: read the history of Slack into an account, in this process."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts import long_work
from facts.actors import system
from facts.errors import DomainError
from facts.models import Account
from facts.models.long_jobs import LongJobState
from facts.progress_teller import Teller
from facts.tenancy import account_transaction
from ingest import backfill
from ingest.models import BackfillState


class Command(BaseCommand):
    """Does what `POST /context/backfill` has the worker do; goes on where it was stopped."""

    help = (
        "Read the last year of the channels that were opted in, threads included, as the workspace's bot. It may be"
        " stopped at any moment and started again; what was read is not read twice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer what is to be read."""
        parser.add_argument("--account", required=True, help="Key of the account.")
        parser.add_argument("--channel", default="", help="Identifier of one channel; without it, all of them.")
        parser.add_argument("--team", default="", help="Identifier of the workspace, where several are connected.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, and report by channel; exit code 1 when it came to no good end."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        try:
            work = backfill.start(
                account.id,
                scope="channel" if options["channel"] else "org",
                team=options["team"],
                channel_id=options["channel"],
                actor=system("manage.py backfill_slack"),
            )
        except DomainError as error:
            raise CommandError(error.message) from error
        teller = Teller(self.stdout)
        work = long_work.drive(account.id, work.pk, tell=teller.tell)
        teller.end(work)
        with account_transaction(account.id):
            for row, name in backfill.states(account.id):
                why = f" ({row.reason})" if row.state == BackfillState.SKIPPED else ""
                self.stdout.write(
                    f"  #{name or row.channel_id}: {row.state}{why}, {row.messages} messages, {row.replies} answers"
                )
        if work.state != LongJobState.DONE:
            self.stderr.write(f"{work.state}: {work.error_class}" if work.error_class else work.state)
            sys.exit(1)
