"""`reindex_text`: bring text rows into the present form at once, instead of by and by."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from facts import long_jobs, reindexing, textindex
from facts.actors import system
from facts.models import Account
from facts.progress_teller import Teller
from retrieval.text import common_lexemes

#: Kind of long work (``facts.long_jobs``).
REINDEX = "reindex_text"


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
            rows = self._reindex(account_id)
            common_lexemes.refresh(account_id)
            self.stdout.write(f"{Account.objects.get(pk=account_id).key}: {rows:,} rows looked at.")
        done = f"All text is in form {textindex.ANALYZER_VERSION}."
        self.stdout.write(self.style.SUCCESS(done))

    def _reindex(self, account_id: uuid.UUID) -> int:
        """Reindex one account with a record of the progress; return how many rows were looked at."""
        teller = Teller(self.stdout)
        total = reindexing.count_rows(account_id)
        try:
            with long_jobs.working(account_id, kind=REINDEX, total=total, actor=system(REINDEX)) as run:

                def note(rows: int) -> None:
                    run.advance(rows)
                    teller.tell(run.job)

                rows = reindexing.reindex(account_id, note=note)
        except long_jobs.CancelAsked:
            raise CommandError("Cancelled; what was rewritten stays, and the worker goes on by and by.") from None
        teller.end()
        return rows
