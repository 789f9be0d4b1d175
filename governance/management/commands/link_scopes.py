"""`link_scopes`: let reads step sideways between two scopes, as a person who decides at both ends."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts.errors import DomainError
from facts.models import Account, Membership
from facts.tenancy import account_transaction
from governance import access, scope_links


class Command(BaseCommand):
    """Makes or removes a link between two scopes. A link never grants access to either of them."""

    help = "Link two scopes for reads with include_cross_links, or remove the link."

    def add_arguments(self, parser: CommandParser) -> None:
        """Say who links what."""
        parser.add_argument("--account", required=True, help="Key of the account.")
        parser.add_argument("--as", dest="username", required=True, help="The person, a curator at both ends.")
        parser.add_argument("source", help="Path of one scope.")
        parser.add_argument("target", help="Path of the other.")
        parser.add_argument("--remove", action="store_true", help="Remove the link.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Link or unlink."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        with account_transaction(account.id):
            members = Membership.objects.filter(account_id=account.id, user__username=options["username"])
            membership = members.select_related("user").first()
            if membership is None:
                raise CommandError(f"'{options['username']}' is no member of this account.")
            principal = access.person(membership)
        act = scope_links.unlink if options["remove"] else scope_links.link
        try:
            act(principal, source=options["source"], target=options["target"])
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write("Removed." if options["remove"] else "Linked.")
