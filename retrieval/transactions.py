"""Reading inside of somebody else's transaction, such as that of an admin page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

#: Settings of a transaction that a read makes its own, and that its end does not give back inside another one.
_BORROWED = ("statement_timeout", "synchronous_commit")


@contextmanager
def settings_kept() -> Iterator[None]:
    """Give the running transaction, if there is one, its settings back after a read that set its own."""
    if not connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(['current_setting(%s)'] * len(_BORROWED))}", _BORROWED)
        before = cursor.fetchone()
    yield
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(['set_config(%s, %s, true)'] * len(_BORROWED))}",
            [part for pair in zip(_BORROWED, before, strict=True) for part in pair],
        )
