"""The port through which the ledger asks for vectors without knowing who makes them.

``retrieval`` registers its provider when Django starts. Nothing here loads a model.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from django.db import transaction

from facts.models import EmbeddingSpace

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What makes two vectors comparable; a change in any part is another space."""

    provider: str
    model: str
    version: str
    dimensions: int
    recipe: str


class EmbeddingProvider(Protocol):
    """What the ledger needs of an embedder."""

    @property
    def identity(self) -> EmbedderIdentity: ...

    def embed_documents(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Return one unit vector per text, in order."""
        ...


_provider: EmbeddingProvider | None = None
_spaces: dict[EmbedderIdentity, int] = {}


def register(provider: EmbeddingProvider | None) -> None:
    """Make ``provider`` the source of vectors for this process; ``None`` switches vectors off."""
    global _provider
    _provider = provider


def provider() -> EmbeddingProvider | None:
    """Return the registered provider, or ``None`` when this deployment runs without vectors."""
    return _provider


def space_id(identity: EmbedderIdentity) -> int:
    """Return the number of the embedding space of ``identity``, creating its row on first use."""
    if identity in _spaces:
        return _spaces[identity]
    space, _ = EmbeddingSpace.objects.get_or_create(
        provider=identity.provider,
        model=identity.model,
        version=identity.version,
        dimensions=identity.dimensions,
        recipe=identity.recipe,
    )
    # Remembered only once committed: a rolled-back row's number must not outlive it.
    transaction.on_commit(lambda: _spaces.__setitem__(identity, space.id))
    return space.id


def try_embed(texts: Sequence[str]) -> list[Sequence[float]] | None:
    """Return vectors for ``texts``, or ``None`` when there is no provider or it fails.

    A failing embedder delays indexing and never loses a fact: rows without a vector are found and filled later.
    """
    if _provider is None or not texts:
        return None
    try:
        return list(_provider.embed_documents(texts))
    except Exception as error:  # any provider, any failure: the fact must still be written
        logger.warning("embedding_failed", extra={"error_class": type(error).__name__, "count": len(texts)})
        return None
