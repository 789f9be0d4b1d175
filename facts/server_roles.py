"""Changes to roles, which belong to the whole server, while somebody prepares another database of that server."""

from __future__ import annotations

from collections.abc import Callable

from django.db import DatabaseError
from psycopg import errors

#: How often a change is tried. Each try can only fail because somebody else's change has just been committed, and the
#: next one starts from what that left behind.
ATTEMPTS = 20

#: What PostgreSQL answers to the later of two changes: the role or the membership is there by now, or its row changed
#: under the statement ("tuple concurrently updated", which has no class of its own).
_OVERTAKEN = (errors.UniqueViolation, errors.DuplicateObject, errors.InternalError_)


def retried(change: Callable[[], None]) -> None:
    """Carry out a change to roles; begin again when another database's preparation was faster.

    An advisory lock would not do: it is held in one database, and roles belong to all of them. `change` looks at what
    is there, does what is missing, and leaves nothing behind when it fails.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            change()
        except _OVERTAKEN:
            continue
        except DatabaseError as error:  # as Django wraps it
            if not isinstance(error.__cause__, _OVERTAKEN):
                raise
        else:
            return
    change()
