"""`migrate`, which also gives the database what the migrations take for granted."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from memory_site.database import preparation


class Command(migrate.Command):
    """Migrates as the owner, preparing the extension and the restricted role before, and its grants after."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Make the owner the default."""
        super().add_arguments(parser)
        parser.set_defaults(database="owner")

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Prepare the database before anything else, for the system checks ask it for its version."""
        if options["database"] != "owner":
            raise CommandError("Only the owner migrates: use --database owner.")
        connection = connections["owner"]
        if settings.USES_EMBEDDED_POSTGRES:
            preparation.create_database(connection)
        try:
            preparation.prepare(connection, may_login=settings.APP_ROLE_LOGS_IN)
        except preparation.UnsuitableServer as error:
            raise CommandError(str(error)) from error
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate, grant what was made, and show the text rows to searches."""
        super().handle(*args, **options)
        preparation.grant(connections["owner"])
        if _migrated("facts", "0016_text_keys"):
            try:
                preparation.show_text_rows(connections["owner"])
            except preparation.UnsuitableServer as error:
                raise CommandError(str(error)) from error


def _migrated(app: str, name: str) -> bool:
    """Tell whether a migration is applied: a command that goes back to an earlier one leaves nothing to show."""
    return (app, name) in MigrationRecorder(connections["owner"]).applied_migrations()
