"""`jobs`: what takes long, how far it is, and its end or going on."""

from __future__ import annotations

import sys
import time
import uuid
from argparse import ArgumentTypeError
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts import long_jobs, long_work, progress_lines
from facts.actors import system
from facts.errors import DomainError
from facts.models import Account, LongJob
from facts.progress_teller import Teller
from facts.tenancy import account_transaction

#: Rows of one account that are listed, the newest first.
LISTED = 20
#: Seconds between two looks at work that is followed.
EVERY = 1.0
ACTOR = system("manage.py jobs")


class Command(BaseCommand):
    """The same list as the admin's page "Long work", and the same buttons."""

    help = (
        "Show long work (imports, backfills, rebuilds) with its progress and the time it will take; follow, cancel or"
        " resume a piece of it. What is cancelled ends with its next step and keeps what was done."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer the verbs."""
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", help="list, when none is given.")
        parser.set_defaults(account="", all=False)
        listing = verbs.add_parser("list", help="List what is not over.")
        listing.add_argument("--account", default="", help="Key of one account; all of them without it.")
        listing.add_argument("--all", action="store_true", help="Also what is over.")
        for verb, meaning in {
            "follow": "Show the progress until it is over.",
            "cancel": "End it with its next step.",
            "resume": "Let it go on where it stopped.",
        }.items():
            one = verbs.add_parser(verb, help=meaning)
            one.add_argument("id", type=_identifier, help="The id that the list shows.")
            if verb == "resume":
                one.add_argument("--here", action="store_true", help="In this process, without a worker.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the verb says."""
        if options["verb"] in {None, "list"}:
            self._list(options["account"], everything=options["all"])
            return
        job = _find(options["id"])
        try:
            match options["verb"]:
                case "follow":
                    self._follow(job)
                case "cancel":
                    with account_transaction(job.account_id):
                        job = long_jobs.cancel(job.account_id, job.pk, actor=ACTOR)
                    self.stdout.write(progress_lines.line(job))
                case "resume":
                    self._resume(job, here=options["here"])
        except DomainError as error:
            raise CommandError(error.message) from error

    def _list(self, key: str, *, everything: bool) -> None:
        accounts = Account.objects.order_by("key")
        if key and not accounts.filter(key=key).exists():
            raise CommandError(f"There is no account '{key}'.")
        shown = 0
        for account in accounts.filter(key=key) if key else accounts:
            with account_transaction(account.id):
                found = long_jobs.of_account(account.id)
                rows = [job for job in found[: 10 * LISTED] if everything or job.is_open][:LISTED]
            for job in rows:
                shown += 1
                name = long_jobs.kind_of(job.kind).title
                self.stdout.write(f"{job.pk}  {account.key}  {name}{f' ({job.title})' if job.title else ''}")
                self.stdout.write(f"    {progress_lines.line(job)}")
                if job.error_class:
                    self.stdout.write(f"    last error: {job.error_class}")
        if not shown:
            self.stdout.write("Nothing takes long at the moment.")

    def _follow(self, job: LongJob) -> None:
        teller, seen = Teller(self.stdout), ""
        while True:
            with account_transaction(job.account_id):
                job = LongJob.objects.get(account_id=job.account_id, pk=job.pk)
            if not job.is_open:
                break
            teller.tell(job, now=job.state != seen)
            seen = job.state
            time.sleep(EVERY)
        teller.end(job)
        if job.error_class:
            self.stderr.write(f"last error: {job.error_class}")
            sys.exit(1)

    def _resume(self, job: LongJob, *, here: bool) -> None:
        kind = long_jobs.kind_of(job.kind)
        with account_transaction(job.account_id):
            if long_jobs.may_resume(job):
                job = long_jobs.resume(job.account_id, job.pk, actor=ACTOR)
            elif not here:
                long_jobs.resume(job.account_id, job.pk, actor=ACTOR)
        if kind.step is None:
            self.stdout.write(f"It goes on when its command is called again: {kind.command}")
        elif here:
            teller = Teller(self.stdout)
            job = long_work.drive(job.account_id, job.pk, tell=teller.tell)
            teller.end(job)
        else:
            self.stdout.write("Queued: the worker goes on with it.")


def _identifier(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError as error:
        raise ArgumentTypeError("an id as the list shows it") from error


def _find(job_id: uuid.UUID) -> LongJob:
    """Return the work of that id, of whichever account."""
    for job in _all_with(job_id):
        return job
    raise CommandError("There is no such work.")


def _all_with(job_id: uuid.UUID) -> Iterator[LongJob]:
    for account_id in Account.objects.order_by("pk").values_list("pk", flat=True):
        with account_transaction(account_id):
            yield from LongJob.objects.filter(account_id=account_id, pk=job_id)
