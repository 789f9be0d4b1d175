"""Texts that an embedder refuses, such as one that is too long for it: kept apart, so that they hold up nothing.

They are found by their words as before, and are tried again, each time after twice as long.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta

from django.db import connection

from facts.clock import now
from facts.embedding import Space
from facts.models import IndexedUnit, RefusedText

#: How long a text waits after it was refused for the first time, and at most.
FIRST_WAIT, LONGEST_WAIT = timedelta(hours=1), timedelta(days=7)


def note(account_id: uuid.UUID, unit: IndexedUnit, ids: Sequence[uuid.UUID], *, space: Space) -> None:
    """Note that the embedder of ``space`` refused the texts of ``ids``, and when each is tried again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO facts_refusedtext AS r (account_id, space_id, unit, item_id, id, times, retry_at)"
            " SELECT %(account)s, %(space)s, %(unit)s, x, gen_random_uuid(), 1, %(now)s + %(first)s"
            " FROM unnest(%(ids)s::uuid[]) AS x"
            " ON CONFLICT (account_id, space_id, unit, item_id) DO UPDATE SET times = least(r.times + 1, 100),"
            " retry_at = %(now)s + least(%(longest)s, %(first)s * power(2, least(r.times, 20)))",
            {
                "account": account_id,
                "space": space.id,
                "unit": str(unit),
                "ids": list(ids),
                "now": now(),
                "first": FIRST_WAIT,
                "longest": LONGEST_WAIT,
            },
        )


def forget(account_id: uuid.UUID, unit: IndexedUnit, ids: Sequence[uuid.UUID], *, space: Space) -> None:
    """Forget that the texts of ``ids`` were refused: they have their vectors."""
    refused = RefusedText.objects.filter(account_id=account_id, space_id=space.id, unit=unit)
    if refused.exists():
        refused.filter(item_id__in=ids).delete()


def forget_gone(account_id: uuid.UUID, *, space: Space) -> None:
    """Forget what was to be tried again and is not missing any more. For use when nothing is left to be made."""
    RefusedText.objects.filter(account_id=account_id, space_id=space.id, retry_at__lte=now()).delete()


def forget_space(account_id: uuid.UUID, *, space: Space) -> None:
    """Forget everything about a space whose vectors nobody wants."""
    RefusedText.objects.filter(account_id=account_id, space_id=space.id).delete()


def count(account_id: uuid.UUID, *, space: Space) -> int:
    """Return how many texts of the account the embedder of ``space`` refuses."""
    return RefusedText.objects.filter(account_id=account_id, space_id=space.id).count()
