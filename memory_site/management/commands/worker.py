"""`worker`: run the background queue and restart it when it stops making progress."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memory_site import checks, processes, watchdog

STOP_SLACK = 10.0  # seconds for the queue to end after its last task


class Command(BaseCommand):
    """Runs until it is told to stop (SIGTERM or Ctrl-C); what is being worked on is finished first."""

    help = "Run the background worker under a watchdog."

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer the queue without its watchdog, which is what the watchdog starts, and the time to end."""
        longest = settings.Q_CLUSTER["timeout"] + STOP_SLACK
        parser.add_argument(
            "--grace", type=float, default=longest, help="Seconds that tasks get to end when told to stop."
        )
        parser.add_argument("--unwatched", action="store_true", help="Run the queue itself, without the watchdog.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the watchdog, or what it watches."""
        if options["unwatched"]:
            self._run_queue(grace=options["grace"])
            return
        try:
            watchdog.run(grace=options["grace"])
        except processes.TooManyFailures as error:
            raise CommandError(str(error)) from error

    def _run_queue(self, *, grace: float) -> None:
        from memory_site import cluster

        checks.refuse_errors(worker=True)
        cluster.run(grace=grace)
