"""`import_events`: take events in our own form into an account."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ingest.imports import command, running


class Command(BaseCommand):
    """Imports a JSONL file; started again, it goes on where it was."""

    help = (
        "Import events from a file with one JSON object a line, with the fields of POST /v1/capture; the time of each"
        " is kept. A line that cannot be read is reported by its number, and the rest goes on. Importing again"
        " changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer what can be chosen."""
        command.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and report."""
        command.run(self, options, source=running.EVENTS)
