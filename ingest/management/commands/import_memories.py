"""`import_memories`: take what mem0 or Zep exported into an account."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ingest.imports import command
from ingest.imports.memories import MEM0, ZEP


class Command(BaseCommand):
    """Imports an export of another memory system; started again, it goes on where it was."""

    help = (
        "Import memories that mem0 or Zep exported (JSON or one record a line), with their own times. Short memories"
        " go to the gates as they stand, as indirect evidence; longer texts and episodes are read for facts."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer what can be chosen."""
        command.add_arguments(parser)
        parser.add_argument("--from", dest="source", choices=[MEM0, ZEP], required=True, help="Who exported it.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and report."""
        command.run(self, options, source=options["source"])
