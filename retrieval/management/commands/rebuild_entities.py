"""`rebuild_entities`: read the names in an account's facts again, scope by scope."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts import long_jobs
from facts.actors import system
from facts.errors import DomainError
from facts.models import Account, Scope
from facts.tenancy import account_transaction, get_scope
from retrieval.entities import proposing, rebuilding
from retrieval.entities.rebuilding import Rebuilt

#: Kind of long work (``facts.long_jobs``).
REBUILD = "rebuild_entities"


class Command(BaseCommand):
    """Replaces the index of names; each scope in one transaction, so that a run that is broken off loses nothing."""

    help = "Read the names in facts again. Decisions about pairs of names are kept."

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer which facts to read."""
        parser.add_argument("--account", required=True, help="Key of the account.")
        parser.add_argument("--scope", help="Path of one scope; all of them without it.")
        parser.add_argument("--dry-run", action="store_true", help="Tell what would be read and write nothing.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Rebuild, telling numbers and no names."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        scopes = self._scopes(account, options["scope"])
        dry_run = options["dry_run"]
        if dry_run:
            for number, scope in enumerate(scopes, start=1):
                rebuilt = rebuilding.rebuild_scope(account.id, scope.id, dry_run=True, progress=self._tell)
                self._report(number, len(scopes), scope, rebuilt, "would hold")
            return
        try:
            self._rebuild(account, scopes)
        except long_jobs.CancelAsked:
            raise CommandError("Cancelled; the scopes that were read stay as they are now.") from None
        if not options["scope"]:
            self.stdout.write(f"{proposing.propose_afresh(account.id)} names compared with each other.")

    def _rebuild(self, account: Account, scopes: list[Scope]) -> None:
        """Read scope after scope, with a record of the progress."""
        total = len(scopes)
        with long_jobs.working(account.id, kind=REBUILD, total=total, actor=system(REBUILD)) as run:
            for number, scope in enumerate(scopes, start=1):
                rebuilt = rebuilding.rebuild_scope(account.id, scope.id, dry_run=False, progress=self._tell)
                self._report(number, total, scope, rebuilt, "hold")
                run.advance(number, counts={"facts": rebuilt.facts, "mentions": rebuilt.mentions})

    def _report(self, number: int, total: int, scope: Scope, rebuilt: Rebuilt, hold: str) -> None:
        self.stdout.write(
            f"{number} of {total}  {scope.path}: {rebuilt.facts} facts {hold} "
            f"{rebuilt.mentions} mentions of {rebuilt.names} names."
        )

    def _scopes(self, account: Account, path: str | None) -> list[Scope]:
        with account_transaction(account.id):
            if path is None:
                return list(Scope.objects.filter(account_id=account.id).order_by("path"))
            try:
                scope = get_scope(account.id, path)
            except DomainError as error:
                raise CommandError(error.message) from error
        if scope is None:
            raise CommandError(f"There is no scope '{path}'.")
        return [scope]

    def _tell(self, read: int) -> None:
        if read % 10_000 == 0:
            self.stdout.write(f"  {read} facts read …")
