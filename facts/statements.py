"""Statements of the hot read path: their values are bound by the server, their plans are kept by its sessions.

Reading and planning its eight statements cost a context call 3.4 ms of the database's processor, a fifth of what it
used there, and a statement of which only the values differ needs both once. So nothing that varies from call to call
may be written into a statement here: a question's lexemes go in as values of a fixed number of slots.

Whether a session keeps plans is for the connection to say (``MEMORY_PREPARED_STATEMENTS``; a pooler between may forbid
it). Without, the statements work all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import psycopg
from django.db import connection
from django.db.backends.utils import CursorWrapper


def rows(statement: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows of ``statement``, whose placeholders are named; parameters it does not name are ignored.

    Raises what Django's own cursors raise, and is seen by what watches them.
    """
    with _cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()


def execute(statement: str, parameters: Mapping[str, Any]) -> None:
    """Run a ``statement`` that has no rows to return; otherwise as :func:`rows`."""
    with _cursor() as cursor:
        cursor.execute(statement, parameters)


def id_array(ids: Iterable[Any]) -> str:
    """Return ids as PostgreSQL reads an array of them: one text costs less than a list of values."""
    return "{" + ",".join(map(str, ids)) + "}"


def _cursor() -> CursorWrapper:
    connection.ensure_connection()
    bound = psycopg.Cursor(connection.connection)
    return connection.make_debug_cursor(bound) if connection.queries_logged else connection.make_cursor(bound)
