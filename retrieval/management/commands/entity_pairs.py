"""`entity_pairs`: show names that may stand for one thing, and decide about them as a person of the account."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts.errors import DomainError
from facts.models import Account, Membership
from facts.tenancy import account_transaction
from governance import access
from governance.access import Principal
from retrieval.entities import pairs
from retrieval.models import PairState


class Command(BaseCommand):
    """Lists pairs by wordings that the person may read, and records the person's decision."""

    help = "List pairs of names that may stand for one thing, or decide about one. Curators of the whole account only."

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer who asks, what to list and what to decide."""
        parser.add_argument("--account", required=True, help="Key of the account.")
        parser.add_argument("--as", dest="username", required=True, help="The person who looks and decides.")
        parser.add_argument("--state", choices=PairState.values, default=PairState.PROPOSED, help="Pairs to list.")
        decision = parser.add_mutually_exclusive_group()
        decision.add_argument("--same", type=uuid.UUID, metavar="PAIR", help="Say that the two names are one.")
        decision.add_argument("--different", type=uuid.UUID, metavar="PAIR", help="Say that they are not.")
        decision.add_argument("--undo", type=uuid.UUID, metavar="PAIR", help="Take a decision back.")

    def handle(self, *args: Any, **options: Any) -> None:
        """List, or decide."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        principal = self._principal(account, options["username"])
        try:
            if options["undo"]:
                pairs.undo(principal, options["undo"])
            elif options["same"] or options["different"]:
                pairs.decide(principal, options["same"] or options["different"], same=bool(options["same"]))
            else:
                self._list(principal, options["state"])
                return
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write("Recorded.")

    def _principal(self, account: Account, username: str) -> Principal:
        with account_transaction(account.id):
            found = Membership.objects.filter(account_id=account.id, user__username=username)
            membership = found.select_related("user").first()
            if membership is None:
                raise CommandError(f"'{username}' is no member of this account.")
            return access.person(membership)

    def _list(self, principal: Principal, state: str) -> None:
        found = list(pairs.list_pairs(principal, state=state))
        if not found:
            self.stdout.write("There are none.")
        for pair in found:
            alike = "" if pair.similarity is None else f"  {pair.similarity:.2f}"
            self.stdout.write(f"{pair.id}{alike}  {pair.first}  =  {pair.second}")
