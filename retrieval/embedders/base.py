"""What every embedder is: a pure function from text to a normalised vector, with a name for the function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from facts.embedding import EmbedderIdentity

Vector = NDArray[np.float32]


class EmbeddingUnavailable(Exception):
    """The embedder cannot answer now: its model is missing or altered, its service failed or was slow."""


def identity_key(identity: EmbedderIdentity) -> str:
    """Return the identity as one string for traces and cache keys."""
    return f"{identity.provider}:{identity.model}@{identity.version}/{identity.dimensions}/{identity.recipe}"


def normalised(numbers: Any, *, dimensions: int) -> Vector:
    """Return the vector scaled to length 1.

    Raises :class:`EmbeddingUnavailable` for another width than that of the identity, and for what has no direction.
    """
    vector = np.asarray(numbers, dtype=np.float32).reshape(-1)
    if vector.size != dimensions:
        raise EmbeddingUnavailable(f"the model makes vectors of {vector.size} numbers, the settings say {dimensions}")
    length = float(np.linalg.norm(vector))
    if not 0 < length < float("inf"):
        raise EmbeddingUnavailable("the model made a vector without direction")
    return vector / length


class Embedder(Protocol):
    """Turns texts into unit vectors of ``identity.dimensions`` float32 numbers.

    ``bounded`` tells that a query is answered in this process in bounded time, so that it needs no deadline of its
    own; ``remote`` that texts are sent to somebody. ``near_distance`` is that of ``facts.embedding.Embedded.near``.
    ``blueprint`` is what it can be made again from, without secrets (``retrieval.embedders.making``). Both methods
    raise :class:`EmbeddingUnavailable`.
    """

    identity: EmbedderIdentity
    blueprint: Mapping[str, Any]
    bounded: bool
    remote: bool
    near_distance: float | None

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a question; shape ``(dimensions,)``."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row for each text, in order; shape ``(len(texts), dimensions)``."""
        ...
