"""Removing what was said word for word, while what came of it stays.

Gone are the text and payload of events and the passages cut from them, with their vectors and search rows. Facts, the
quotes that they rest on, hashes and cards stay: a message that comes again is still known by its hash. Stores of other
apps that repeat words of events register here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import datetime

from facts.models import Event, Passage

#: ``store(account_id, event_ids)`` removes what it holds of these events and returns in how many places.
Store = Callable[[uuid.UUID, Sequence[uuid.UUID]], int]

_stores: dict[str, Store] = {}


def register(name: str, store: Store) -> None:
    """Have ``store`` asked, in the same transaction, whenever raw text is removed; a name registers once."""
    _stores[name] = store


def remove(account_id: uuid.UUID, event_ids: Sequence[uuid.UUID], *, at: datetime) -> dict[str, int]:
    """Remove the words of these events and return how many events, passages and other places lost them.

    Runs in the caller's account transaction, which holds the locks of the events. What is removed already counts no
    second time.
    """
    events = Event.objects.filter(account_id=account_id, pk__in=event_ids, text_removed_at__isnull=True)
    ids = list(events.values_list("id", flat=True))
    counts = {name: store(account_id, ids) for name, store in _stores.items()}
    _, deleted = Passage.objects.filter(account_id=account_id, event_id__in=ids).delete()
    counts["passages"] = deleted.get(Passage._meta.label, 0)
    counts["events"] = events.filter(pk__in=ids).update(text="", payload={}, urls=[], text_removed_at=at)
    return counts
