"""`reason`: do the reasoning pass over an account now, in this process."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts import long_work
from facts.actors import system
from facts.errors import DomainError
from facts.models import Account
from facts.models.long_jobs import LongJobState
from facts.progress_teller import Teller
from ingest.reasoning import passing

ONLY_EXACT = "No model is set (REASONING_PROVIDER): only facts that say the same word for word are merged."


class Command(BaseCommand):
    """Does what the worker does at night; goes on where it was stopped."""

    help = "Look at what is new since the last pass: deduce, relate and merge, through the gates and within the budget."

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer what is looked at."""
        parser.add_argument("--account", required=True, help="Key of the account.")
        parser.add_argument("--scope", default="", help="Path of one scope; without it, all of them.")
        parser.add_argument("--dry-run", action="store_true", help="Only tell what would be looked at.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it, and report what came of it."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        if settings.REASONING_PROVIDER == "none":
            self.stdout.write(ONLY_EXACT)
        if options["dry_run"]:
            self._tell_ahead(account, path=options["scope"])
            return
        try:
            work = passing.start(account.id, path=options["scope"], actor=system("manage.py reason"))
        except DomainError as error:
            raise CommandError(error.message) from error
        teller = Teller(self.stdout)
        work = long_work.drive(account.id, work.pk, tell=teller.tell)
        teller.end(work)
        for what, count in sorted(work.counts.items()):
            self.stdout.write(f"  {what.replace('_', ' ')}: {count}")
        if work.state != LongJobState.DONE:
            raise CommandError(f"{work.state}: {work.error_class}" if work.error_class else work.state)

    def _tell_ahead(self, account: Account, *, path: str) -> None:
        scopes = passing.ahead(account.id, path=path)
        asks = settings.REASONING_PROVIDER != "none"
        for scope in scopes:
            asked = f", {scope.asked} questions to the model" if asks else ""
            self.stdout.write(f"  {scope.path}: {scope.subjects} subjects with something new{asked}")
        if not scopes:
            self.stdout.write("Nothing is new since the last pass.")
