"""The registry of everything that holds content, so that erasing reaches all of it.

Every app registers its tables when Django starts: as a :class:`Store` that knows how to find and wipe what a
forgetting takes, or as one that holds no content, with the reason. A test fails for a table with a text or JSON column
that is in neither list, so that a new table cannot be left out silently.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from django.apps import apps
from django.db.models import Model, QuerySet

from facts.models import Subject


class ErasureMode(StrEnum):
    """What becomes of facts about others that only the erased subject had told."""

    PROPORTIONATE = "proportionate"
    STRICT = "strict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasing:
    """What goes in one forgetting, found before anything was touched.

    ``facts``: their content goes. ``events``: all that was said in them goes. ``cuts``: words that are cut out of
    events which otherwise stay. ``released``: facts that stay without these events as their sources, ``withdrawn``
    those among them that are left without any source. ``texts`` and ``names``: the words to look for wherever people or
    machines may have repeated them. ``speakers``: names under which what goes was spoken in conversations of others.
    ``subject``: set when all about it goes, everywhere in the account, ``merged`` being those that were merged into it.
    """

    account_id: uuid.UUID
    facts: frozenset[uuid.UUID]
    events: frozenset[uuid.UUID]
    cuts: Mapping[uuid.UUID, tuple[str, ...]]
    released: frozenset[uuid.UUID] = frozenset()
    withdrawn: frozenset[uuid.UUID] = frozenset()
    texts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    speakers: frozenset[str] = frozenset()
    subject: Subject | None = None
    merged: tuple[uuid.UUID, ...] = ()

    @property
    def touched_events(self) -> list[uuid.UUID]:
        """Events that lose words, all or some."""
        return [*self.events, *self.cuts]

    @property
    def subject_ids(self) -> list[uuid.UUID]:
        """The erased subject with those that were merged into it; empty where none is erased as a whole."""
        return [self.subject.id, *self.merged] if self.subject is not None else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """One place that holds content.

    ``name`` is the counter in receipts and previews. ``tables`` are the labels of the models it answers for. ``find``
    returns the rows that lose something; ``wipe`` takes it from these rows. Both run inside the account.
    """

    name: str
    tables: tuple[str, ...]
    find: Callable[[Erasing], QuerySet]
    wipe: Callable[[Erasing, QuerySet], None]


_stores: dict[str, Store] = {}
_without_content: dict[str, str] = {}


def register(store: Store) -> None:
    """Have a store taken into account by every erasure, in the order of registration; a name registers once."""
    _stores[store.name] = store


def holds_no_content(table: str, because: str) -> None:
    """Say of a table (label of its model) why an erasure has nothing to do there."""
    _without_content[table] = because


def stores() -> list[Store]:
    """Return all stores, in the order in which they are wiped."""
    return list(_stores.values())


def tables_with_content() -> dict[str, str]:
    """Return which store answers for each table, by the label of its model."""
    return {table: store.name for store in _stores.values() for table in store.tables}


def tables_without_content() -> dict[str, str]:
    """Return the reasons, by the label of the model."""
    return dict(_without_content)


def registered_models() -> list[type[Model]]:
    """Return the models of all registered tables, with content or without."""
    return [apps.get_model(label) for label in sorted({*tables_with_content(), *_without_content})]


def preview(erasing: Erasing) -> dict[str, int]:
    """Return how many rows of each store would lose something, as far as ids tell.

    Rows that only repeat words are found by the erasure itself: looking for them goes through every text that is kept,
    which takes minutes where there are hundreds of thousands, too long for somebody who only asks.
    """
    by_ids = replace(erasing, texts=(), names=())
    return {store.name: store.find(by_ids).count() for store in stores()}


def wipe(erasing: Erasing) -> dict[str, int]:
    """Wipe every store, in the caller's transaction; return how many rows of each lost something.

    Rows are found in all stores before the first is wiped: what one store loses may be how another one finds its own.
    """
    found = [(store, list(store.find(erasing).values_list("pk", flat=True))) for store in stores()]
    for store, keys in found:
        if keys:
            store.wipe(erasing, store.find(erasing).model.objects.filter(pk__in=keys))
    return {store.name: len(keys) for store, keys in found}
