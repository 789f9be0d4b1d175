"""Say how long an account keeps what was said word for word."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from facts.actors import system
from facts.errors import DomainError
from facts.models import Account
from facts.tenancy import account_transaction
from facts.vocabulary import SourceType
from governance import retention

#: What is given for --days when words are to stay.
FOR_EVER = "forever"
#: What is given for --days when the next wider rule is to hold again.
DEFAULT = "default"


class Command(BaseCommand):
    """Sets, lifts and lists the terms of an account."""

    help = (
        "Set how many days an account keeps the raw text of a kind of source, from when it was recorded and once it was"
        " processed; without --days, list what holds. Quotes, facts and cards stay in any case."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the account, what the term is for, and the term."""
        parser.add_argument("--account", required=True, help="key of the account")
        parser.add_argument("--source", choices=SourceType.values, default=SourceType.CHANNEL_MESSAGE)
        parser.add_argument("--channel", default="", help="id of one channel; default: all without a rule of their own")
        parser.add_argument("--days", help=f"a number, '{FOR_EVER}', or '{DEFAULT}' for the next wider rule")

    def handle(self, *args: Any, **options: Any) -> None:
        """Change one rule, then list all."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        with account_transaction(account.id):
            if options["days"] is not None:
                _change(account, options)
            rules = retention.rules_of(account.id)
        own = {(rule.source_type, rule.channel_id): rule.days for rule in rules}
        for source_type in SourceType.values:
            days = own.get((source_type, ""), retention.default_days(source_type))
            self.stdout.write(f"{source_type}: {_term(days)}")
            for (kind, channel), of_channel in own.items():
                if kind == source_type and channel:
                    self.stdout.write(f"  in {channel}: {_term(of_channel)}")


def _change(account: Account, options: dict[str, Any]) -> None:
    what = {"source_type": options["source"], "channel_id": options["channel"], "actor": system("set_retention")}
    days = options["days"]
    if days == DEFAULT:
        retention.unset_rule(account.id, **what)
        return
    if days != FOR_EVER and not days.isdecimal():
        raise CommandError(f"--days is a number, '{FOR_EVER}' or '{DEFAULT}'.")
    try:
        retention.set_rule(account.id, days=None if days == FOR_EVER else int(days), **what)
    except DomainError as error:
        raise CommandError(error.message) from error


def _term(days: int | None) -> str:
    return "for ever" if days is None else f"{days} days"
