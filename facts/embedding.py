"""The port through which the ledger asks for vectors without knowing who makes them, and which vectors reads go by.

``retrieval`` registers the embedder that the settings ask for when Django starts. Nothing here loads a model.

Vectors of two embedders cannot be compared, so every vector travels with the identity of what made it
(:class:`Embedded`), and the database says which embedding space *serves*: the one that reads compare with. A deployment
whose settings begin to ask for another embedder goes on reading, and writing, in the space that serves, until the new
one holds every vector and :func:`serve` switches over; each process notices within :data:`NOTICE_SECONDS`.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Any, NamedTuple, Protocol

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q

from facts import embedding_usage
from facts.clock import now
from facts.models import EmbeddingSpace

#: Seconds after which a process looks again which space serves.
NOTICE_SECONDS = 2.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What makes two vectors comparable; a change in any part is another space."""

    provider: str
    model: str
    version: str
    dimensions: int
    recipe: str


class Space(NamedTuple):
    """The number of an embedding space, and the width of its vectors."""

    id: int
    dimensions: int


class Embedded(NamedTuple):
    """The vector of a text, a unit vector, and the identity of what made it.

    ``near``: the cosine distance within which two statements say nearly the same; ``None`` where that is not known of
    the embedder. Distances mean something else with every embedder.
    """

    identity: EmbedderIdentity
    numbers: Sequence[float]
    near: float | None = None


class EmbeddingProvider(Protocol):
    """What the ledger needs of an embedder."""

    @property
    def identity(self) -> EmbedderIdentity: ...

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one unit vector per text, in order."""
        ...


#: Makes the embedder of a space again from what was recorded of it; ``None`` where this process cannot.
Remake = Callable[[EmbedderIdentity, Mapping[str, Any]], EmbeddingProvider | None]


@dataclass(slots=True)
class _State:
    """What this process knows: the embedder that the settings ask for, and the one that reads go by."""

    asked_for: EmbeddingProvider | None = None
    blueprint: Mapping[str, Any] = field(default_factory=dict)
    remake: Remake | None = None
    registered_at: datetime | None = None
    looked_at: float | None = None
    serving: EmbeddingProvider | None = None
    remade: dict[EmbedderIdentity, EmbeddingProvider | None] = field(default_factory=dict)


_state = _State()
_spaces: dict[EmbedderIdentity, Space] = {}


def register(
    provider: EmbeddingProvider | None, *, blueprint: Mapping[str, Any] | None = None, remake: Remake | None = None
) -> None:
    """Make ``provider`` the embedder that this process's settings ask for; ``None`` switches vectors off.

    ``blueprint`` is what it can be made again from, without secrets; ``remake`` does that for any embedder.
    """
    global _state
    _state = _State(asked_for=provider, blueprint=blueprint or {}, remake=remake, registered_at=now())


def provider() -> EmbeddingProvider | None:
    """Return the embedder that the settings ask for, or ``None`` when this deployment runs without vectors."""
    return _state.asked_for


def reading() -> EmbeddingProvider | None:
    """Return the embedder of the space that serves.

    ``None`` without vectors, and where the space that serves is another embedder's than the settings ask for and that
    one cannot be made here any more: reads then go without vectors until the new space is complete.
    """
    if _state.asked_for is None:
        return None
    if _state.looked_at is None or monotonic() - _state.looked_at > NOTICE_SECONDS:
        _look(_state.asked_for)
    return _state.serving


def writing() -> EmbeddingProvider | None:
    """Return the embedder for what is written now: that of the space that serves, else the one asked for."""
    return reading() or _state.asked_for


def space(identity: EmbedderIdentity) -> Space:
    """Return the embedding space of ``identity``, creating its row on first use."""
    if identity in _spaces:
        return _spaces[identity]
    asked_for = _state.asked_for
    is_ours = asked_for is not None and asked_for.identity == identity
    row, _ = EmbeddingSpace.objects.get_or_create(
        provider=identity.provider,
        model=identity.model,
        version=identity.version,
        dimensions=identity.dimensions,
        recipe=identity.recipe,
        defaults={"blueprint": dict(_state.blueprint) if is_ours else {}},
    )
    found = Space(row.id, row.dimensions)
    # Remembered only once committed: a rolled-back row's number must not outlive it.
    transaction.on_commit(lambda: _spaces.__setitem__(identity, found))
    return found


def serving() -> EmbeddingSpace | None:
    """Return the row of the space that serves, as the database has it now, or ``None`` before the first use."""
    return EmbeddingSpace.objects.filter(serving=True).first()


def serve(chosen: Space) -> None:
    """Make ``chosen`` the space that serves, in one small transaction. Says nothing of whether it is complete."""
    with transaction.atomic():
        rows = EmbeddingSpace.objects.filter(Q(serving=True) | Q(pk=chosen.id)).order_by("pk")
        list(rows.select_for_update())
        EmbeddingSpace.objects.filter(serving=True).exclude(pk=chosen.id).update(serving=False)
        EmbeddingSpace.objects.filter(pk=chosen.id, serving=False).update(serving=True, serving_since=now())
    look_again()


def look_again() -> None:
    """Make this process look which space serves at the next use, instead of within :data:`NOTICE_SECONDS`."""
    _state.looked_at = None


def identity_of(row: EmbeddingSpace) -> EmbedderIdentity:
    """Return the identity that the row of a space stands for."""
    return EmbedderIdentity(
        provider=row.provider, model=row.model, version=row.version, dimensions=row.dimensions, recipe=row.recipe
    )


def try_embed(
    texts: Sequence[str], *, by: EmbeddingProvider | None = None, account_id: uuid.UUID | None = None
) -> list[Embedded] | None:
    """Return vectors for ``texts`` (by default of :func:`writing`), or ``None`` without an embedder or when it fails.

    ``account_id``: on whose account a remote embedder's calls are booked.
    A failing embedder delays indexing and never loses a fact: rows without a vector are found and filled later.
    """
    embedder = (by or writing()) if texts else None
    if embedder is None:
        return None
    if getattr(embedder, "remote", False) and not connection.in_atomic_block:
        # No connection waits for somebody else's answer.
        connection.close()
    try:
        with embedding_usage.on_account(account_id):
            vectors = list(embedder.embed_documents(texts))
        if len(vectors) != len(texts):
            raise ValueError("an embedder returns one vector for each text")
    except Exception as error:  # any provider, any failure: the fact must still be written
        logger.warning("embedding_failed", extra={"error_class": type(error).__name__, "count": len(texts)})
        return None
    near = getattr(embedder, "near_distance", None)
    return [Embedded(embedder.identity, vector, near) for vector in vectors]


def _look(asked_for: EmbeddingProvider) -> None:
    """Ask the database which space serves; where none does yet, the one asked for begins to."""
    state = _state
    opened_here = connection.connection is None
    row = serving() or _adopt(asked_for)
    if opened_here and not connection.in_atomic_block:
        # Whoever asks may be about to wait for a model, which needs no connection.
        connection.close()
    identity = identity_of(row)
    if identity == asked_for.identity:
        state.serving = asked_for
    else:
        if identity not in state.remade:
            state.remade[identity] = _remake(identity, row.blueprint)
        state.serving = state.remade[identity]
    state.looked_at = monotonic()


def note_missing(chosen: Space, count: int, *, refused: int) -> None:
    """Note how many vectors are missing in a space, and of how many texts its embedder makes none.

    For whoever wants to know without counting.
    """
    EmbeddingSpace.objects.filter(pk=chosen.id).update(missing=count, refused=refused, counted_at=now())


def forget_missing(unused: Space) -> None:
    """Note that nobody wants the vectors of a space any more."""
    EmbeddingSpace.objects.filter(pk=unused.id).update(missing=None, refused=None, counted_at=None, asked_for_at=None)


def note_asked_for() -> Space | None:
    """Note in the database since when the settings ask for their embedder; returns its space."""
    asked_for, since = _state.asked_for, _state.registered_at
    if asked_for is None:
        return None
    found = space(asked_for.identity)
    older = Q(asked_for_at__isnull=True) | Q(asked_for_at__lt=since)
    EmbeddingSpace.objects.filter(older, pk=found.id).update(asked_for_at=since, blueprint=dict(_state.blueprint))
    return found


def is_asked_for_last(chosen: Space) -> bool:
    """Tell whether no younger process asks for another space: a process with old settings must not switch back."""
    rows = EmbeddingSpace.objects.exclude(asked_for_at__isnull=True)
    return rows.order_by(F("asked_for_at").desc(), "-pk").values_list("pk", flat=True).first() == chosen.id


def _remake(identity: EmbedderIdentity, blueprint: Mapping[str, Any]) -> EmbeddingProvider | None:
    """Return the embedder of a space made again; none that differs from it in anything."""
    made = _state.remake(identity, blueprint) if _state.remake else None
    return made if made is not None and made.identity == identity else None


def _adopt(asked_for: EmbeddingProvider) -> EmbeddingSpace:
    chosen = space(asked_for.identity)
    try:
        with transaction.atomic():
            EmbeddingSpace.objects.filter(pk=chosen.id).update(serving=True, serving_since=now())
    except IntegrityError:  # another process was first, with another embedder
        pass
    return EmbeddingSpace.objects.get(serving=True)
