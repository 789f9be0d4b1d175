"""`index_large_scope`: give a scope of tens of thousands of facts graphs of its vectors, or take them away."""

from __future__ import annotations

from time import monotonic
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts.errors import DomainError
from facts.models import Account
from facts.tenancy import account_transaction, get_scope
from retrieval import large_scope_indexes, large_scopes


class Command(BaseCommand):
    """Shows what it would make, makes it while reading and writing go on, or drops it."""

    help = (
        "Make graphs of the vectors of one scope, so that a search by vector does not look at each of them; it misses "
        "a few rows. Worth it above about 20,000 facts or passages; below, reads do not use them. They slow down "
        "writing into the scope, and after a change of the embedder the command has to be run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the scope, and what to do."""
        parser.add_argument("--account", required=True, help="Key of the account.")
        parser.add_argument("--scope", required=True, help="Path of the scope.")
        parser.add_argument("--dry-run", action="store_true", help="Say what would be made or dropped, and do nothing.")
        parser.add_argument("--drop", action="store_true", help="Drop the indexes; reads search exactly again.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Find the scope; show, build or drop."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        try:
            with account_transaction(account.id):
                scope = get_scope(account.id, options["scope"])
        except DomainError as error:
            raise CommandError(error.message) from error
        if scope is None:
            raise CommandError(f"There is no scope '{options['scope']}' in the account '{account.key}'.")
        planned = large_scope_indexes.plan(account.id, scope)
        self.stdout.write(f"{planned.rows:,} facts and passages can be found in {scope.path}.")
        if not options["drop"] and planned.rows < large_scopes.MANY:
            self.stdout.write(f"Reads use the indexes from {large_scopes.MANY:,} facts, or passages, on.")
        if options["dry_run"]:
            for index in planned.indexes:
                self.stdout.write(f"{'would drop' if options['drop'] else 'would make'} {index.name} on {index.table}")
            return
        began = monotonic()
        if options["drop"]:
            for name in large_scope_indexes.drop(account.id, scope):
                self.stdout.write(f"dropped {name}")
        else:
            if planned.space is None:
                raise CommandError("No embedder serves yet: there are no vectors to make a graph of.")
            large_scope_indexes.build(planned, note=lambda name: self.stdout.write(f"making {name} ..."))
        self.stdout.write(self.style.SUCCESS(f"Done in {monotonic() - began:.1f} s."))
