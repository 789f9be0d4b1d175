"""Django's PostgreSQL backend, for the embedded server: the first connection of a process starts the server.

Django finds it by the engine name `memory_site.database`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base
from django.db.utils import OperationalError

from memory_site.embedded_postgres import EmbeddedPostgres


@cache
def server() -> EmbeddedPostgres:
    """Return this process's handle of the embedded server."""
    return EmbeddedPostgres(settings.EMBEDDED_POSTGRES_DIRECTORY)


class DatabaseWrapper(base.DatabaseWrapper):
    """Connects to the embedded server, starting it when it is not there."""

    def get_connection_params(self) -> dict[str, Any]:
        """Add the socket, which is only known once the data directory is."""
        return {**super().get_connection_params(), "host": str(server().socket_directory)}

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect; where the server is not up (any more), start it and try once more."""
        if not server().is_held:
            server().ensure()
        try:
            return super().get_new_connection(conn_params)
        except (base.Database.OperationalError, OperationalError):
            if server().is_ready():
                raise
            server().ensure()
            return super().get_new_connection(conn_params)
