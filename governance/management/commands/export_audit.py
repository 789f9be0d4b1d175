"""Write an account's audit chain out, for whoever checks it elsewhere."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from facts import audit
from facts.models import Account
from facts.tenancy import account_transaction


class Command(BaseCommand):
    """Writes one JSON object a line, oldest entry first, however long the chain is."""

    help = (
        "Write the audit chain as JSON lines to standard output. Each hash is the SHA-256 of the JSON list of"
        " account_id, seq, action, object_type, object_id, actor, group, metadata, occurred_at and previous_hash, with"
        " sorted keys and without spaces."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the account and where to begin."""
        parser.add_argument("--account", required=True, help="key of the account")
        parser.add_argument("--after", type=int, default=0, metavar="SEQ", help="leave out the entries up to this one")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the entries."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        with account_transaction(account.id):
            for entry in audit.export(account.id, after=options["after"]):
                self.stdout.write(json.dumps(entry, ensure_ascii=False))
