"""`reindex_text`: bring text rows into the present form at once, instead of by and by."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from facts import reindexing, textindex
from facts.models import Account
from retrieval import common_lexemes


class Command(BaseCommand):
    """Rewrites what is in another form, account by account; goes on where it was stopped."""

    help = (
        "Index the text of every account again whose rows are in the form of an earlier version. It may be stopped at"
        " any moment and started again, reads go on meanwhile; the worker does the same, more slowly."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Reindex every account that needs it, then count its common words."""
        pending = reindexing.pending()
        for account_id in pending:
            rows = reindexing.reindex(account_id)
            common_lexemes.refresh(account_id)
            self.stdout.write(f"{Account.objects.get(pk=account_id).key}: {rows:,} rows looked at.")
        done = f"All text is in form {textindex.ANALYZER_VERSION}."
        self.stdout.write(self.style.SUCCESS(done))
