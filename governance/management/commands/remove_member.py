"""`remove_member`: let somebody go from an account, in the name of one of its administrators."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts.errors import DomainError
from facts.models import Account, Membership
from facts.tenancy import account_transaction
from governance import leaving
from governance.access import person
from governance.models import LeaversFacts


class Command(BaseCommand):
    """Shows what somebody's leaving would end, or carries it out with ``--yes``."""

    help = "Let somebody go from an account: shows what that would end; --yes carries it out."

    def add_arguments(self, parser: CommandParser) -> None:
        """Say who goes, from where, in whose name, and what becomes of the facts about them."""
        parser.add_argument("--account", required=True, help="Key of the account.")
        parser.add_argument("--user", required=True, help="User name of who leaves.")
        parser.add_argument("--by", required=True, help="User name of the administrator who decides it.")
        parser.add_argument("--facts", choices=LeaversFacts.values, default=LeaversFacts.KEEP.value)
        parser.add_argument("--yes", action="store_true", help="Carry it out.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Show or do it."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        with account_transaction(account.id):
            members = {
                name: Membership.objects.filter(account=account, user__username=name).select_related("user").first()
                for name in (options["user"], options["by"])
            }
            for name, member in members.items():
                if member is None:
                    raise CommandError(f"{name} does not belong to {account.key}.")
            principal, leaver = person(members[options["by"]]), members[options["user"]]
            try:
                seen = leaving.preview(principal, leaver.id)
                for name in leaving.Preview.__dataclass_fields__:
                    if name not in {"membership", "grants"}:
                        self.stdout.write(f"{name.replace('_', ' ')}: {getattr(seen, name)}")
                if options["yes"]:
                    leaving.leave(principal, leaver.id, facts=LeaversFacts(options["facts"]))
            except DomainError as error:
                raise CommandError(error.message) from error
        if options["yes"]:
            self.stdout.write(f"{options['user']} has left {account.key}; facts: {options['facts']}.")
        else:
            self.stdout.write("Nothing was done: add --yes.")
