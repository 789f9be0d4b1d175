"""`build_profiles`: compact the cards of accounts now, as the night would."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts import long_jobs
from facts.actors import system
from facts.models import Account
from facts.tenancy import account_transaction, get_subject
from retrieval.cards import compacting, embedding, nightly, rebuilding
from retrieval.cards.composing import ComposeFailed
from retrieval.models import Card


class Command(BaseCommand):
    """Brings cards up to date with their facts, then compacts those that changed since their last night."""

    help = (
        "Write the profiles and cards anew that have changed since they were written last, without waiting for 23:00."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer which cards."""
        parser.add_argument("--account", help="Key of the account; all of them without it.")
        parser.add_argument("--subject", help="Key of one subject: its profiles only. Needs --account.")
        parser.add_argument("--dry-run", action="store_true", help="Tell which cards are due and write nothing.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Build, telling kinds and numbers and nothing of what cards say."""
        accounts = list(Account.objects.order_by("key"))
        if options["account"] is not None:
            accounts = [account for account in accounts if account.key == options["account"]]
            if not accounts:
                raise CommandError(f"There is no account '{options['account']}'.")
        elif options["subject"] is not None:
            raise CommandError("--subject needs --account.")
        for account in accounts:
            self._of_account(account, options["subject"], dry_run=options["dry_run"])

    def _of_account(self, account: Account, subject: str | None, *, dry_run: bool) -> None:
        subject_id = self._subject(account, subject) if subject is not None else None
        if not dry_run:
            while rebuilding.rebuild_due(account.id):
                pass
        with account_transaction(account.id):
            due = nightly.due(account.id, subject_id=subject_id)
            kinds = dict(Card.objects.filter(account_id=account.id, pk__in=due).values_list("id", "kind"))
        self.stdout.write(f"{account.key}: {len(due)} cards are due.")
        if dry_run:
            for card_id in due:
                self.stdout.write(f"  {kinds[card_id]} {card_id}")
        elif due:
            self._build(account, due, kinds)

    def _subject(self, account: Account, key: str) -> uuid.UUID:
        with account_transaction(account.id):
            found = get_subject(account.id, key=key)
        if found is None:
            raise CommandError(f"There is no subject '{key}'.")
        return found.id

    def _build(self, account: Account, due: list[uuid.UUID], kinds: dict[uuid.UUID, str]) -> None:
        actor = system("build_profiles")
        try:
            with long_jobs.working(account.id, kind=nightly.COMMAND, total=len(due), actor=actor) as run:
                for number, card_id in enumerate(due, start=1):
                    outcome = self._compact(account, card_id)
                    self.stdout.write(f"  {number} of {len(due)}  {kinds[card_id]}: {outcome}")
                    run.advance(number, counts={outcome.split()[0]: 1})
                while embedding.embed_stale(account.id):
                    run.check()
        except long_jobs.CancelAsked:
            raise CommandError("Cancelled; the cards that were written stay.") from None

    def _compact(self, account: Account, card_id: uuid.UUID) -> str:
        try:
            return compacting.compact(account.id, card_id).value
        except ComposeFailed as failure:
            if failure.everywhere:
                raise CommandError(f"No card can be worded now: {failure.error_class}.") from None
            return f"failed ({failure.error_class})"
