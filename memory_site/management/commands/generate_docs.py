"""`generate_docs`: write the reference tables of the documentation from the code."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from memory_site import reference_docs


class Command(BaseCommand):
    """Writes the generated pages under `docs/` and names those that changed."""

    help = "Write the generated pages under docs/."

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the pages."""
        for path in reference_docs.write(settings.BASE_DIR / "docs"):
            self.stdout.write(str(path.relative_to(settings.BASE_DIR)))
