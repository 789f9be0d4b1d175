"""Changing what nobody may change, as the owner of the database could."""

from __future__ import annotations

import psycopg
from django.db import connections


def tamper(statement: str) -> None:
    """Run a statement as the owner, past the triggers and the policies."""
    parameters = connections["owner"].get_connection_params()
    parameters = {name: value for name, value in parameters.items() if name not in {"cursor_factory", "context"}}
    with psycopg.connect(**parameters, autocommit=True) as owner:
        owner.execute("SET session_replication_role = replica")
        owner.execute(statement)
