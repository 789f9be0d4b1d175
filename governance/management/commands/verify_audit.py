"""Walk audit chains and say whether they are what was written."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from facts import audit
from facts.audit import Anchor, ChainFault
from facts.models import Account
from facts.tenancy import account_transaction

#: Faults named of one account: behind the first, most are its consequences.
NAMED_FAULTS = 20


class Command(BaseCommand):
    """Finds entries that were changed, removed, inserted or put into another order, and an end that was cut off."""

    help = (
        "Compute every hash of an account's audit chain again and compare it, also with the tip: the number and hash of"
        " the last entry, kept apart from the chain. Note the tip that this prints, elsewhere: given as --anchor the"
        " next time, it shows a chain that was made anew as a whole. The exit code is 1 when anything is wrong."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the account, an anchor, and the form of the answer."""
        parser.add_argument("--account", default="all", help="key of an account; default: all of them")
        parser.add_argument("--anchor", metavar="SEQ:HASH", help="an entry that the chain of this account must hold")
        parser.add_argument("--json", action="store_true", help="one JSON object a line for each account")

    def handle(self, *args: Any, **options: Any) -> None:
        """Walk the chains; raise ``CommandError`` when one of them is not sound."""
        anchor = _anchor(options)
        accounts = Account.objects.order_by("key")
        if options["account"] != "all":
            accounts = accounts.filter(key=options["account"])
            if not accounts.exists():
                raise CommandError(f"There is no account '{options['account']}'.")
        unsound = [account.key for account in accounts if not self._verify(account, anchor, as_json=options["json"])]
        if unsound:
            raise CommandError(f"Not sound: {', '.join(unsound)}.")

    def _verify(self, account: Account, anchor: Anchor | None, *, as_json: bool) -> bool:
        with account_transaction(account.id):
            faults = list(islice(audit.verify(account.id, anchor=anchor), NAMED_FAULTS + 1))
            tip = audit.tip(account.id)
        if as_json:
            self.stdout.write(json.dumps(_answer(account, tip, faults), ensure_ascii=False))
            return not faults
        count = tip.seq if tip else 0
        where = f"{account.key}: {count} {'entry' if count == 1 else 'entries'}"
        if not faults:
            self.stdout.write(f"{where}, sound" + (f"; tip {tip}" if tip else ""))
            return True
        self.stdout.write(f"{where}, NOT sound, first at entry {faults[0].seq}:")
        for fault in faults[:NAMED_FAULTS]:
            self.stdout.write(f"  entry {fault.seq}: {fault.problem}")
        if len(faults) > NAMED_FAULTS:
            self.stdout.write("  and more behind it")
        return False


def _anchor(options: dict[str, Any]) -> Anchor | None:
    if options["anchor"] is None:
        return None
    if options["account"] == "all":
        raise CommandError("--anchor is an entry of one account: name it with --account.")
    try:
        return Anchor.parse(options["anchor"])
    except ValueError as error:
        raise CommandError(str(error)) from error


def _answer(account: Account, tip: Anchor | None, faults: list[ChainFault]) -> dict[str, Any]:
    return {
        "account": account.key,
        "sound": not faults,
        "entries": tip.seq if tip else 0,
        "tip": str(tip) if tip else None,
        "first_fault": faults[0].seq if faults else None,
        "faults": [{"seq": fault.seq, "problem": fault.problem} for fault in faults[:NAMED_FAULTS]],
        "more_faults": len(faults) > NAMED_FAULTS,
    }
