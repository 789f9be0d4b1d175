"""`reembed`: make the vectors of the embedder that the settings ask for, and switch over when all are there."""

from __future__ import annotations

from time import monotonic
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts import embedding, long_jobs
from facts.embedding import Space
from facts.models import Account
from retrieval import reembedding, vectors
from retrieval.embedders.base import identity_key
from retrieval.reembedding import Plan, Progress

#: Seconds between two lines of progress.
EVERY = 2.0


class Command(BaseCommand):
    """Shows what is missing, writes it with progress, switches over; goes on where it was stopped."""

    help = (
        "Write every vector of the embedder that the settings ask for, in every account, and let reads use them once "
        "all are there. Until then reads go on with the vectors of the embedder before, or by text alone where that "
        "one cannot be made any more. It may be stopped at any moment and started again; the worker does the same, "
        "more slowly."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer to only count, and to delete what nobody reads any more."""
        parser.add_argument("--dry-run", action="store_true", help="Count what is missing and change nothing else.")
        parser.add_argument(
            "--drop-old", action="store_true", help="Afterwards delete the vectors of all other embedders."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Plan, run, switch, drop."""
        planned = reembedding.plan()
        if planned is None:
            raise CommandError("HAKI_EMBED_PROVIDER=none: there are no vectors to make.")
        self._describe(planned, dry_run=options["dry_run"])
        if options["dry_run"]:
            return
        try:
            progress = reembedding.run(planned, note=_Lines(self.stdout.write))
        except reembedding.NotComplete as error:
            raise CommandError(f"Not complete, and not switched over: {error}.") from error
        except long_jobs.CancelAsked:
            raise CommandError("Cancelled, and not switched over; what was written is kept.") from None
        self.stdout.write(f"{progress.written:,} vectors written in {monotonic() - progress.started:.1f} s.")
        self._tell_refused(planned)
        if not planned.serves:
            self.stdout.write(self.style.SUCCESS("Switched over: reads use the new vectors."))
        if options["drop_old"]:
            self._drop_old(planned)

    def _describe(self, planned: Plan, *, dry_run: bool) -> None:
        serving = embedding.serving()
        self.stdout.write(f"Asked for: {identity_key(planned.provider.identity)}")
        if planned.serves:
            self.stdout.write("It serves already.")
        elif embedding.reading() is None:
            self.stdout.write(f"Serving:   {serving}, which cannot be made here: reads go by text alone until then.")
        else:
            self.stdout.write(f"Serving:   {serving}")
        accounts = dict(Account.objects.filter(pk__in=planned.missing).values_list("pk", "key"))
        for account_id, count in planned.missing.items():
            self.stdout.write(f"  {accounts[account_id]}: {count:,} missing")
        self.stdout.write(f"{planned.total:,} vectors are missing.")
        if dry_run:
            self._tell_refused(planned)

    def _tell_refused(self, planned: Plan) -> None:
        """Say of how many texts this embedder makes no vectors."""
        refused = vectors.refused_everywhere(planned.space)
        if refused:
            self.stdout.write(
                self.style.WARNING(
                    f"{refused:,} texts are refused by the embedder: they are found by their words, and tried again."
                )
            )

    def _drop_old(self, planned: Plan) -> None:
        unused = reembedding.others(planned.space)
        if unused and not planned.serves:
            self.stdout.write("Waiting until every process has noticed ...")
            reembedding.wait_until_noticed()
        for row in unused:
            dropped = reembedding.drop(Space(row.id, row.dimensions))
            self.stdout.write(f"{dropped:,} vectors deleted of {row}")


class _Lines:
    """Writes a line about the progress now and then."""

    def __init__(self, write: Any) -> None:
        self._write = write
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        """Write where the run stands, unless that was just done."""
        if monotonic() < self._next and progress.written < progress.total:
            return
        self._next = monotonic() + EVERY
        share = progress.written / max(progress.total, progress.written, 1)
        left = progress.seconds_left()
        rest = "" if left is None else f", {left:,.0f} s left"
        self._write(f"{progress.written:,} of {progress.total:,} ({share:.0%}), {progress.rate():,.0f}/s{rest}")
