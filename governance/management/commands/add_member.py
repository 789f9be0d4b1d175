"""`add_member`: let a user into an account, as the operator of this installation."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts.actors import system
from facts.errors import DomainError
from facts.models import Account, User
from facts.tenancy import ROOT
from governance.members import add_member
from governance.models import Role


class Command(BaseCommand):
    """Binds a user to one person of an account and grants them a role there."""

    help = "Let a user into an account, with a role."

    def add_arguments(self, parser: CommandParser) -> None:
        """Say who, where and as what."""
        parser.add_argument("--account", required=True, help="Key of the account.")
        parser.add_argument("--user", required=True, help="User name.")
        parser.add_argument("--role", choices=Role.values, default=Role.CURATOR.value, help="Default: curator.")
        parser.add_argument("--scope", default=ROOT, help="Path from which on the role holds; default: everywhere.")
        parser.add_argument("--subject", default="", help="Key of the person they are; default: their user name.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Let them in, also into the admin."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"There is no user '{options['user']}'.")
        try:
            add_member(
                account.id,
                user=user,
                role=options["role"],
                path=options["scope"],
                subject_key=options["subject"],
                actor=system("add_member"),
            )
        except DomainError as error:
            raise CommandError(error.message) from error
        User.objects.filter(pk=user.pk).update(is_staff=True)
        self.stdout.write(f"{user.get_username()} is {options['role']} of {account.key} at {options['scope']}.")
