"""Removing what was said word for word, while what came of it stays.

Gone are the text and payload of events and the passages cut from them, with their vectors and search rows. Facts, the
quotes that they rest on, hashes and cards stay: a message that comes again is still known by its hash. Stores of other
apps that repeat words of events register here.

A passage can be stricter than its event, by the facts that cite it. The event is from then on as strict as its
strictest passage was, so that nobody learns more of it, or of quotes from it, than before.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from facts.models import Event, Passage
from facts.vocabulary import SENSITIVITY_RANK

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
    sensitivities = dict(events.values_list("id", "sensitivity"))
    ids = list(sensitivities)
    for sensitivity, stricter in _raised(account_id, sensitivities).items():
        events.filter(pk__in=stricter).update(sensitivity=sensitivity)
    counts = {name: store(account_id, ids) for name, store in _stores.items()}
    _, deleted = Passage.objects.filter(account_id=account_id, event_id__in=ids).delete()
    counts["passages"] = deleted.get(Passage._meta.label, 0)
    counts["events"] = events.filter(pk__in=ids).update(text="", payload={}, urls=[], text_removed_at=at)
    return counts


def _raised(account_id: uuid.UUID, sensitivities: Mapping[uuid.UUID, str]) -> dict[str, list[uuid.UUID]]:
    """Return the events that have a stricter passage, by the sensitivity of the strictest."""
    strictest = dict(sensitivities)
    passages = Passage.objects.filter(account_id=account_id, event_id__in=list(sensitivities)).order_by()
    for event_id, sensitivity in passages.values_list("event_id", "sensitivity").distinct():
        strictest[event_id] = max(strictest[event_id], sensitivity, key=SENSITIVITY_RANK.__getitem__)
    raised: dict[str, list[uuid.UUID]] = {}
    for event_id, sensitivity in strictest.items():
        if sensitivity != sensitivities[event_id]:
            raised.setdefault(sensitivity, []).append(event_id)
    return raised
