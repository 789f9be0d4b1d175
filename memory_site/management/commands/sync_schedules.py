"""`sync_schedules`: bring the table of schedules into the queue."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from memory_site import schedules


class Command(BaseCommand):
    """Makes the queue's schedules those of the code; may be run any number of times."""

    help = "Make the queue's schedules those of memory_site/schedules.py."

    def handle(self, *args: Any, **options: Any) -> None:
        """Synchronise."""
        schedules.sync()
